//! An answer as a request: the form in which rules and people see it, whatever its API.

use std::collections::BTreeSet;

use bytes::Bytes;
use leafgate_answer::{Answer, Call, CallError, TextRun};
use leafgate_tree::NodeId;
use serde_json::{Value, json};

/// Why an answer cannot be written as rules left it.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::From, thiserror::Error)]
pub enum NotWritten {
    /// What they left has another form.
    #[error("response rules left no answer that can be read")]
    Form,
    /// They changed what its client has already.
    #[error("response rules find something that goes on from what the client has already")]
    Gone,
    /// What they left of a call is none, or they changed what cannot be changed.
    // No source of an error: the cause stands in the sentence already, and a chain of causes would say it twice.
    #[error("what response rules left cannot be written into the answer: {0}")]
    Call(CallError),
}

/// Returns texts of a whole answer, as far as they have not left, behind what left of their run.
pub fn texts(answer: &Answer, runs: &[TextRun]) -> Vec<Vec<String>> {
    let rest = |&(leaf, went): &(NodeId, usize)| answer.text(leaf).split_off(went);
    let left = |run: &TextRun| Some(run.left.clone()).filter(|left| !left.is_empty());
    runs.iter().map(|run| left(run).into_iter().chain(run.texts.iter().map(rest)).collect()).collect()
}

/// Returns a whole answer with what rules made of its texts and calls, which were spelled by [`written`].
///
/// # Errors
/// [`NotWritten`].
pub fn put_back(answer: &Answer, runs: &[TextRun], after: &[u8]) -> Result<Value, NotWritten> {
    let has_left = |run: &TextRun| usize::from(!run.left.is_empty());
    let lengths: Vec<usize> = runs.iter().map(|run| run.texts.len() + has_left(run)).collect();
    let (texts, calls) = read(after, &lengths).ok_or(NotWritten::Form)?;
    let mut changed = Vec::new();
    for (run, mut now) in runs.iter().zip(texts) {
        let rest = now.split_off(has_left(run));
        if now.concat() != run.left {
            return Err(NotWritten::Gone);
        }
        for (&(leaf, went), rest) in run.texts.iter().zip(rest) {
            let was = answer.text(leaf);
            let now = was[..went].to_owned() + &rest;
            changed.extend((now != was).then_some((leaf, now)));
        }
    }
    Ok(answer.changed(&changed, &calls)?)
}

/// Spells calls as the messages of chat completions, each in one of its own: so a person takes one
/// out as any other message.
pub fn calls_written(model: Option<&str>, calls: &[Call]) -> Bytes {
    let message = |(id, one): (String, &Call)| {
        let mut spelled = one.to_chat();
        spelled["id"] = id.into();
        json!({ "role": "assistant", "content": null, "tool_calls": [spelled] })
    };
    let messages: Vec<Value> = names(calls).into_iter().zip(calls).map(message).collect();
    json!({ "model": model.unwrap_or_default(), "messages": messages }).to_string().into()
}

/// Reads what [`calls_written`] wrote of these calls, after it was changed: each of them as it is
/// now, and `None` for one that was taken out. `None` for all where it has another form.
pub fn calls_read(body: &[u8], calls: &[Call]) -> Option<Vec<Option<Call>>> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let names = names(calls);
    let mut left: Vec<Option<Call>> = vec![None; calls.len()];
    for message in body["messages"].as_array()? {
        let [call] = message["tool_calls"].as_array()?.as_slice() else { return None };
        let call = Call::of_chat(call)?;
        let at = names.iter().position(|name| name == call.id.expose())?;
        let id = calls[at].id.clone();
        if left[at].replace(Call { id, ..call }).is_some() {
            return None;
        }
    }
    Some(left)
}

