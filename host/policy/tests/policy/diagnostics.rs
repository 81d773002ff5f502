//! What a person reads when a policy folder is wrong: file, line, caret, hint, and as much of it as can be said at once.

use std::sync::Arc;

use leafgate_contract::{
    ConfigFinding, LoadError as PluginLoadError, NoPlugins, Plugin, PluginLimits, PluginLoader, PluginSource,
    Signer, check_config,
};
use leafgate_policy::{LoadError, Policy, PolicySource};

use super::support::*;

/// The diagnostics of a folder with these rules, with the folder's own changing name taken out.
fn complaints(rules: &str) -> String {
    let fakes =
        Fakes::default().with("names", Fake::finds("x")).with("shout", Fake::transformer(|_| Ok(vec![])));
    let folder = folder(rules, &fakes);
    let error = load_folder(folder.path(), &fakes).expect_err("the rules are wrong");
    shown(&error, folder.path())
}

fn shown(error: &LoadError, folder: &std::path::Path) -> String {
    error.to_string().replace(&folder.display().to_string(), "policy")
}

/// Folders whose rules are wrong, each in its own way; what a person reads of it is the snapshot of its name.
macro_rules! complained {
    ($($name:ident: $rules:literal;)+) => {
        $(
            #[test]
            fn $name() {
                snapshot!(complaints($rules));
            }
        )+
    };
}

