//! How many tokens two policies differ by. Most of what two bodies say is the same, so only the texts
//! that one of them has and the other has not are counted, and of requests that leave alike none.

use std::collections::HashMap;

use leafgate_tokenize::{Counter, Tokenizer};
use leafgate_tree::{Access, Document, Format, LeafKind};
use serde::Serialize;

use crate::request;

/// Tokens of the texts in which bodies differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TokenChange {
    /// Those that leave today.
    pub(super) today: u64,
    /// Those that would leave instead.
    pub(super) new: u64,
    /// Whether a model was asked whose tokenizer is not public: then the number is an estimate.
    pub(super) is_estimate: bool,
}

impl TokenChange {
    pub(super) fn add(&mut self, more: TokenChange) {
        self.today += more.today;
        self.new += more.new;
        self.is_estimate |= more.is_estimate;
    }
}

/// Returns by how many tokens two bodies differ. No body has no text; `model` is asked where a body
/// names none.
pub(super) fn change(
    counter: &Counter,
    format: Format,
    model: Option<&str>,
    bodies: [Option<&bytes::Bytes>; 2],
) -> TokenChange {
    let [today, new] = bodies.map(|body| ReadBody::of(body, format));
    let (today_by, new_by) = (today.tokenizer(counter, model), new.tokenizer(counter, model));
    // The same text is another number of tokens to another model.
    let (today, new) = match today_by == new_by {
        true => (today.without(Some(&new)), new.without(Some(&today))),
        false => (today.without(None), new.without(None)),
    };
    let count = |texts: Vec<(&str, usize)>, by: Tokenizer| -> u64 {
        texts.into_iter().map(|(text, times)| counter.count(by, text) * times as u64).sum()
    };
    let is_estimate = !today.is_empty() && today_by == Tokenizer::Estimate
        || !new.is_empty() && new_by == Tokenizer::Estimate;
    TokenChange { today: count(today, today_by), new: count(new, new_by), is_estimate }
}

/// A body that was read again, and how often it has each text.
struct ReadBody {
    document: Option<Document>,
    texts: HashMap<String, usize>,
}

impl ReadBody {
    /// What cannot be read has no text: it was rendered from what could.
    fn of(body: Option<&bytes::Bytes>, format: Format) -> ReadBody {
        let read = body.and_then(|body| request::document(body, Some(format)).ok());
        let document = read.map(|(document, _)| document);
        let mut texts = HashMap::new();
        // Media and options are no text of the prompt.
        let leaves = document.iter().flat_map(|document| document.leaves());
        for leaf in
            leaves.filter(|leaf| leaf.access() != Access::Opaque && leaf.kind() != LeafKind::RequestOption)
        {
            *texts.entry(leaf.text().into_cow().into_owned()).or_default() += 1;
        }
        ReadBody { document, texts }
    }

    fn tokenizer(&self, counter: &Counter, model: Option<&str>) -> Tokenizer {
        let named = self.document.as_ref().and_then(Document::model);
        named.as_deref().or(model).map_or(Tokenizer::Estimate, |model| counter.facts(model, "").tokenizer)
    }

    /// Returns the texts that another body has not, or less often.
    fn without(&self, other: Option<&ReadBody>) -> Vec<(&str, usize)> {
        let of_other = |text| other.and_then(|other| other.texts.get(text)).copied().unwrap_or_default();
        let more =
            self.texts.iter().map(|(text, times)| (text.as_str(), times.saturating_sub(of_other(text))));
        more.filter(|(_, times)| *times > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use leafgate_tokenize::Models;
    use serde_json::json;

    use super::*;

    fn says(model: &str, texts: &[&str]) -> bytes::Bytes {
        let messages: Vec<_> = texts.iter().map(|text| json!({ "role": "user", "content": text })).collect();
        json!({ "model": model, "messages": messages }).to_string().into()
    }

    fn changed(today: Option<&bytes::Bytes>, new: Option<&bytes::Bytes>) -> TokenChange {
        change(&Counter::new(Models::default()), Format::OpenaiChat, None, [today, new])
    }

    #[test]
    fn only_what_differs_is_counted_as_its_model_reads_it() {
        let o200k = |text: &str| Tokenizer::O200k.count(text) as u64;
        let (old, new) = ("write to ann@example.org", "write to EMAIL_k7f3q2xw9mz4ab6c");
        let twice = says("gpt-4o", &["the same", old, old, "moved"]);
        let once = says("gpt-4o", &["moved", "the same", new, old]);
        let expected = TokenChange { today: o200k(old), new: o200k(new), is_estimate: false };
        assert_eq!(changed(Some(&twice), Some(&once)), expected);
        assert_eq!(changed(Some(&twice), Some(&twice)), TokenChange::default());
    }

    #[test]
    fn what_does_not_leave_has_no_tokens_and_an_unknown_model_is_an_estimate() {
        let body = says("house-model", &["four and four"]);
        // Options are no text of the prompt.
        let all: usize = ["user", "four and four"].iter().map(|text| text.len().div_ceil(4)).sum();
        let expected = TokenChange { today: all as u64, new: 0, is_estimate: true };
        assert_eq!(changed(Some(&body), None), expected);
    }

    #[test]
    fn another_model_reads_the_same_texts_as_other_tokens() {
        let text = "お誕生日おめでとう";
        let (old, new) = (says("gpt-4", &[text]), says("gpt-4o", &[text]));
        let change = changed(Some(&old), Some(&new));
        // Roles are texts too.
        assert_eq!(change.today as usize, 9 + Tokenizer::Cl100k.count("user"));
        assert_eq!(change.new as usize, 8 + Tokenizer::O200k.count("user"));
    }
}