/// What tells calls apart: their ids, or their numbers where ids do not.
fn names(calls: &[Call]) -> Vec<String> {
    let ids: BTreeSet<&str> = calls.iter().map(|call| call.id.expose()).collect();
    if ids.len() == calls.len() && !ids.contains("") {
        return calls.iter().map(|call| call.id.expose().to_owned()).collect();
    }
    (0..calls.len()).map(|at| format!("call-{at}")).collect()
}

/// Spells texts and calls as the messages of chat completions, the calls in the last one. Texts that clients join are the
/// parts of one message.
pub fn written(model: Option<&str>, texts: &[Vec<String>], calls: &[Call]) -> Bytes {
    let part = |text: &String| json!({ "type": "text", "text": text });
    let message = |joined: &Vec<String>| match joined.as_slice() {
        [text] => json!({ "role": "assistant", "content": text }),
        parts => json!({ "role": "assistant", "content": parts.iter().map(part).collect::<Vec<_>>() }),
    };
    let mut messages: Vec<Value> = texts.iter().map(message).collect();
    if !calls.is_empty() {
        let calls: Vec<Value> = calls.iter().map(Call::to_chat).collect();
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
    }
    json!({ "model": model.unwrap_or_default(), "messages": messages }).to_string().into()
}

/// Reads what [`written`] wrote, after it was changed; `None` where it has another form. `texts` says how many each message
/// has.
pub fn read(body: &[u8], texts: &[usize]) -> Option<(Vec<Vec<String>>, Vec<Call>)> {
    let body: Value = serde_json::from_slice(body).ok()?;
    let messages = body["messages"].as_array()?;
    if messages.len() < texts.len() || messages.len() > texts.len() + 1 {
        return None;
    }
    let text = |text: &Value| Some(text.as_str()?.to_owned());
    let joined = |(message, count): (&Value, &usize)| -> Option<Vec<String>> {
        let said: Vec<String> = match &message["content"] {
            Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect::<Option<_>>()?,
            content => vec![text(content)?],
        };
        (said.len() == *count).then_some(said)
    };
    let said = messages.iter().zip(texts).map(joined).collect::<Option<_>>()?;
    let calls = messages
        .get(texts.len())
        .map(|message| message["tool_calls"].as_array()?.iter().map(Call::of_chat).collect());
    Some((said, calls.unwrap_or_else(|| Some(Vec::new()))?))
}

#[cfg(test)]
mod tests {
    use leafgate_answer::CallKind;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let call = |name: &str, arguments: &str, kind| Call {
            id: "1".into(),
            name: name.into(),
            arguments: arguments.into(),
            kind,
        };
        let calls = vec![
            call("read", r#"{"a": 1}"#, CallKind::Function),
            call("patch", "*** Begin", CallKind::Custom),
        ];
        let texts = [vec!["one".to_owned()], vec!["two".to_owned(), "three".to_owned()]];
        let written = written(Some("m"), &texts, &calls);
        assert_eq!(read(&written, &[1, 2]), Some((texts.to_vec(), calls.clone())));
        assert_eq!(read(&written, &[1, 3]), None, "a text is gone");
        let written = calls_written(Some("m"), &calls);
        let both = calls.iter().cloned().map(Some).collect();
        assert_eq!(calls_read(&written, &calls), Some(both), "ids that are the same give way to numbers");
        let mut one: Value = serde_json::from_slice(&written).unwrap();
        let first = one["messages"].as_array_mut().unwrap().remove(0);
        assert_eq!(calls_read(one.to_string().as_bytes(), &calls), Some(vec![None, Some(calls[1].clone())]));
        one["messages"] = json!([first, first]);
        assert_eq!(calls_read(one.to_string().as_bytes(), &calls), None, "a call is there twice");
        one["messages"] = json!([{ "role": "user", "content": "Hi" }]);
        assert_eq!(calls_read(one.to_string().as_bytes(), &calls), None);
        assert_eq!(read(br#"{"messages": []}"#, &[1]), None);
        assert_eq!(read(br#"{"messages": [{"content": 1}]}"#, &[1]), None);
    }
}
