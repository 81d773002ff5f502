//! Policies, requests and changes of a small alphabet, so that rules meet what they look for.

use std::sync::Arc;

use leafgate_tree::{LeafKind, Role, SectionKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use leafgate_contract::{
    Action, CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, LoadError, Plugin, PluginEdit,
    PluginLoader, PluginSource, Spent, Target, TransformRequest, World,
};
use leafgate_detect::Label;

const EMAIL: &str = "jane.doe@mail.example.org";

fn one_of(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::sample::select(words).prop_map(String::from)
}

/// A text that often holds what rules look for.
pub(super) fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => one_of(&["ab", "AB", "cd", "prod-db", "Prod-DB", "case-7", " ", "x", "17", "\"", "\n", "/", "é"]),
        1 => Just(EMAIL.to_owned()),
        1 => Just("[EMAIL]".to_owned()),
    ];
    prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}

/// A change that a person makes.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Set(usize, String),
    Insert(String),
    Delete(usize),
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let json =
        (text(), text()).prop_map(|(one, other)| json!({ "path": one, "more": [other, 3] }).to_string());
    let new = prop_oneof![3 => text(), 1 => json];
    prop_oneof![
        4 => (any::<usize>(), new).prop_map(|(at, text)| Change::Set(at, text)),
        1 => text().prop_map(Change::Insert),
        1 => any::<usize>().prop_map(Change::Delete),
    ]
}

fn message() -> impl Strategy<Value = Vec<Value>> {
    prop_oneof![
        2 => (one_of(&["system", "user", "assistant"]), text())
            .prop_map(|(role, text)| vec![json!({ "role": role, "content": text })]),
        1 => (text(), text()).prop_map(|(one, other)| {
            let part = |text| json!({ "type": "text", "text": text });
            vec![json!({ "role": "user", "content": [part(one), part(other)] })]
        }),
        2 => (one_of(&["f", "run_sql", "read"]), text(), text()).prop_map(|(tool, argument, result)| {
            let arguments = json!({ "path": argument, "n": [1, { "deep": argument }] }).to_string();
            let function = json!({ "name": tool, "arguments": arguments });
            let call = json!({ "id": format!("call_{tool}"), "type": "function", "function": function });
            vec![
                json!({ "role": "assistant", "content": null, "tool_calls": [call] }),
                json!({ "role": "tool", "tool_call_id": format!("call_{tool}"), "content": result }),
            ]
        }),
    ]
}

/// A request, some of whose letters are spelled with escapes.
pub(super) fn body() -> impl Strategy<Value = String> {
    let model = one_of(&["m", "17", "prod-db"]);
    let messages = prop::collection::vec(message(), 1..5).prop_map(|messages| messages.concat());
    let spelled = one_of(&["", "ab", "prod", "d"]);
    (model, messages, text(), spelled).prop_map(|(model, messages, note, spelled)| {
        let tool = json!({ "type": "function", "function": { "name": "f", "description": note } });
        let body = json!({ "model": model, "messages": messages, "temperature": 17, "tools": [tool],
                           "metadata": { "note": note } });
        let body = body.to_string();
        match spelled.as_str() {
            "" => body,
            // Keys and what the format gives a meaning stay what they are, however they are spelled.
            spelled => body.replace(spelled, &spelled.chars().map(escaped).collect::<String>()),
        }
    })
}

/// The escape of a letter; one inside a document in a string is undone with that string.
fn escaped(letter: char) -> String {
    format!("\\u{:04x}", u32::from(letter))
}

