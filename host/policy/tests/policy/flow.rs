//! Where a value was first seen goes with its token, and `restore` says where it may return.

use leafgate_policy::{Context, Policy};
use leafgate_tree::Format;
use leafgate_vault::{FileName, Vault};
use serde_json::{Value, json};

use super::support::*;

const SECRETS: &str = "[[rule]]\nid = \"s\"\nmatch = {}\ndetect = [\"secrets\"]\naction = \"redact\"\n";

/// What a value may return to after a request.
fn returns(policy: &Policy, body: &Value, format: Format, tool: &str, path: &str) -> bool {
    let vault: Vault = vault();
    let evaluation = policy.evaluate(parse(&body.to_string(), format), &Context::default(), &vault);
    assert_forward(&evaluation);
    let token = vault.keys().token("SECRET", &secret());
    let files: Vec<FileName> = FileName::parse(path).into_iter().collect();
    assert_eq!(vault.tokens_in(token.as_str()), 1);
    *vault.restore_into(token.as_str(), tool, &files) == secret()
}

/// Requests of each format in which a tool has read a file with the secret.
fn read_by(tool: &str, path: &str) -> Vec<(Format, Value)> {
    let (arguments, result) = (json!({ "file_path": path }), format!("KEY={}", secret()));
    vec![
        (
            Format::OpenaiChat,
            json!({"messages": [
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
                "function": {"name": tool, "arguments": arguments.to_string()}}]},
            {"role": "tool", "tool_call_id": "c", "content": result}]}),
        ),
        (
            Format::AnthropicMessages,
            json!({"messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": tool, "input": arguments}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c",
                "content": [{"type": "text", "text": result}]}]}]}),
        ),
        (
            Format::OpenaiResponses,
            json!({"input": [
            {"type": "function_call", "call_id": "c", "name": tool, "arguments": arguments.to_string()},
            {"type": "function_call_output", "call_id": "c", "output": result}]}),
        ),
    ]
}

#[test]
fn a_value_of_a_file_may_return_to_that_file() {
    let policy = policy(SECRETS);
    for (format, body) in read_by("Read", "/w/.env") {
        assert!(returns(&policy, &body, format, "Edit", "/w/.env"), "{format:?}");
        assert!(!returns(&policy, &body, format, "Edit", "/w/notes"), "{format:?}");
    }
    for (format, body) in read_by("Bash", "/w/.env") {
        assert!(!returns(&policy, &body, format, "Edit", "/w/.env"), "{format:?}");
    }
    let said = chat(&secret());
    assert!(!returns(&policy, &said, Format::OpenaiChat, "Edit", "/w/.env"));
}

#[test]
fn what_a_person_said_first_came_from_no_file() {
    let policy = policy(SECRETS);
    for (format, mut body) in read_by("Read", "/w/.env") {
        let key = if format == Format::OpenaiResponses { "input" } else { "messages" };
        body[key].as_array_mut().unwrap().insert(0, json!({"role": "user", "content": secret()}));
        assert!(!returns(&policy, &body, format, "Edit", "/w/.env"), "{format:?}");
    }
}

/// Each of these was one file to the gate and another to some client.
#[test]
fn a_value_of_a_file_that_is_not_certain_returns_nowhere() {
    let policy = policy(SECRETS);
    for (tool, arguments) in [
        ("Read", r#"{"file_path": "/w/notes", "file_path": "/w/.env"}"#),
        ("Read", r#"{"file_path": "/w/notes", "FILE_PATH": "/w/.env"}"#),
        ("Read", r#"{"FILE_PATH": "/w/notes"}"#),
        ("Read", r#"{"file_path": "/w/notes", "path": "/w/.env"}"#),
        ("Read", r#"{"file_path": "/w/notes", "cwd": "/x"}"#),
        ("Read", r#"{"file_path": "/w/notes", "host": "other"}"#),
        ("Read", r#"{"file_path": "/w/notes "}"#),
        ("Read", r#"{"file_path": "/w/notes\u00a0"}"#),
        ("Read", r#"{"file_path": "/w/notes/"}"#),
        ("Read", r#"{"file_path": "\\w\\notes"}"#),
        ("Read", r#"{"file_path": "/w/x/../notes"}"#),
        ("Read", r#"{"file_path": "~/notes"}"#),
        ("Read", r#"{"file_path": ["/w/notes"]}"#),
        ("Read", "/w/notes"),
        ("read_file", r#"{"path": "/w/notes", "file": "/w/.env"}"#),
    ] {
        let body = json!({"messages": [
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
                "function": {"name": tool, "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "c", "content": secret()}]});
        for file in ["/w/notes", "/w/.env", "/w/notes ", r"\w\notes", "~/notes"] {
            assert!(!returns(&policy, &body, Format::OpenaiChat, "Edit", file), "{arguments} {file}");
        }
    }
    for arguments in [r#"{"file_path": "/w/notes", "offset": 1, "limit": null}"#, r#"{"path": "/w//notes"}"#]
    {
        let body = json!({"messages": [
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function",
                "function": {"name": "Read", "arguments": arguments}}]},
            {"role": "tool", "tool_call_id": "c", "content": secret()}]});
        assert!(returns(&policy, &body, Format::OpenaiChat, "Edit", "/w/notes"), "{arguments}");
    }
}

#[test]
fn a_policy_says_where_values_may_return() {
    let rules = |restore: &str| policy(&format!("restore = {restore}\n{SECRETS}"));
    let own = rules(r#"[{ from = "Read(.env*)", to = ["Edit(.env*)", "Write(.env*)"] }]"#);
    for (format, body) in read_by("Read", "/w/.env.local") {
        assert!(returns(&own, &body, format, "Write", "/w/.env"), "{format:?}");
        assert!(!returns(&own, &body, format, "Write", "/w/env"), "{format:?}");
        assert!(!returns(&rules("[]"), &body, format, "Write", "/w/.env.local"), "{format:?}");
    }
    assert_ne!(own.digest(), rules("[]").digest());
}

#[test]
fn a_restore_that_means_nothing_is_refused_with_its_line() {
    for (restore, said) in [
        (r#""off""#, "`restore` must be a list"),
        (r#"[{ from = "Read" }]"#, "without `to`"),
        (r#"[{ from = "Read(", to = "Edit" }]"#, "is no place"),
        (r#"[{ from = "Read", to = ["Bash"] }]"#, "no file editor is known that is called `Bash`"),
        (r#"[{ form = "Read", to = "Edit" }]"#, "unknown key `form`"),
    ] {
        let error = try_policy(&format!("restore = {restore}\n{SECRETS}"), &Fakes::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(said) && error.contains(":1:"), "{restore}: {error}");
    }
}
