//! `[[assemble]]` tables: what they become, what is wrong with them, and which requests they are for.

use std::fs;
use std::sync::Arc;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Context, Policy, PolicySource};
use leafgate_tree::{Document, Format, Limits};
use serde_json::json;
use tempfile::TempDir;

const VAULT: &str = r#"
[[assemble]]
id = "vault"
match = { model = "vault/*" }
model = "gpt-x"
agent_mode = true
prompt = { type = "file", path = "prompts/review.md" }
fallback_prompt = "Help."
agent_prompt = "prompts/agent.md"
tools_hint = "prompts/tools.md"
context = ["notes/*.md", "doc:spec-7"]
map = { root = "notes", depth = 2, entries = 10 }
plugins = [{ id = "web-search", max_results = 5 }]
options = { include_reasoning = true, temperature = 0.5 }
drop = ["message_id"]
tools = { normalise = true, allow = ["read_*"] }
continuation = "keep"
downgrade = { on = ["images", "tools"], models = ["gpt-y"], else = "pause" }
replay_stream = true
"#;

fn folder_of(rules: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for inside in ["notes", "prompts"] {
        fs::create_dir(folder.path().join(inside)).unwrap();
    }
    for (name, text) in [
        ("notes/a.md", "A says 1."),
        ("prompts/review.md", "Review."),
        ("prompts/agent.md", "Act."),
        ("prompts/tools.md", "Use tools."),
        ("rules.toml", rules),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn load(folder: &TempDir) -> Result<Policy, leafgate_policy::LoadError> {
    Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins)
}

fn complaints(rules: &str) -> String {
    let folder = folder_of(rules);
    let error = load(&folder).expect_err("the tables are wrong").to_string();
    error.replace(&folder.path().display().to_string(), "policy")
}

fn asks(model: &str) -> Arc<Document> {
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "Now?" }],
        "tools": [{ "type": "function", "function": { "name": "read_file", "strict": true } }] });
    let body = body.to_string().into();
    Arc::new(Document::parse(body, Format::OpenaiChat, &Limits::default()).unwrap())
}

#[test]
fn a_table_becomes_a_profile_that_makes_requests() {
    let folder = folder_of(VAULT);
    let policy = load(&folder).unwrap();
    let document = asks("vault/any");
    let assembly = policy.assembly_for(&document, &Context::default()).unwrap();
    let made = assembly.make(&document, &assembly.files(), None).unwrap();
    snapshot!(String::from_utf8(made.document.source().to_vec()).unwrap());
    assert!(policy.assembly_for(&asks("other"), &Context::default()).is_none());
    assert!(assembly.replay_stream && assembly.downgrade.images);
}

#[test]
fn profiles_are_explained() {
    let policy = load(&folder_of(VAULT)).unwrap();
    let explained = policy.explain().to_string();
    let from = explained.find("Profiles").unwrap();
    let profiles = &explained[from..explained.find("\n# 1. ").unwrap()];
    let shown: Vec<&str> =
        profiles.lines().filter(|line| !line.starts_with("root") && !line.contains("toml")).collect();
    snapshot!(shown.join("\n"));
}

#[test]
fn what_is_wrong_with_profiles() {
    snapshot!(complaints(
        r#"
[[assemble]]
id = "Vault"
match = { model = "x", role = "user" }
root = "nowhere"
agent_mode = "sometimes"
prompt = { type = "file", text = "x" }
agent_prompt = "../agent.md"
context = ["/etc/*", "doc:"]
map = { depth = 99 }
plugins = [{ max_results = 0 }]
options = { messages = [] }
continuation = "skip"
downgrade = { on = ["image"], else = "ask" }
tool = { allow = [] }

[[assemble]]
match = {}
prompt = { type = "filed", paht = "x" }
"#
    ));
}

#[test]
fn a_profile_is_declared_once() {
    let error = complaints("[[assemble]]\nid = \"a\"\n[[assemble]]\nid = \"a\"\n");
    assert!(error.contains("profile `a` is declared twice"), "{error}");
    assert!(error.contains("the first is at policy/rules.toml:1"), "{error}");
}