complained! {
    not_toml: "[[rule]]\nid = \"a\nmatch = {}\n";
    unknown_keys_are_all_named_with_what_was_likely_meant: r#"
extend = "default"

[[rule]]
id = "a"
match = { rol = "user" }
action = "block"
raeson = "No"

[plugins.names]
file = "names.wasm"
confg = { a = 1 }
"#;
    what_can_never_be_true_of_a_request: r#"
[[rule]]
id = "a"
match = { latest = false, endpoint = "v1/messages", header = {}, option = { "reasoning." = "x" } }
action = "pause"
subagents = "pass"

[[rule]]
id = "b"
match = { header = { Authorization = "*", "x team" = "blue", x-team = [] } }
when = 'request.subagent == "true" || request.tokens > "1000" || request.tools == 1.5'
action = "block"

[[rule]]
id = "c"
match = {}
when = 'request.token > 3 || leaf["txt"] == ""'
action = "block"

[[rule]]
id = "d"
match = { agent = ["codex", "claud-code"], headers = { x-team = "blue" }, stream = "yes" }
action = "block"
"#;
    wrong_types: r#"
[[rule]]
id = "a"
match = { kind = 3 }
action = "block"

[[rule]]
id = 7
match = {}
action = "block"
"#;
    one_wrong_type_hides_no_other_error_of_its_rule: r#"
[[rule]]
id = 7
match = { kind = 3, role = "usr" }
action = "redact"
detect = { all = true }
with = "tokens"
timeout = 30

[[rule]]
id = "b"
match = "everything"
action = ["block"]
when = "leaf.txt == 'x'"
reason = 5
"#;
    a_group_that_the_pattern_does_not_have: r#"
[[rule]]
id = "file"
match = {}
action = "rewrite"
replace = { pattern = "(a)(b)", with = "$1_file $2" }

[[rule]]
id = "price"
match = {}
action = "rewrite"
replace = { pattern = "price", with = "costs $5" }
"#;
    comparisons_that_can_never_be_true: r#"
[[rule]]
id = "role"
match = {}
action = "block"
when = 'leaf.role == "usr"'

[[rule]]
id = "agent"
match = {}
action = "block"
when = "request.agent == 1 || request.stream == 'true'"

[[rule]]
id = "list"
match = {}
action = "block"
when = 'leaf.kind in ["text", "tool-reslt"] && leaf.findings.exists(f, f.confidence == "hihg")'
"#;
    words_of_other_languages_in_a_condition: r#"
[[rule]]
id = "and"
match = {}
action = "block"
when = 'leaf.text.contains(" or ") and leaf.role == "user"'

[[rule]]
id = "assign"
match = {}
action = "block"
when = 'leaf.role = "user"'
"#;
    keys_that_belong_elsewhere_and_words_that_are_far_off: r#"
[[rule]]
id = "a"
role = "user"
match = {}
action = "rewrite"
pattern = "x"
enabled = true

[[rule]]
id = "b"
match = {}
action = "stop-it"
file = "x.wasm"

[[rule]]
id = "c"
match = {}
action = "redact"
detect = ["everything-there-is", "pii/*"]
"#;
    what_a_rule_cannot_do_without: r#"
[[rule]]
when = "true"

[[rule]]
id = "No Kebab"
match = {}
action = "redact"

[[rule]]
id = "b"
match = {}
action = "transform"

[[rule]]
id = "c"
match = {}
action = "rewrite"

[[rule]]
id = "e"
match = {}
action = "insert"
path = "notes.md"

[[rule]]
id = "f"
match = {}
action = "insert"
text = "x"
path = "two\nlines"
"#;
    words_that_nothing_knows: r#"
mode = "monitr"

[[rule]]
id = "a"
match = { kind = "txt", role = ["user", "assistent"], section = [] }
action = "redcat"

[[rule]]
id = "b"
match = {}
action = "redact"
detect = ["secrets", "pii/emial"]
with = "tokens"
on_unredactable = "pass"
"#;
    fields_of_another_action: r#"
[[rule]]
id = "a"
match = {}
action = "block"
with = "mask"
timeout = "5m"

[[rule]]
id = "b"
match = {}
action = "rewrite"
set = "x"
append = "y"
"#;
    bad_patterns_expressions_and_durations_point_into_the_text: r#"
[[rule]]
id = "paths"
match = { path = ["messages[x].content", "/messages/0", "a b", "tools[0]..name"] }
action = "block"

[[rule]]
id = "regex"
match = {}
action = "rewrite"
replace = { pattern = "(unclosed", with = "" }

[[rule]]
id = "syntax"
match = {}
action = "block"
when = 'leaf.text.contains("a"'

[[rule]]
id = "names"
match = {}
action = "block"
when = 'leaf.txt.contains("a") || req.model == "x" || leaf.text.containz("b")'

[[rule]]
id = "types"
match = {}
action = "block"
when = "leaf.text > 3"

[[rule]]
id = "not-bool"
match = {}
action = "block"
when = "leaf.text"

[[rule]]
id = "loops"
match = {}
action = "block"
when = '''
leaf.findings.exists(f,
  leaf.findings.exists(g, f.label == g.label))'''

[[rule]]
id = "finds"
match = {}
detect = ["secrets"]
action = "redact"
when = "size(leaf.findings) == 0"

[[rule]]
id = "pattern"
match = {}
action = "block"
when = "leaf.text.matches('(')"

[[rule]]
id = "wait"
match = {}
action = "pause"
timeout = "5 minutes"
"#;
    plugins: r#"
[[rule]]
id = "a"
match = {}
action = "transform"
plugin = "names"

[[rule]]
id = "b"
match = {}
action = "redact"
detect = ["plugin:shout", "plugin:naems", "plugin:broken"]

[plugins.names]
file = "names.wasm"

[plugins.shout]
file = "shout.wasm"
sha256 = "12ab"

[plugins.gone]
file = "gone.wasm"

[plugins.Bad_Name]
file = "names.wasm"

[plugins.broken]
file = "names.wasm"
config = { since = 2024-01-01 }

[plugins.unloadable]
file = "names.wasm"
"#;
    releasable_belongs_to_rules_that_redact_requests: r#"
[[rule]]
id = "a"
match = {}
action = "pause"
releasable = true

[[rule]]
id = "b"
match = {}
on = "response"
action = "redact"
detect = ["pii/email"]
with = "mask"
releasable = true

[[rule]]
id = "c"
match = {}
on = "tool-call"
action = "redact"
detect = ["pii/email"]
releasable = true

[[rule]]
id = "d"
match = {}
action = "redact"
detect = ["pii/email"]
releasable = "yes"
"#;
    what_rules_say_about_a_request_as_a_whole: r#"
requires = ["leafgate >= 99.1", "leafgate soon", "mitmproxy >= 1", "leafgate >= 0.1, < 99"]

[[rule]]
id = "a"
match = {}
action = "filter-tools"

[[rule]]
id = "b"
match = {}
action = "filter-tools"
keep = []
set = "x"

[[rule]]
id = "c"
match = {}
action = "rewrite"
options = { model = "x", stream = true, messages = [], since = 2026-01-01, ratio = nan, top_p = 1 }

[[rule]]
id = "d"
match = {}
action = "rewrite"
options = {}

[[rule]]
id = "e"
match = { role = "user" }
when = 'leaf.text == "x"'
action = "rewrite"
model = "gpt-4o"

[[rule]]
id = "f"
match = {}
action = "rewrite"
model = "gpt *"

[[rule]]
id = "g"
match = {}
action = "rewrite"
max_lines = 1
max_chars = -5

[[rule]]
id = "h"
match = {}
action = "rewrite"
max_lines = 10
set = "x"

[[rule]]
id = "i"
match = {}
action = "block"
keep = ["x"]
reason = "It says ${leaf.text} in ${leaf.tol}, costs $5 and $${this}"
severity = "hgh"
tags = ["Customer Data", "gdpr"]
owner = 5
docs = "https://example.org"
"#;
    lists_and_tables_that_are_empty: r#"
[plugins]
require_signed = []

[[rule]]
id = "a"
match = { option = {} }
action = "rewrite"
set = "x"

[[exception]]
by = "b"
until = "never"
rule = []
finding = []
value = []
reason = "x"

[[detector]]
id = "c"
label = "CARD"
words = []

[[detector]]
id = "d"
label = "DAY"
names = []

[[detector]]
id = "e"
label = "EGG"
regex = "x[0-9]+"
keywords = []
"#;
    limits_and_signers_that_are_none: r#"
[plugins]
require_signed = ["ed25519:12", "0000"]

[plugins.names]
file = "names.wasm"
limits = { call_deadline = "5m", request_time = "0s", memory_bytes = 0, edits = -1 }

[plugins.shout]
file = "shout.wasm"
limits = { findngs = 3 }

[plugins.other]
file = "names.wasm"
limits = { start_deadline = 5, memory_bytes = "1 GiB", edits = 1.5 }

[plugins.greedy]
file = "names.wasm"
limits = { memory_bytes = 268_435_457, answer_bytes = 67_108_865, findings = 100_001, edits = 100_001 }
"#;
}

