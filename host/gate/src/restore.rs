//! Puts the real values back into an answer that comes as one JSON body.
//!
//! Only text that a person reads is restored: content, refusal and reasoning of each choice. Tool arguments are not: a value restored
//! into a shell or an HTTP call would be carried out. The other bytes of the answer stay as they are. An answer that cannot be read as
//! JSON passes as it came; the tokens in it are no secrets.

use std::sync::Arc;

use bytes::Bytes;
use leafgate_tree::{Access, Author, Document, Draft, Format, Leaf, Limits, NodeId, ValueType};
use leafgate_vault::{Channel, Vault};

/// The members of a message, or of a stream's delta, that hold text for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    Content,
    Refusal,
    /// As DeepSeek, vLLM and others name it.
    ReasoningContent,
    /// As OpenRouter and others name it.
    Reasoning,
}

impl Field {
    pub(crate) const ALL: [Field; 4] =
        [Field::Content, Field::Refusal, Field::ReasoningContent, Field::Reasoning];

    pub(crate) fn key(self) -> &'static str {
        match self {
            Field::Content => "content",
            Field::Refusal => "refusal",
            Field::ReasoningContent => "reasoning_content",
            Field::Reasoning => "reasoning",
        }
    }
}

/// Who restores, in the journal of the answer. It is a person's copy that is written, so nothing in it is protected.
pub(crate) const RESTORER: Author = Author::Person;

/// Reads an answer, or an event of a stream. A text that is itself JSON stays one leaf here: it is restored as text.
pub(crate) fn read(json: Bytes) -> Option<Document> {
    let limits = Limits { embedded: 0, ..Limits::default() };
    Document::parse(json, Format::Generic, &limits).ok()
}

/// The choices of an answer with their indexes.
pub(crate) fn choices(answer: &Document) -> impl Iterator<Item = (usize, NodeId)> {
    let list = answer.member(answer.root(), "choices");
    let choices = list.into_iter().flat_map(|list| answer.children(list));
    choices.enumerate().map(|(place, choice)| {
        let index = answer.member(choice, "index").and_then(|node| answer.leaf(node));
        (index.and_then(|leaf| leaf.text().expose().parse().ok()).unwrap_or(place), choice)
    })
}

/// The text of a field, where it is there and may be written.
pub(crate) fn field(answer: &Document, message: NodeId, field: Field) -> Option<Leaf<'_>> {
    let leaf = answer.leaf(answer.member(message, field.key())?)?;
    (leaf.value_type() == ValueType::Text && leaf.access() == Access::Open).then_some(leaf)
}

/// Restores a whole answer.
pub(crate) fn restore(answer: &Bytes, vault: &Vault) -> Bytes {
    let Some(document) = read(answer.clone()) else { return answer.clone() };
    let mut draft = Draft::new(Arc::new(document));
    let document = draft.document().clone();
    for (_, choice) in choices(&document) {
        let Some(message) = document.member(choice, "message") else { continue };
        for leaf in Field::ALL.into_iter().filter_map(|name| field(&document, message, name)) {
            let text = leaf.text();
            let restored = vault.restore(text.expose(), Channel::Text);
            // Refused only for leaves that `field` does not give; then the token stays.
            let _ = draft.set(leaf.id(), &restored, &RESTORER);
        }
    }
    draft.render()
}

#[cfg(test)]
mod tests {
    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};

    use super::*;

    #[test]
    fn only_what_people_read_is_restored() {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([3; 32]), &ClientIdentity::new("test"));
        let vault = Vault::new(keys);
        let token = vault.tokenize("EMAIL", "ann@example.org \"quoted\"").unwrap();
        let answer = |said: &str, called: &str| {
            Bytes::from(format!(
                r#"{{ "id":"{token}", "choices": [
                    {{"index":0, "message":{{"role":"assistant","content":"Write to {said}.","refusal":null,"reasoning_content":"{said}?"}}}},
                    {{"index":1, "message":{{"content":null,"refusal":"No, {said}","tool_calls":[{{"id":"c","type":"function",
                        "function":{{"name":"sh","arguments":"{{\"to\": \"{called}\"}}"}}}}]}}}}], "x": 1.50 }}"#
            ))
        };
        let received = answer(token.as_str(), token.as_str());
        let expected = answer("ann@example.org \\\"quoted\\\"", token.as_str());
        assert_eq!(restore(&received, &vault), expected);
    }

    #[test]
    fn an_answer_that_is_no_json_passes() {
        let keys = TokenKeys::derive(&InstallationKey::from_bytes([3; 32]), &ClientIdentity::new("test"));
        let vault = Vault::new(keys);
        vault.tokenize("EMAIL", "ann@example.org").unwrap();
        for answer in ["", "{", "[]", "null", r#"{"choices": 1}"#, r#"{"choices": [1, {}]}"#, "\u{fffd}"] {
            assert_eq!(restore(&Bytes::from(answer), &vault), answer);
        }
    }
}
