//! Puts the real values back into a chat completion that comes as a stream of events.
//!
//! A token may be broken over many events, so each channel (a choice and a field of its deltas) has a restorer of its own, which holds
//! back the shortest suffix that may still become a token of this session. Held text leaves with the next event of its channel; when the
//! choice finishes, or the stream ends, in an added event before that. Lines in which nothing was held or restored leave byte for byte
//! as they came, before the next one is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use leafgate_tree::{Document, Draft, NodeId, ValueType};
use leafgate_vault::{Channel, Restorer, Vault};
use serde_json::{Value, json};

use crate::restore::{self, Field, RESTORER};
use crate::sse::{self, Lines, Piece};

/// A line longer than this passes unrestored.
pub(crate) const MAX_LINE: usize = 1024 * 1024;

/// So many channels are restored; no request asks for more choices.
const MAX_CHANNELS: usize = 512;

/// What of a chunk an added event repeats, so that clients take it for part of the same completion.
const REPEATED: [&str; 5] = ["id", "object", "created", "model", "system_fingerprint"];

/// Restores one stream.
pub(crate) struct ChatStream {
    vault: Vault,
    lines: Lines,
    channels: BTreeMap<(usize, Field), Restorer>,
    /// Lines of the present event before its data: they must stay with it when an event is added before it.
    pending: BytesMut,
    /// Whether the stream stands between two events.
    at_boundary: bool,
    /// The last chunk, without its choices.
    envelope: Value,
}

impl ChatStream {
    pub(crate) fn new(vault: Vault) -> Self {
        ChatStream {
            vault,
            lines: Lines::new(MAX_LINE),
            channels: BTreeMap::new(),
            pending: BytesMut::new(),
            at_boundary: true,
            envelope: json!({}),
        }
    }

    /// Takes the next bytes of the stream and returns what may leave.
    pub(crate) fn push(&mut self, chunk: Bytes) -> Bytes {
        let mut out = BytesMut::with_capacity(chunk.len());
        let mut lines = std::mem::replace(&mut self.lines, Lines::new(MAX_LINE));
        lines.push(chunk, |piece| self.piece(&piece, &mut out));
        self.lines = lines;
        out.freeze()
    }

    /// Returns what was held back, when the stream has ended.
    pub(crate) fn finish(&mut self) -> Bytes {
        let mut out = BytesMut::new();
        if let Some(piece) = self.lines.finish() {
            self.piece(&piece, &mut out);
        }
        out.extend_from_slice(&self.pending.split());
        self.flush_all(&mut out);
        out.freeze()
    }

    fn piece(&mut self, piece: &Piece, out: &mut BytesMut) {
        let line = match piece {
            Piece::Line(line) => line,
            Piece::Through(bytes) if self.pending.is_empty() => return out.extend_from_slice(bytes),
            Piece::Through(bytes) => return self.pending.extend_from_slice(bytes),
        };
        let (text, ending) = sse::split_ending(line);
        if let Some(data) = sse::data(text) {
            let restored = self.data(&line.slice_ref(data), out);
            out.extend_from_slice(&self.pending.split());
            match restored {
                Some(restored) => {
                    out.extend_from_slice(&text[..text.len() - data.len()]);
                    out.extend_from_slice(&restored);
                    out.extend_from_slice(ending);
                }
                None => out.extend_from_slice(line),
            }
            self.at_boundary = false;
        } else if text.is_empty() {
            out.extend_from_slice(&self.pending.split());
            out.extend_from_slice(line);
            self.at_boundary = true;
        } else if self.pending.is_empty() && text.starts_with(b":")
            || self.pending.len() + line.len() > MAX_LINE
        {
            // A comment is a sign of life and waits for nothing.
            out.extend_from_slice(&self.pending.split());
            out.extend_from_slice(line);
        } else {
            self.pending.extend_from_slice(line);
        }
    }

