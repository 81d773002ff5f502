//! Twenty turns of a conversation, made of a recording, under redaction, a pin, a rewriting rule and a
//! plugin: nothing of these breaks a cache, and of each break that is planted the ledger names the leaf
//! and whose doing it is.

use std::path::Path;
use std::sync::Arc;

use leafgate_contract::{
    Action, CheckedEdits, CheckedFindings, Description, DetectLeaf, Fault, LoadError, Plugin, PluginEdit,
    PluginLoader, PluginSource, Spent, Target, TransformRequest, World,
};
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_record::{RecordedEdit, Recorder as _, RequestRecord};
use leafgate_store::{CacheLine, Filter, Log};
use leafgate_tree::{Author, Document, Draft, Format, Limits};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};
use serde_json::{Value, json};

use crate::kit::{open, request, secret, taken};

/// Turns of the conversation.
const TURNS: usize = 20;

/// Keeps the first lines of results of tools.
#[derive(Debug)]
struct FirstLines {
    lines: usize,
    description: Description,
}

impl Plugin for FirstLines {
    fn description(&self) -> &Description {
        &self.description
    }

    fn world(&self) -> World {
        World::Transformer
    }

    fn digest(&self) -> [u8; 32] {
        [u8::try_from(self.lines).unwrap(); 32]
    }

