//! A model that does what its person says, call by call, for clients with tools of their own.
//!
//! A prompt that holds `CALLS [["read_file", {…}], …]` has it call these tools with these arguments, one after the other. `TOKEN`
//! in an argument stands for the token that it was shown last. When all is done it repeats every token that it was shown.
//!
//! An editor may have a second model fit an edit into its file: that one writes the edit down as it is.

use serde_json::{Deserializer, Value};

use super::{Call, DONE, Turn};

/// What stands before the calls in a prompt.
const MARK: &str = "CALLS ";

/// What stands before an edit that is to be fitted into a file.
const EDIT: &str = "the suggested code change:";

/// What stands on both sides of it.
const FENCE: &str = "```";

/// What stands in arguments for the token that was shown last.
const SHOWN: &str = "TOKEN";

/// The calls have names of their own: VS Code tells results apart by them.
const IDS: [&str; 4] = ["call_kit_a", "call_kit_b", "call_kit_c", "call_kit_d"];

/// How many characters of a token stand behind its label.
const BODY: usize = 16;

/// Returns what the model does; `None` where nobody directs it. Without tools it only says what it was shown.
pub(super) fn turn(body: &Value) -> Option<Turn> {
    let messages = [&body["messages"], &body["input"]].into_iter().find_map(Value::as_array)?;
    let asked = messages.iter().rposition(|message| texts(message).any(|text| text.contains(MARK)))?;
    let calls = texts(&messages[asked]).find_map(calls)?;
    let since = &messages[asked..];
    let made: usize = since.iter().map(results).sum();
    let tokens = tokens(since);
    let Some((tool, arguments)) = calls.get(made).filter(|_| body["tools"].is_array()) else {
        return Some(Turn::Says(match &*tokens {
            [] => DONE.to_owned(),
            tokens => format!("I was shown {}.", tokens.join(", ")),
        }));
    };
    let shown = tokens.last().map_or(SHOWN, String::as_str);
    let arguments = arguments.to_string().replace(SHOWN, shown);
    Some(Turn::Calls(Call { id: IDS[made % IDS.len()], group: None, tool: tool.clone(), arguments }))
}

/// Returns an edit as the file that an editor wants it fitted into: what stands last between fences. `None` where nobody asks.
pub(super) fn fitted(prompt: &str) -> Option<Turn> {
    let (_, behind) = prompt.split_once(EDIT)?;
    let (_, block) = behind.split_once(FENCE)?;
    let (_, lines) = block.rsplit_once(FENCE)?.0.split_once('\n')?;
    Some(Turn::Says(lines.to_owned()))
}

/// The calls that a prompt asks for: what stands behind them is of no matter.
fn calls(prompt: &str) -> Option<Vec<(String, Value)>> {
    let (_, behind) = prompt.split_once(MARK)?;
    Deserializer::from_str(behind).into_iter().next()?.ok()
}

/// How many results of tools a message holds.
fn results(message: &Value) -> usize {
    let blocks = message["content"].as_array().into_iter().flatten();
    let is_result = |value: &Value| {
        value["role"] == "tool" || value["type"] == "function_call_output" || value["type"] == "tool_result"
    };
    blocks.chain([message]).filter(|value| is_result(value)).count()
}

/// Every token in these messages, each once.
pub(super) fn tokens(messages: &[Value]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in messages.iter().flat_map(texts).flat_map(words).filter(|word| is_token(word)) {
        found.retain(|known| known != word);
        found.push(word.to_owned());
    }
    found
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
}

/// Whether a word is `LABEL_0123456789abcdef`.
fn is_token(word: &str) -> bool {
    let is_of_label = |c: char| c.is_ascii_uppercase() || c == '_';
    let is_of_body = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    word.rsplit_once('_').is_some_and(|(label, body)| {
        !label.is_empty()
            && label.chars().all(is_of_label)
            && body.len() == BODY
            && body.chars().all(is_of_body)
    })
}

/// Every text in a value.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().flat_map(texts)),
        Value::Object(members) => Box::new(members.values().flat_map(texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PROMPT: &str = r#"<request> CALLS [["read_file", {"path": ".env"}], ["write", {"text": "K=TOKEN"}]] thanks </request>"#;

    #[test]
    fn an_edit_is_fitted_as_it_is() {
        let asked =
            "The file:\n```sh\nA=1\n```\nThis is the suggested code change:\n```sh\nA=1\nB=2\n```\nGo on.";
        let Some(Turn::Says(file)) = fitted(asked) else { panic!("nothing is said") };
        assert_eq!(file, "A=1\nB=2\n");
    }

    fn asked(results: &[Value]) -> Turn {
        let messages = [&[json!({ "role": "user", "content": PROMPT })], results].concat();
        turn(&json!({ "messages": messages, "tools": [] })).unwrap()
    }

    #[test]
    fn calls_are_made_in_their_order_and_with_what_was_shown() {
        let result = json!({ "role": "tool", "content": "K=SECRET_0123456789abcdef" });
        let Turn::Calls(first) = asked(&[]) else { panic!("it says something") };
        assert_eq!((&*first.tool, &*first.arguments), ("read_file", r#"{"path":".env"}"#));
        let Turn::Calls(second) = asked(std::slice::from_ref(&result)) else { panic!("it says something") };
        assert_eq!((&*second.tool, &*second.arguments), ("write", r#"{"text":"K=SECRET_0123456789abcdef"}"#));
        let Turn::Says(said) = asked(&[result.clone(), result]) else { panic!("it calls") };
        assert_eq!(said, "I was shown SECRET_0123456789abcdef.");
    }
}