    /// Restores what a data line carries; `None` where it stays as it is. Events that must come before it are written to `out`.
    fn data(&mut self, data: &Bytes, out: &mut BytesMut) -> Option<Bytes> {
        if data.trim_ascii() == b"[DONE]" {
            self.flush_all(out);
            return None;
        }
        let document = Arc::new(restore::read(data.clone())?);
        self.remember_envelope(&document);
        let mut draft = Draft::new(document.clone());
        for (index, choice) in restore::choices(&document) {
            let delta = document.member(choice, "delta");
            let finished = has_finished(&document, choice);
            for field in Field::ALL {
                self.restore_field(&mut draft, delta, (index, field), finished, out);
            }
        }
        draft.is_dirty().then(|| draft.render())
    }

    /// Passes a field of a delta through its channel, and empties the channel when its choice finishes.
    fn restore_field(
        &mut self,
        draft: &mut Draft,
        delta: Option<NodeId>,
        channel: (usize, Field),
        finished: bool,
        out: &mut BytesMut,
    ) {
        let document = draft.document().clone();
        let leaf = delta.and_then(|delta| restore::field(&document, delta, channel.1));
        let Some(leaf) = leaf else {
            if finished {
                self.flush(channel, out);
            }
            return;
        };
        let Some(restorer) = self.restorer(channel) else { return };
        let text = leaf.text();
        let mut restored = restorer.push(text.expose());
        if finished {
            restored.push_str(&restorer.finish());
            self.channels.remove(&channel);
        }
        // Refused only for leaves that `restore::field` does not give.
        let _ = draft.set(leaf.id(), &restored, &RESTORER);
    }

    fn restorer(&mut self, channel: (usize, Field)) -> Option<&mut Restorer> {
        if self.channels.len() >= MAX_CHANNELS && !self.channels.contains_key(&channel) {
            return None;
        }
        Some(self.channels.entry(channel).or_insert_with(|| self.vault.restorer(Channel::Text)))
    }

    fn flush_all(&mut self, out: &mut BytesMut) {
        while let Some(&channel) = self.channels.keys().next() {
            self.flush(channel, out);
        }
    }

    /// Ends a channel; what it held leaves in an event of its own.
    fn flush(&mut self, (index, field): (usize, Field), out: &mut BytesMut) {
        let held =
            self.channels.remove(&(index, field)).map(|mut restorer| restorer.finish()).unwrap_or_default();
        if held.is_empty() {
            return;
        }
        let mut chunk = self.envelope.clone();
        chunk["choices"] = json!([{ "index": index, "delta": { field.key(): held }, "finish_reason": null }]);
        // Servers that end events with one newline have clients that read it so; otherwise a blank line ends the event.
        let ending = if self.at_boundary { "\n\n" } else { "\n" };
        out.extend_from_slice(format!("data: {chunk}{ending}").as_bytes());
    }

    fn remember_envelope(&mut self, chunk: &Document) {
        let mut envelope = json!({});
        for key in REPEATED {
            let Some(leaf) = chunk.member(chunk.root(), key).and_then(|node| chunk.leaf(node)) else {
                continue;
            };
            envelope[key] = match leaf.value_type() {
                ValueType::Text => Value::from(leaf.text().expose()),
                _ => serde_json::from_str(leaf.text().expose()).unwrap_or_default(),
            };
        }
        self.envelope = envelope;
    }
}