    fn detect(&self, _: &[DetectLeaf<'_>], _: &Spent) -> Result<CheckedFindings, Fault> {
        unreachable!("it is no detector")
    }

    fn transform(&self, request: &TransformRequest<'_>, _: &Spent) -> Result<CheckedEdits, Fault> {
        let edits = request.leaves.iter().enumerate().filter_map(|(place, leaf)| {
            let kept = leaf.text.lines().take(self.lines).collect::<Vec<_>>().join("\n");
            let action = Action::Set(kept);
            (leaf.text.lines().count() > self.lines)
                .then_some(PluginEdit { target: Target::Leaf(place), action })
        });
        CheckedEdits::checked(edits.collect(), request, 0)
    }
}

/// Loads that plugin for the number of lines that its configuration says.
struct Loader;

impl PluginLoader for Loader {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, LoadError> {
        let config: Value = serde_json::from_str(&source.config).unwrap();
        let description = Description {
            name: source.name.clone(),
            version: "1".to_owned(),
            summary: "Keeps the first lines".to_owned(),
            ..Description::default()
        };
        let lines = usize::try_from(config["lines"].as_u64().unwrap()).unwrap();
        Ok(Arc::new(FirstLines { lines, description }))
    }
}

/// The policy, which keeps this many lines and does what more rules say.
fn policy(lines: usize, more: &str) -> Arc<Policy> {
    let folder = tempfile::tempdir().unwrap();
    let rules = format!(
        r#"
[[rule]]
id = "secrets"
match = {{}}
detect = ["secrets", "pii/email"]
action = "redact"
[[rule]]
id = "steady-system-prompt"
match = {{ role = "system" }}
action = "pin"
[[rule]]
id = "polite"
match = {{ role = "user", path = "messages[1].content[0].text" }}
action = "rewrite"
append = " Thank you."
[[rule]]
id = "short-results"
match = {{ section = "tool-result" }}
action = "transform"
plugin = "first-lines"
{more}
[plugins.first-lines]
file = "first-lines.wasm"
config = {{ lines = {lines} }}
"#
    );
    leafgate_harness::rules::write_alone(folder.path(), &rules).unwrap();
    std::fs::write(folder.path().join("first-lines.wasm"), "").unwrap();
    Arc::new(Policy::load(&PolicySource::Folder(folder.path().to_owned()), &Loader).unwrap())
}

/// The recording with its exchange repeated: each turn has all that was said before, and secrets among it.
fn turn(number: usize) -> Value {
    let file = "../../examples/recordings/openai-chat/agent.request.json";
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let mut body: Value = serde_json::from_str(&text).unwrap();
    let messages = body["messages"].as_array().unwrap().clone();
    let mut all = messages[..2].to_vec();
    for at in 1..=number {
        let mut exchange = messages[2..4].to_vec();
        exchange[0]["tool_calls"][0]["id"] = json!(format!("call_{at}"));
        exchange[1]["tool_call_id"] = json!(format!("call_{at}"));
        let result = exchange[1]["content"].as_str().unwrap();
        exchange[1]["content"] = json!(format!("{at}: key {} of ann{at}@firma.de\n{result}", secret()));
        all.extend(exchange);
        all.push(json!({ "role": "user", "content": format!("And now step {at}, please.") }));
    }
    body["messages"] = all.into();
    body
}

/// What a turn does that the one before it did not.
enum Plant {
    /// The client sends [`PLANTED`] at a pointer, in this turn and all behind it.
    Client(&'static str),
    /// Another policy judges, from this turn on.
    Policy(usize, &'static str),
    /// An edit, made by this author.
    Edit(&'static str, Author),
}

/// More lines than the plugin keeps.
const PLANTED: &str = "planted\n2\n3\n4\n5\n6";

const STAMP: &str = r#"
[[rule]]
id = "stamp"
match = { role = "user", path = "messages[1].content[1].text" }
action = "rewrite"
append = " (stamped)"
"#;

/// What is planted in which turn: its leaf, and whose doing it is.
fn plants() -> [(usize, Plant, &'static str, &'static str); 10] {
    [
        (2, Plant::Client("/model"), "model", "client"),
        (4, Plant::Client("/tools/0/function/description"), "tools[0].function.description", "client"),
        (6, Plant::Client("/messages/0/content"), "messages[0].content", "client"),
        (8, Plant::Client("/messages/1/content/0/text"), "messages[1].content[0].text", "client"),
        // A leaf that the plugin changes in every turn.
        (10, Plant::Client("/messages/3/content"), "messages[3].content", "client"),
        (12, Plant::Policy(4, STAMP), "messages[1].content[1].text", "stamp"),
        (14, Plant::Policy(3, STAMP), "messages[3].content", "short-results"),
        (
            16,
            Plant::Edit("/messages/4/content", Author::SavedEdit { id: "a1".into() }),
            "messages[4].content",
            "saved:a1",
        ),
        (
            18,
            Plant::Client("/messages/2/tool_calls/0/function/name"),
            "messages[2].tool_calls[0].function.name",
            "client",
        ),
        (20, Plant::Edit("/messages/7/content", Author::Person), "messages[7].content", "person"),
    ]
}

fn document(body: &Value) -> Arc<Document> {
    let body = body.to_string().into();
    Arc::new(Document::parse(body, Format::OpenaiChat, &Limits::default()).unwrap())
}

/// The edits of a draft, as a gate tells them.
fn told(draft: &Draft) -> Vec<RecordedEdit> {
    let author = |author: &Author| match author {
        Author::Rule { id } | Author::Plugin { rule: id, .. } => id.to_string(),
        Author::SavedEdit { id } => format!("saved:{id}"),
        Author::Person => "person".to_owned(),
    };
    let edit = |kind: &'static str, node, by, label| RecordedEdit {
        kind: kind.into(),
        path: draft.document().display_path(node),
        rule: author(by),
        label,
        detector: None,
        length: None,
    };
    let redactions =
        draft.redactions().map(|made| edit("redact", made.node, &made.author, Some(Arc::clone(&made.label))));
    let edits = draft.edits().map(|made| edit(made.kind.name(), made.target, &made.author, None));
    redactions.chain(edits).collect()
}

/// Logs all turns: as they come, in a conversation of their own, and as they leave.
fn logged(folder: &Path) -> Log {
    let store = open(folder, |_| ());
    let keys = TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("test"));
    let vault = Vault::new(keys);
    let (mut judges, plants) = (policy(4, ""), plants());
    for number in 1..=TURNS {
        let mut body = turn(number);
        for (_, plant, ..) in plants.iter().filter(|(at, ..)| *at <= number) {
            match plant {
                Plant::Client(pointer) => *body.pointer_mut(pointer).unwrap() = json!(PLANTED),
                Plant::Policy(lines, more) => judges = policy(*lines, more),
                Plant::Edit(..) => {}
            }
        }
        let document = document(&body);
        let edits = plants.iter().filter(|(at, ..)| *at <= number).filter_map(|(_, plant, ..)| match plant {
            Plant::Edit(pointer, author) => Some((*pointer, author)),
            _ => None,
        });
        let context = Context { session: "S", ..Context::default() };
        let evaluation = judges.evaluate_with_saved(Arc::clone(&document), &context, &vault, |draft| {
            for (pointer, author) in edits {
                let node = draft.document().resolve(pointer).unwrap();
                draft.set(node, "edited", author).unwrap();
            }
            Vec::new()
        });
        assert_eq!(evaluation.verdict, Verdict::Forward);
        let number = number as u64;
        let (came, left) = (body.to_string().into(), evaluation.draft.render());
        let raw =
            RequestRecord { session: "raw".into(), edits: Vec::new().into(), ..*request(2 * number, &came) };
        let sent = RequestRecord {
            session: "sent".into(),
            policy: Arc::clone(&judges),
            edits: told(&evaluation.draft).into(),
            ..*request(2 * number + 1, &left)
        };
        taken(store.request(Box::new(raw)));
        taken(store.request(Box::new(sent)));
    }
    store.close();
    Log::open(folder).unwrap()
}

/// The turns behind the first, the oldest first.
fn lines(log: &Log, session: &str) -> Vec<CacheLine> {
    let filter = Filter { session: Some(session.to_owned()), ..Filter::default() };
    let mut lines = log.ledger(&filter, TURNS).unwrap();
    lines.reverse();
    assert_eq!(lines.len(), TURNS - 1);
    lines
}

#[test]
fn a_conversation_breaks_no_cache_but_where_it_is_planted_and_the_ledger_names_each_leaf() {
    let folder = tempfile::tempdir().unwrap();
    let log = logged(folder.path());
    let (raw, sent) = (lines(&log, "raw"), lines(&log, "sent"));
    let plants = plants();
    for (number, (raw, sent)) in (2..).zip(raw.iter().zip(&sent)) {
        let planted = plants.iter().find(|(at, ..)| *at == number);
        let broken = sent.broken.as_ref().map(|broken| (&*broken.path, &*broken.by));
        assert_eq!(broken, planted.map(|(_, _, path, by)| (*path, *by)), "turn {number}");
        match planted {
            // Of what the client says again nothing is lost.
            None => assert_eq!((sent.common_bytes, &raw.broken), (sent.before_bytes, &None), "turn {number}"),
            // What the client breaks breaks at the same leaf without the gate.
            Some((_, Plant::Client(_), path, _)) => {
                assert_eq!(raw.broken.as_ref().map(|broken| &*broken.path), Some(*path), "turn {number}");
            }
            Some(_) => assert_eq!(raw.broken, None, "turn {number}"),
        }
        let lost = sent.broken.as_ref().map_or(0, |broken| broken.lost_tokens_estimate);
        assert_eq!(lost > 0, planted.is_some(), "turn {number}");
    }
    let view = log.show(log.newest().unwrap()).unwrap();
    let text = String::from_utf8(view.body.0).unwrap();
    assert!(
        !text.contains(&secret()) && text.contains(" Thank you.") && text.contains(" (stamped)"),
        "{text}"
    );
}