#[test]
fn a_merge_that_was_not_finished_is_one_error() {
    let mark = |sign: &str| sign.repeat(7);
    let (ours, middle, theirs) = (mark("<"), mark("="), mark(">"));
    snapshot!(complaints(&format!(
        "[[rule]]\nid = \"a\"\n{ours} HEAD\naction = \"block\"\n{middle}\naction = \"pause\"\n{theirs} theirs\nmatch = {{}}\n"
    )));
}

#[test]
fn a_single_detector_needs_no_list() {
    let policy = policy("[[rule]]\nid = 'a'\nmatch = {}\naction = 'redact'\ndetect = 'pii/email'\n");
    let evaluation = evaluate(&policy, &chat(EMAIL));
    assert!(!sent_at(&evaluation, "/messages/0/content").contains(EMAIL));
}

#[test]
fn rules_that_can_never_act_are_warned_about() {
    let policy = policy(
        r#"
[[rule]]
id = "model"
match = { path = "model", format = "openai-chat" }
action = "rewrite"
set = "small"

[[rule]]
id = "roles"
match = { path = "messages[0].role", format = ["openai-chat", "anthropic-messages"] }
action = "pin"
to = "user"

[[rule]]
id = "fine"
match = { path = "messages[*].content" }
action = "rewrite"
append = "!"

[[rule]]
id = "also-fine"
match = { path = "model" }
action = "block"
"#,
    );
    let warnings: Vec<_> =
        policy.warnings().iter().map(|warning| (warning.line, warning.message.as_str())).collect();
    let never = |id: &str| format!("rule `{id}` can never act: rules may not change what it selects");
    assert_eq!(warnings, [(4, never("model").as_str()), (10, never("roles").as_str())]);
}