#[test]
fn profiles_without_rules_are_warned_of() {
    let folder = folder_of(
        "extends = \"none\"\n[[assemble]]\nid = \"a\"\nprompt = { type = \"file\", path = \"gone.md\" }\n",
    );
    let policy = load(&folder).unwrap();
    assert!(!policy.is_empty());
    let warnings: Vec<String> = policy.warnings().iter().map(|warning| warning.message.clone()).collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.starts_with("no rule looks at")), "{warnings:?}");
    assert!(warnings.iter().any(|warning| warning.contains("`gone.md`")), "{warnings:?}");
}

#[test]
fn what_was_read_once_stays() {
    use leafgate_assemble::Files as _;
    let folder = folder_of(VAULT);
    let policy = load(&folder).unwrap();
    let files = policy.assemblies()[0].files();
    assert_eq!(files.read("notes/a.md").unwrap(), b"A says 1.");
    assert!(files.read("notes/b.md").is_err());
    let listed = files.list("notes", 1, 9).unwrap();
    fs::write(folder.path().join("notes/a.md"), "other").unwrap();
    fs::write(folder.path().join("notes/b.md"), "came").unwrap();
    assert_eq!(files.read("notes/a.md").unwrap(), b"A says 1.");
    assert!(files.read("notes/b.md").is_err());
    assert_eq!(files.list("notes", 1, 9).unwrap(), listed);
    assert!(!format!("{files:?}").contains("says"));
}

/// What breaks a message, or refuses each request, passed `check` without a word.
#[test]
fn what_breaks_each_request_of_a_profile_is_told() {
    for member in ["role", "content", "parts", "tool_calls", "tool_call_id"] {
        let error = complaints(&format!("[[assemble]]\nid = \"a\"\ndrop = [\"state\", \"{member}\"]\n"));
        assert!(error.contains(&format!("`{member}` cannot be left out")), "{error}");
    }
    let folder = folder_of(
        "[[assemble]]\nid = \"a\"\ncontext = [\"notes/a.md\", \"notes/b.md\", \"*.md\", \"gone/*.md\", \"doc:x\"]\n\
         map = { root = \"src\" }\ndrop = [\"message_id\"]\n",
    );
    let policy = load(&folder).unwrap();
    let told: Vec<&str> = policy.warnings().iter().map(|warning| warning.message.as_str()).collect();
    for named in ["no file `notes/b.md`", "no folder `gone`", "no folder `src`"] {
        assert_eq!(told.iter().filter(|told| told.contains(named)).count(), 1, "{named}: {told:?}");
    }
    assert_eq!(told.len(), 3, "{told:?}");
}

#[test]
fn a_request_is_made_by_the_profile_that_is_named_or_is_for_it() {
    let folder = folder_of(VAULT);
    let policy = load(&folder).unwrap();
    let context = Context::default();
    let made = policy.make_request(None, &asks("vault/any"), &context).unwrap().unwrap();
    assert_eq!((&*made.profile.id, made.document.model().as_deref()), ("vault", Some("gpt-x")));
    assert!(policy.make_request(None, &asks("other"), &context).unwrap().is_none());
    let named = policy.make_request(Some("vault"), &asks("other"), &context).unwrap().unwrap();
    assert_eq!(named.document.source(), made.document.source());
    let unknown = policy.make_request(Some("typed"), &asks("other"), &context).unwrap_err().to_string();
    assert!(unknown.contains("profiles are: vault") && !unknown.contains("typed"), "{unknown}");
    let picks = json!({ "model": "other", "leafgate": {}, "messages": [{ "role": "user", "content": "x" }] });
    let picks = Document::parse(picks.to_string().into(), Format::OpenaiChat, &Limits::default()).unwrap();
    assert!(policy.make_request(None, &picks, &context).is_err());
}