const CONDITIONS: &[&str] = &[
    r#"leaf.text.contains("ab")"#,
    r#"leaf.text.contains("prod-db")"#,
    r#"leaf.text.startsWith("ab") || leaf.text.endsWith("cd")"#,
    r#"leaf.text.matches("case-[0-9]+")"#,
    r#"leaf.text.matches("(?i)prod-db")"#,
    r#"leaf.text.lowerAscii().contains("prod-db")"#,
    r#"leaf.text.trim() == "ab""#,
    r#"leaf.text in ["ab", "cd", "prod-db"]"#,
    r#"!leaf.text.contains("ab")"#,
    r#"!(leaf.text.contains("ab") || leaf.text != "prod-db")"#,
    r#"leaf.text.contains("ab") && leaf.text.contains("cd")"#,
    r#"leaf.text.contains("ab") && int(leaf.text) > 3"#,
    r#"int(leaf.text) > 3 && leaf.text.contains("17")"#,
    r#"int(leaf.text) > 3 || leaf.text.contains("ab")"#,
    r#"(int(leaf.text) > 3 && leaf.text.contains("ab")) || leaf.text.contains("prod-db")"#,
    r#"leaf.text.contains("prod-db") && request.model == "m""#,
    r#"int(request.model) > 3 && leaf.text.contains("ab")"#,
    r#"int(request.model) > 30 && leaf.text.contains("ab")"#,
    r#"leaf.tool == "run_sql" && leaf.text.contains("ab")"#,
    r#"leaf.text.contains("EMAIL") && leaf.kind == "text""#,
    r#"leaf.text.contains("/")"#,
    r#"leaf.text.contains("jane.doe")"#,
    r#"leaf.text.size() > 6"#,
    r#"leaf.key == "content""#,
    r#"request.model == "m""#,
    r#"request.tokens > 40 && leaf.text.contains("ab")"#,
    "request.messages > 2",
    "false",
];

/// What asks about findings, which rules that find cannot.
const LATER: &[&str] = &[
    r#"leaf.findings.exists(f, f.label == "EMAIL")"#,
    r#"leaf.findings.size() > 0 && leaf.text.contains("ab")"#,
];

const PATHS: &[&str] = &[
    "messages[*].content",
    "messages[0]",
    "messages[-1].content",
    "messages[*].tool_calls[*].function.arguments.path",
    "**.content",
    "**.deep",
    "**",
    "tools[*].function.description",
    "metadata.note",
    "metadata.gone",
    "temperature",
];

fn selector() -> impl Strategy<Value = String> {
    let names = |all: Vec<&'static str>| prop::sample::select(all).prop_map(|name| format!("\"{name}\""));
    let field = |name: &'static str, value: BoxedStrategy<String>| {
        value.prop_map(move |value| format!("{name} = {value}")).boxed()
    };
    let quoted = |words| one_of(words).prop_map(|word| format!("\"{word}\"")).boxed();
    let fields = prop_oneof![
        3 => field("kind", names(LeafKind::ALL.iter().map(|it| it.name()).collect()).boxed()),
        2 => field("role", names(Role::ALL.iter().map(|it| it.name()).collect()).boxed()),
        2 => field("section", names(SectionKind::ALL.iter().map(|it| it.name()).collect()).boxed()),
        3 => field("tool", quoted(&["run_sql", "f", "gone", "r*", "?", "*"])),
        3 => field("path", quoted(PATHS)),
        1 => field("model", quoted(&["m", "*7", "gone"])),
        1 => field("format", quoted(&["openai-chat", "gemini"])),
        2 => field("latest", Just("true".to_owned()).boxed()),
        1 => field("option", Just("{ temperature = \"17\" }".to_owned()).boxed()),
        1 => field("subagent", prop::sample::select(vec!["true", "false"]).prop_map(String::from).boxed()),
    ];
    prop::collection::vec(fields, 0..3).prop_map(|mut fields| {
        fields.sort_unstable();
        fields.dedup_by_key(|field| field.split(' ').next().map(String::from));
        format!("match = {{ {} }}", fields.join(", "))
    })
}