#[test]
fn the_same_id_twice_across_files() {
    let folder = folder("[[rule]]\nid = \"a\"\nmatch = {}\naction = \"block\"\n", &Fakes::default());
    std::fs::write(folder.path().join("zz.toml"), "[[rule]]\nid = \"a\"\nmatch = {}\naction = \"pause\"\n")
        .unwrap();
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
    snapshot!(shown(&error, folder.path()));
}

/// Refuses each plugin for what its configuration is beside a schema, and one remark of its own.
struct Describing(&'static str);

impl PluginLoader for Describing {
    fn load(&self, source: &PluginSource) -> Result<Arc<dyn Plugin>, PluginLoadError> {
        let mut config = check_config(self.0, &source.config);
        config.push(ConfigFinding::said("/patterns/1: unclosed group", &source.config));
        Err(PluginLoadError { config, ..PluginLoadError::new("not accepted") })
    }
}

#[test]
fn what_is_wrong_with_the_configuration_of_a_plugin_is_told_at_its_key() {
    let rules = r#"
[[rule]]
id = "a"
match = {}
action = "redact"
detect = ["plugin:names"]

[plugins.names]
file = "names.wasm"

[plugins.names.config]
pattens = ["a"]
patterns = [
    "a",
    "(",
]
size = "3"

[plugins.names.config.limits]
"at most" = 300

[plugins.other]
file = "names.wasm"
config = { patterns = [], size = 3, limits = {} }

[plugins.without]
file = "names.wasm"
"#;
    let schema = r#"{"type": "object", "additionalProperties": false, "required": ["patterns"], "properties": {
        "patterns": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "size": {"type": "integer"},
        "limits": {"properties": {"at most": {"maximum": 255}}}}}"#;
    let folder = folder(rules, &Fakes::default().with("names", Fake::finds("x")));
    let source = PolicySource::Folder(folder.path().to_owned());
    let error = Policy::load(&source, &Describing(schema)).unwrap_err();
    snapshot!(shown(&error, folder.path()));
}

#[test]
fn an_empty_folder_and_a_missing_one_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let load = |path: &std::path::Path| {
        let error = Policy::load(&PolicySource::Folder(path.to_owned()), &NoPlugins).unwrap_err();
        shown(&error, folder.path())
    };
    assert!(load(folder.path()).contains("holds no rule file"));
    assert!(load(&folder.path().join("nowhere")).contains("cannot be read"));
    std::fs::write(folder.path().join("a.toml"), "extends = \"none\"\n").unwrap();
    assert!(load(folder.path()).contains("holds no rule"));
}

#[test]
fn a_pin_on_the_digest_and_the_configuration_reach_the_loader() {
    let fakes = Fakes::default().with("names", Fake::finds("x"));
    let digest = "0123456789abcdefABCDEF0000000000000000000000000000000000000000ff";
    let rules = format!(
        "[[rule]]\nid = 'a'\nmatch = {{}}\naction = 'redact'\ndetect = ['plugin:names']\n\
         [plugins.names]\nfile = 'names.wasm'\nsha256 = '{digest}'\n"
    );
    policy_with(&rules, &fakes);
    let source = fakes.get("names").source.lock().unwrap().clone().unwrap();
    assert_eq!(source.sha256.unwrap()[..4], [0x01, 0x23, 0x45, 0x67]);
    assert_eq!(source.config, "{}");
}

/// A loader that finds something wrong with one key of the table.
struct Blames(&'static str);

impl PluginLoader for Blames {
    fn load(&self, _: &PluginSource) -> Result<Arc<dyn Plugin>, PluginLoadError> {
        Err(PluginLoadError { key: Some(self.0.to_owned()), ..PluginLoadError::new("not that") })
    }
}

#[test]
fn what_a_loader_blames_on_a_key_is_shown_there() {
    let rules = "[plugins.names]\nfile = 'names.wasm'\nsha256 = 'SHA'\n[plugins.names.limits]\nedits = 9\n";
    let folder =
        folder(&rules.replace("SHA", &"ab".repeat(32)), &Fakes::default().with("names", Fake::finds("x")));
    for (key, line) in [("/limits/edits", 5), ("/sha256", 3), ("/limits/findings", 2)] {
        let error = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &Blames(key)).unwrap_err();
        assert_eq!(error.diagnostics()[0].line, line, "{key}");
    }
}