fn has_finished(chunk: &Document, choice: NodeId) -> bool {
    let reason = chunk.member(choice, "finish_reason").and_then(|node| chunk.leaf(node));
    reason.is_some_and(|leaf| leaf.value_type() == ValueType::Text)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys};
    use proptest::prelude::*;

    use super::*;

    const VALUE: &str = "ann \"a\" o'n@example.org";

    fn vault() -> (Vault, String) {
        let vault = Vault::new(TokenKeys::derive(
            &InstallationKey::from_bytes([3; 32]),
            &ClientIdentity::new("test"),
        ));
        let token = vault.tokenize("EMAIL", VALUE).unwrap().to_string();
        (vault, token)
    }

    /// One event with a delta of each given field.
    fn event(index: usize, field: &str, text: &str) -> String {
        let chunk = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1700000000, "model": "m",
            "choices": [{ "index": index, "delta": { field: text }, "finish_reason": null }],
        });
        format!("data: {chunk}\n\n")
    }

    fn finish(index: usize) -> String {
        format!(
            "data: {}\n\n",
            json!({ "id": "c1", "choices": [{ "index": index, "delta": {}, "finish_reason": "stop" }] })
        )
    }

    /// The pieces that leave for the pieces that come.
    fn through(vault: &Vault, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut stream = ChatStream::new(vault.clone());
        let mut out: Vec<_> =
            chunks.iter().map(|chunk| stream.push(Bytes::copy_from_slice(chunk)).to_vec()).collect();
        out.push(stream.finish().to_vec());
        out
    }

    fn joined(vault: &Vault, stream: &str) -> String {
        String::from_utf8(through(vault, &[stream.as_bytes()]).concat()).unwrap()
    }

    /// What a client makes of a stream: the text of each choice and field.
    fn heard(stream: &str) -> BTreeMap<(u64, String), String> {
        let mut texts = BTreeMap::new();
        for line in stream.split(['\n', '\r']) {
            let Some(data) = line.strip_prefix("data:").map(str::trim) else { continue };
            let Ok(chunk) = serde_json::from_str::<Value>(data) else { continue };
            for choice in chunk["choices"].as_array().into_iter().flatten() {
                for (field, text) in choice["delta"].as_object().into_iter().flatten() {
                    let key = (choice["index"].as_u64().unwrap(), field.clone());
                    texts.entry(key).or_insert_with(String::new).push_str(text.as_str().unwrap());
                }
            }
        }
        texts
    }

    #[test]
    fn a_token_in_pieces_comes_back() {
        let (vault, token) = vault();
        let (left, right) = token.split_at(9);
        let first = event(0, "content", &format!("Write to {left}"));
        let second = event(0, "content", &format!("{right}!"));
        let out = through(&vault, &[first.as_bytes(), second.as_bytes()]);
        assert_eq!(String::from_utf8(out[0].clone()).unwrap(), event(0, "content", "Write to "));
        assert_eq!(String::from_utf8(out[1].clone()).unwrap(), event(0, "content", &format!("{VALUE}!")));
        assert!(out[2].is_empty());
    }

    #[test]
    fn what_is_held_leaves_before_its_choice_finishes() {
        let (vault, token) = vault();
        let cut = &token[..9];
        let stream = event(0, "content", &format!("to {cut}"))
            + &event(1, "content", "other")
            + &finish(0)
            + "data: [DONE]\n\n";
        let out = joined(&vault, &stream);
        let added = json!({ "id": "c1", "choices": [{ "index": 0, "delta": { "content": cut }, "finish_reason": null }] });
        let expected = event(0, "content", "to ")
            + &event(1, "content", "other")
            + &format!("data: {added}\n\n")
            + &finish(0)
            + "data: [DONE]\n\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn what_is_held_leaves_before_the_end() {
        let (vault, token) = vault();
        let cut = &token[..9];
        let held = event(0, "content", cut);
        for end in ["", "data: [DONE]\n\n", "event: done\nid: 7\ndata: [DONE]\n\n"] {
            let out = joined(&vault, &format!("{held}{end}"));
            assert_eq!(heard(&out)[&(0, "content".to_owned())], cut);
            assert!(out.ends_with(end), "{out}");
        }
    }

    #[test]
    fn text_and_finish_in_one_event_leave_together() {
        let (vault, token) = vault();
        let chunk = |text: &str| {
            format!(
                r#"data: {{"choices":[{{"index":0,"delta":{{"content":"{text}"}},"finish_reason":"stop"}}]}}"#
            )
        };
        let cut = &token[..9];
        assert_eq!(joined(&vault, &chunk(cut)), chunk(cut));
        assert_eq!(joined(&vault, &chunk(&token)), chunk(&VALUE.replace('"', "\\\"")));
    }

    #[test]
    fn tool_arguments_keep_their_tokens() {
        let (vault, token) = vault();
        let call = json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [{ "index": 0, "function": { "arguments": token } }] } }] });
        let stream = format!("data: {call}\n\n");
        assert_eq!(joined(&vault, &stream), stream);
    }

    #[test]
    fn what_holds_no_token_leaves_at_once_and_unchanged() {
        let (vault, _) = vault();
        let lines: [&[u8]; 9] = [
            b": OPENROUTER PROCESSING\n\n",
            b"data: {\"choices\": [], \"prompt_filter_results\": []}\n\n",
            b"data: {\"choices\":[{\"index\":0, \"delta\":{\"content\":\"\\ud83d \\u0041\"}}]}\r\n\r\n",
            b"data: {\"choices\":[{\"delta\":{\"content\":\"single newline\"}}]}\n",
            b"data: no json\n",
            b"data: {\"choices\":[{\"delta\":{\"content\":7}},{\"delta\":null},3]}\n",
            b"data\n",
            b"data:\xff\n\n",
            b"data: {\"error\": {\"message\": \"overloaded\"}}\n\n",
        ];
        let out = through(&vault, &lines);
        for (line, out) in lines.iter().zip(&out) {
            // A field line waits for the data line or the end of its event; nothing else waits.
            if *line != b"data\n" && *line != b"data:\xff\n\n" {
                assert_eq!(String::from_utf8_lossy(out), String::from_utf8_lossy(line));
            }
        }
        assert_eq!(out.concat(), lines.concat());
    }

    /// Texts that hold tokens whole, cut and false, over two choices and two fields.
    fn said() -> impl Strategy<Value = Vec<(usize, bool, String)>> {
        let (_, token) = vault();
        let text = prop_oneof![
            Just(token.clone()),
            Just(format!("{token} ")),
            (0..token.len()).prop_map(move |end| token[..end].to_owned()),
            Just("EMAIL_".to_owned()),
            "[ a-zé€\\\\\"\n]{0,8}",
        ];
        prop::collection::vec((0..2usize, any::<bool>(), text), 0..12)
    }

    proptest! {
        /// Cutting the texts into events, and the stream into chunks, anywhere, changes nothing of what a client hears.
        #[test]
        fn a_stream_restores_as_its_whole_text(
            said in said(),
            fragment in 1..12usize,
            cuts in prop::collection::vec(any::<usize>(), 0..20),
            crlf in any::<bool>(),
            ends in 0..3usize,
        ) {
            let (vault, _) = vault();
            let mut whole: BTreeMap<(u64, String), String> = BTreeMap::new();
            let mut stream = String::new();
            for (index, reasoning, text) in &said {
                let field = if *reasoning { "reasoning_content" } else { "content" };
                whole.entry((*index as u64, field.to_owned())).or_default().push_str(text);
                let chars: Vec<char> = text.chars().collect();
                for fragment in chars.chunks(fragment) {
                    stream.push_str(&event(*index, field, &String::from_iter(fragment)));
                }
            }
            if ends > 0 {
                write!(stream, "{}{}", finish(0), finish(1)).unwrap();
            }
            if ends > 1 {
                stream.push_str("data: [DONE]\n\n");
            }
            if crlf {
                stream = stream.replace('\n', "\r\n");
            }
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut % (stream.len() + 1)).chain([0, stream.len()]).collect();
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|cut| &stream.as_bytes()[cut[0]..cut[1]]).collect();
            let out = String::from_utf8(through(&vault, &chunks).concat()).unwrap();
            let mut expected = whole;
            for text in expected.values_mut() {
                *text = vault.restore(text, Channel::Text).into_owned();
            }
            let mut heard = heard(&out);
            heard.retain(|_, text| !text.is_empty());
            expected.retain(|_, text| !text.is_empty());
            prop_assert_eq!(heard, expected);
        }

        /// A session without values changes no byte of any stream, proper or not.
        #[test]
        fn without_values_every_byte_passes(stream in prop::collection::vec(any::<u8>(), 0..200), cut in any::<usize>()) {
            let (vault, _) = vault();
            let cut = cut % (stream.len() + 1);
            prop_assert_eq!(through(&vault, &[&stream[..cut], &stream[cut..]]).concat(), stream);
        }
    }
}