fn action() -> impl Strategy<Value = (&'static str, String)> {
    let with = |action: &'static str, rest: &'static [&'static str]| {
        prop::sample::select(rest).prop_map(move |rest| (action, rest.to_owned())).boxed()
    };
    prop_oneof![
        2 => with("redact", &[r#"detect = ["pii/email"]"#, "detect = [\"pii/email\"]\nwith = \"mask\""]),
        2 => with("pin", &["", r#"to = "ab""#, r#"to = "17""#]),
        2 => with("rewrite", &[
            r#"set = "cd""#, r#"set = "5""#, r#"prepend = "ab ""#, r#"append = " prod-db""#,
            r#"append = " jane.doe@mail.example.org""#,
        ]),
        3 => with("rewrite", &[
            "replace = { pattern = 'case-[0-9]+', with = 'ab' }",
            "replace = { pattern = 'ab', with = 'prod-db' }",
            "replace = { pattern = 'prod(-db)?', with = '$1' }",
            "replace = { pattern = '[a-z]+-db', with = 'case-8' }",
            "replace = { pattern = '(?i)prod-db', with = 'it' }",
            "replace = { pattern = '[0-9]+', with = '18' }",
            "replace = { pattern = 'x?', with = 'y' }",
        ]),
        1 => with("delete", &["", "history = true"]),
        1 => with("rewrite", &[
            r#"options = { temperature = 3, note = "jane.doe@mail.example.org" }"#,
            r#"options = { metadata = { note = "ab" } }"#,
            "max_lines = 3\nmax_chars = 80",
        ]),
        1 => with("filter-tools", &[r#"drop = "f""#, r#"keep = "gone""#]),
        1 => with("insert", &[r#"text = "ab and prod-db""#, r#"text = "write to jane.doe@mail.example.org""#]),
        1 => with("transform", &[r#"plugin = "edits""#, "plugin = \"edits\"\nsees = \"raw\""]),
        2 => with("pause", &[""]),
        1 => with("block", &[""]),
    ]
}

fn rule(blocks: bool) -> impl Strategy<Value = String> {
    let when = prop::option::weighted(0.7, one_of(CONDITIONS));
    let later = prop::option::weighted(0.1, one_of(LATER));
    let mode = prop::option::weighted(0.2, Just("mode = \"monitor\"".to_owned()));
    let on_error = prop::option::weighted(0.7, one_of(&["on_error = \"pass\"", "on_error = \"pause\""]));
    (selector(), action(), when, later, mode, on_error).prop_map(
        move |(selector, (action, rest), when, later, mode, on_error)| {
            let when = if action == "redact" { when } else { later.or(when) };
            let when = when.map_or_else(String::new, |when| format!("when = '{when}'\n"));
            let action = if action == "block" && !blocks { "pause" } else { action };
            let (mode, on_error) = (mode.unwrap_or_default(), on_error.unwrap_or_default());
            format!("{selector}\n{when}action = \"{action}\"\n{rest}\n{mode}\n{on_error}\n")
        },
    )
}

fn file(rules: Vec<String>) -> String {
    let rules =
        rules.iter().enumerate().map(|(number, rule)| format!("[[rule]]\nid = \"r{number}\"\n{rule}"));
    format!("{}\n[plugins.edits]\nfile = \"edits.wasm\"\n", rules.collect::<Vec<_>>().join("\n"))
}

/// A rule file. Whatever is chosen, its rules meet some text of a request now and then.
pub(super) fn rules() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(true), 1..14).prop_map(file)
}

/// One whose rules seldom end an evaluation.
pub(super) fn rules_for_recordings() -> impl Strategy<Value = String> {
    prop::collection::vec(rule(false), 8..24).prop_map(file)
}

/// Loads one plugin, whatever the file: a transformer that edits in every way.
#[derive(Debug)]
pub(super) struct Plugins;

impl PluginLoader for Plugins {
    fn load(&self, _: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let (name, version, summary) = ("edits".into(), "1.0".into(), "Edits.".into());
        let labels = vec![Label::new("NAME").unwrap()];
        let description = Description { name, version, summary, labels, config_schema: None };
        Ok(Arc::new(Edits(description)))
    }
}

#[derive(Debug)]
struct Edits(Description);

impl Plugin for Edits {
    fn description(&self) -> &Description {
        &self.0
    }

    fn world(&self) -> World {
        World::Transformer
    }

    fn digest(&self) -> [u8; 32] {
        [1; 32]
    }

    fn detect(&self, _: &[DetectLeaf<'_>], _: &Spent) -> Result<CheckedFindings, Fault> {
        Ok(CheckedFindings::default())
    }

    fn transform(&self, request: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        let edit = |(place, leaf): (usize, &leafgate_contract::TransformLeaf<'_>)| {
            let target = Target::Leaf(place);
            let action = match leaf.text.len() % 7 {
                0 => return None,
                1 => Action::Redact(leaf.text.find("ab").map(|at| (at..at + 2, 0)).into_iter().collect()),
                2 => Action::Set(format!("{} case-9", leaf.text)),
                3 => Action::Pin,
                4 => Action::InsertBefore { role: Role::User, text: "prod-db and ab".into() },
                5 => Action::Delete,
                _ => Action::Set(leaf.text.replace("ab", "prod-db")),
            };
            Some(PluginEdit { target, action })
        };
        CheckedEdits::checked(request.leaves.iter().enumerate().filter_map(edit).collect(), request, 1)
    }
}