#[test]
fn limits_and_signers_reach_the_loader() {
    let fakes = Fakes::default().with("names", Fake::finds("x"));
    let key = format!("ed25519:{}", "ab".repeat(32));
    let rules = format!(
        "[plugins]\nrequire_signed = '{key}'\n\n[plugins.names]\nfile = 'names.wasm'\n\n[plugins.names.limits]\n\
         call_deadline = '1500ms'\nrequest_time = '3s'\nmemory_bytes = 1_000\n\n\
         [[rule]]\nid = 'a'\nmatch = {{}}\ndetect = ['plugin:names']\naction = 'redact'\n"
    );
    let folder = folder(&rules, &fakes);
    // A key of another file counts for all plugins.
    let more = format!("[plugins]\nrequire_signed = ['ed25519:{}']\n", "cd".repeat(32));
    std::fs::write(folder.path().join("signers.toml"), more).unwrap();
    load_folder(folder.path(), &fakes).unwrap_or_else(|error| panic!("{error}"));
    let source = fakes.get("names").source.lock().unwrap().clone().unwrap();
    assert_eq!(source.signers.as_deref(), Some(&[Signer([0xab; 32]), Signer([0xcd; 32])][..]));
    let time = |ms| Some(std::time::Duration::from_millis(ms));
    let (call_deadline, request_time) = (time(1500), time(3000));
    let expected =
        PluginLimits { call_deadline, request_time, memory_bytes: Some(1000), ..PluginLimits::default() };
    assert_eq!(source.limits, expected);
}

#[test]
fn a_bare_file_name_is_looked_for_in_plugins_too() {
    let fakes = Fakes::default().with("names", Fake::finds("x"));
    let rules = "[[rule]]\nid = 'a'\nmatch = {}\naction = 'redact'\ndetect = ['plugin:names']\n\
                 [plugins.names]\nfile = 'n.wasm'\n";
    let folder = folder(rules, &fakes);
    std::fs::create_dir(folder.path().join("plugins")).unwrap();
    std::fs::write(folder.path().join("plugins/n.wasm"), "").unwrap();
    load_folder(folder.path(), &fakes).unwrap();
    let source = fakes.get("names").source.lock().unwrap().clone().unwrap();
    assert_eq!(source.path, folder.path().join("plugins/n.wasm"));
}

#[test]
fn a_file_that_is_not_read_is_named() {
    let folder = folder("[[rule]]\nid = 'a'\nmatch = {}\naction = 'block'\n", &Fakes::default());
    std::fs::create_dir(folder.path().join("more")).unwrap();
    for file in [".b.toml", "c.TOML", "d.yaml", "more/e.toml"] {
        std::fs::write(folder.path().join(file), "no rules").unwrap();
    }
    let policy = load_folder(folder.path(), &Fakes::default()).unwrap();
    assert_eq!(policy.rules().len(), 1, "what is not read does not refuse the policy");
    let warnings: Vec<String> = policy.warnings().iter().map(ToString::to_string).collect();
    snapshot!(warnings.join("\n\n").replace(&folder.path().display().to_string(), "policy"));
}

#[cfg(unix)]
#[cfg(unix)]
#[test]
fn a_file_outside_of_the_folder_is_not_quoted() {
    let (folder, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = "a line of another's diary";
    std::fs::write(home.path().join("diary.toml"), format!("{secret}\ndiary = '{secret}'\n")).unwrap();
    let link = |to: std::path::PathBuf, name: &str| {
        std::os::unix::fs::symlink(to, folder.path().join(name)).unwrap()
    };
    link(home.path().join("diary.toml"), "linked.toml");
    // A mounted folder has its files behind links of its own.
    std::fs::create_dir(folder.path().join("..data")).unwrap();
    std::fs::write(folder.path().join("..data/own.toml"), "[[rule]]\nid = 'own words'\n").unwrap();
    link("..data/own.toml".into(), "own.toml");
    let said = load_folder(folder.path(), &Fakes::default()).unwrap_err().to_string();
    assert!(said.contains("linked.toml:1"), "{said}");
    assert!(said.contains("own words") && !said.contains("diary'") && !said.contains("another"), "{said}");
}

#[test]
fn a_rule_file_that_is_no_regular_file_refuses_the_policy_without_being_waited_for() {
    let folder = folder("[[rule]]\nid = 'a'\nmatch = {}\naction = 'block'\n", &Fakes::default());
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.toml")).status().unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.toml")).unwrap();
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
    let shown = shown(&error, folder.path());
    assert!(shown.contains("policy/pipe.toml") && shown.contains("policy/zero.toml"), "{shown}");
    assert_eq!(shown.matches("it is no regular file").count(), 2, "{shown}");
}

#[test]
fn a_policy_names_the_rules_that_its_successor_loses_and_gains() {
    let rule = |id: &str, mode: &str| {
        format!("[[rule]]\nid = '{id}'\nmatch = {{}}\naction = 'block'\nmode = '{mode}'\n")
    };
    let before =
        policy(&[rule("kept", "enforce"), rule("prod-results", "enforce"), rule("a", "enforce")].concat());
    let after = policy(&[rule("new", "enforce"), rule("kept", "enforce"), rule("a", "monitor")].concat());
    let told =
        |from: &Policy, to: &Policy| from.changes_to(to).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(told(&before, &after), ["−prod-results", "a: only counts now", "+new"]);
    assert_eq!(told(&after, &before), ["−new", "a: acts now", "+prod-results"]);
    assert!(told(&before, &before).is_empty());
}

/// A guard that looks elsewhere guards no more, and its name says nothing of it.
#[test]
fn a_policy_names_what_its_successor_changes_within_a_rule_or_beside_all_of_them() {
    let rule = |within: &str| {
        format!("[[rule]]\nid = 'words'\nmatch = {{{within}}}\ndetect = 'own/words'\naction = 'redact'\n")
    };
    let words = |word: &str| format!("[[detector]]\nid = 'words'\nwords = ['{word}']\n");
    let exception = "[[exception]]\nvalue = 'harbour'\nreason = 'r'\nby = 'b'\nuntil = 'never'\n";
    let before = policy(&[rule(""), words("harbour")].concat());
    let told = |to: &[String]| {
        let changes = before.changes_to(&policy(&to.concat()));
        changes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(&[rule(" role = 'user' "), words("harbour")]), ["words: changed"]);
    assert_eq!(told(&[rule(""), words("harbour"), exception.to_owned()]), ["(exceptions): changed"]);
    assert_eq!(told(&[rule(""), words("quayside")]), ["(files): changed"]);
    let moved = [String::from("# a comment\n\n"), rule(""), words("harbour")];
    assert_eq!(told(&moved), ["(files): changed"], "a rule on another line is the same rule");
}

/// A rule about tickets switched the protection of credentials off, and `check` called
/// it sound.
#[test]
fn a_folder_has_the_built_in_rules_beneath_its_own_unless_it_says_none_aloud() {
    let ids = |policy: &Policy| policy.rules().map(ToString::to_string).collect::<Vec<_>>();
    let files = |files: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        for (place, text) in files.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{place}.toml")), text).unwrap();
        }
        load_folder(folder.path(), &Fakes::default())
    };
    let tickets = "mode = 'monitor'\n[[detector]]\nid = 'ticket'\nregex = 'CASE-[0-9]{4,}'\nexamples = ['CASE-1234']\n\
                   [[rule]]\nid = 'tickets'\nmatch = {}\ndetect = 'own/ticket'\naction = 'redact'\n";
    let protected = files(&[tickets]).unwrap();
    assert_eq!(ids(&protected), ["tickets", "default-secrets"]);
    assert_eq!(protected.unprotected(), None);
    let text = format!("CASE-12345 {} {}", secret(), card());
    let sent = sent_at(&evaluate(&protected, &chat(&text)), "/messages/0/content");
    assert!(!sent.contains(&secret()) && !sent.contains(&card()), "they act, whatever the folder's mode");

    let alone = files(&[tickets, "extends = 'none'\n"]).unwrap();
    assert_eq!(ids(&alone), ["tickets"]);
    assert!(alone.unprotected().is_some_and(|told| told.contains("extends = \"none\"")));
    assert_eq!(sent_at(&evaluate(&alone, &chat(&text)), "/messages/0/content"), text);
    assert!(alone.changes_to(&protected).iter().any(|change| change.to_string() == "+default-secrets"));

    let both = files(&["extends = 'default'\n", "extends = 'none'\n"]).unwrap_err().to_string();
    assert!(both.contains("1.toml:1") && both.contains("another file says"), "{both}");
    let replaced = files(&["[[rule]]\nid = 'default-secrets'\nmatch = {}\naction = 'pause'\n"]).unwrap_err();
    assert!(replaced.to_string().contains("`default-secrets` is declared twice"), "{replaced}");
}

/// Of what both find, the folder's own rule says what becomes of it.
#[test]
fn the_built_in_rules_act_on_what_the_own_ones_leave() {
    let own = "extends = 'default'\n[[rule]]\nid = 'own'\nmatch = {}\ndetect = 'secrets'\naction = 'redact'\nwith = 'mask'\n";
    let sent =
        sent_at(&evaluate(&policy(own), &chat(&format!("{} {}", secret(), card()))), "/messages/0/content");
    assert!(sent.starts_with("[") && sent.contains(&token("CARD", &card())), "{sent}");
}

#[test]
fn a_plugin_that_is_loaded_and_not_watched_is_warned_about() {
    let fakes = Fakes::default().with("names", Fake::finds("x"));
    let rules = |file: &str| {
        format!(
            "[[rule]]\nid = 'a'\nmatch = {{}}\naction = 'redact'\ndetect = 'plugin:names'\n\
             [plugins.names]\nfile = '{file}'\n"
        )
    };
    for (file, warnings) in
        [("names.wasm", 0), (".names.wasm", 1), ("names.bin", 1), ("sub/.x/names.wasm", 1)]
    {
        let folder = folder(&rules(file), &fakes);
        std::fs::create_dir_all(folder.path().join("sub/.x")).unwrap();
        std::fs::write(folder.path().join(file), "").unwrap();
        let policy = load_folder(folder.path(), &fakes).unwrap();
        assert_eq!(policy.warnings().len(), warnings, "{file}");
    }
}

#[test]
fn invariant_8_a_loaded_policy_does_not_change_with_its_folder() {
    let folder = folder("[[rule]]\nid = 'own'\nmatch = {}\naction = 'block'\n", &Fakes::default());
    let first = load_folder(folder.path(), &Fakes::default()).unwrap();
    let digest = first.digest();
    std::fs::write(folder.path().join("rules.toml"), "[[rule]]\nid = 'next'\nmatch = {}\naction = 'pause'\n")
        .unwrap();
    let second = load_folder(folder.path(), &Fakes::default()).unwrap();
    assert_eq!(&*block(&evaluate(&first, &chat("hello"))).rule, "own");
    assert!(matches!(evaluate(&second, &chat("hello")).verdict, leafgate_policy::Verdict::Pause(_)));
    assert_eq!((first.digest() == digest, first.digest() == second.digest()), (true, false));
}

#[test]
fn the_digest_names_what_the_policy_does() {
    let own = "[[rule]]\nid = 'own'\nmatch = {}\naction = 'block'\n";
    assert_eq!(policy(own).digest(), policy(own).digest(), "the folder's place does not matter");
    assert_ne!(policy(own).digest(), policy(&format!("{own}reason = 'x'\n")).digest());
    assert_eq!(policy(own).generation_name().len(), 12);
}
