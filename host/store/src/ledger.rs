//! The cache ledger: how much of each turn a provider could have read from its cache, and what broke
//! the rest.
//!
//! Providers cache the beginning of a prompt: tools, then what the system says, then the messages. So
//! a turn is compared with the one before it in that order, leaf by leaf, as both left. The first
//! leaf that differs ends what they have in common. Marks that say where a cache should end are no
//! part of the prompt, and wander.

use bytes::Bytes;
use leafgate_tokenize::estimate;
use leafgate_tree::{Document, Format, Limits, Segment};
use rusqlite::params;
use serde::Serialize;

use crate::lists::{Filter, RequestLine};
use crate::log::{Log, LogError, RequestView};

/// The members of a body that make its prompt, in the order in which it is put together.
const PROMPT: &str =
    "model tools functions system systemInstruction system_instruction instructions messages input contents";

/// A turn, beside the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheLine {
    /// The request.
    pub id: i64,
    /// The turn before it in its conversation.
    pub before: i64,
    /// The conversation.
    pub session: String,
    /// When it came, in milliseconds of Unix time.
    pub at: i64,
    /// Bytes of text that both begin with.
    pub common_bytes: usize,
    /// Bytes of text of the turn before.
    pub before_bytes: usize,
    /// What ends it; `None` where this turn goes on from the whole of the one before.
    pub broken: Option<Break>,
    /// Tokens that the provider says it read.
    pub input_tokens: Option<i64>,
    /// Those of them that came from its cache.
    pub cached_tokens: Option<i64>,
}

/// Where a turn differs from the one before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Break {
    /// The display path of the first leaf that differs.
    pub path: String,
    /// Whose doing it is: `client`, `person`, the id of a rule, or `saved:` and that of a saved edit.
    pub by: String,
    /// About how many tokens of the turn before cannot be read from a cache any more.
    pub lost_tokens_estimate: usize,
}

impl Log {
    /// Returns the turns of conversations beside those before them, the newest first. Requests that
    /// clients send beside a conversation are not compared.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn ledger(&self, filter: &Filter, most: usize) -> Result<Vec<CacheLine>, LogError> {
        let mut lines = Vec::new();
        for line in self.newest_first(filter) {
            let line = line?;
            if lines.len() == most {
                break;
            }
            if line.sent.is_none() || line.class == "side" {
                continue;
            }
            let Some(earlier) = self.turn_before(&line)? else { continue };
            lines.push(compared(&self.show(earlier)?, &self.show(line.id)?));
        }
        Ok(lines)
    }

    /// Returns the turn before a request in its conversation: of the same class, and sent. What a client
    /// asks beside a turn is none.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn turn_before(&self, request: &RequestLine) -> Result<Option<i64>, LogError> {
        let RequestLine { id, session, class, .. } = request;
        let query =
            "SELECT id FROM request WHERE session = ?1 AND id < ?2 AND class = ?3 AND sent IS NOT NULL
             ORDER BY id DESC LIMIT 1";
        self.row(query, params![session, id, class], |row| row.get(0))
    }
}

fn compared(earlier: &RequestView, later: &RequestView) -> CacheLine {
    let (old, new) = (prompt(&earlier.body.0), prompt(&later.body.0));
    let common = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let bytes = |leaves: &[PromptLeaf]| leaves.iter().map(|leaf| leaf.text.len()).sum::<usize>();
    let (common_bytes, before_bytes) = (bytes(&old[..common]), bytes(&old));
    let broken = (common < old.len()).then(|| {
        let path = new.get(common).unwrap_or(&old[common]).path.clone();
        let by = whose(&path, earlier, later);
        Break { by, path, lost_tokens_estimate: estimate(before_bytes - common_bytes) }
    });
    CacheLine {
        id: later.line.id,
        before: earlier.line.id,
        session: later.line.session.clone(),
        at: later.line.at,
        common_bytes,
        before_bytes,
        broken,
        input_tokens: later.line.input_tokens,
        cached_tokens: later.line.cached_tokens,
    }
}

/// Returns who changed what stands at a path: whoever edited it, or something that holds it, in one
/// turn and not in the other alike; else the client.
fn whose(path: &str, earlier: &RequestView, later: &RequestView) -> String {
    let edits = |request: &RequestView| -> Vec<(String, String)> {
        let all = request.edits.iter().filter(|edit| holds(&edit.path, path));
        all.map(|edit| (edit.kind.to_string(), edit.rule.clone())).collect()
    };
    let (old, new) = (edits(earlier), edits(later));
    // The same redaction in both turns writes the same token, and the same policy does the same with the
    // same text: what differs there came with the request. A redaction goes by the text alone; another
    // edit may be for the latest message, and so be gone in the next turn.
    let same_policy = earlier.line.generation == later.line.generation;
    let is_steady = |edit: &&(String, String)| {
        let in_both = old.contains(edit) && new.contains(edit);
        if edit.0 == "redact" { same_policy || in_both } else { same_policy && in_both }
    };
    let by = new.iter().chain(&old).find(|edit| !is_steady(edit));
    by.map_or_else(|| "client".to_owned(), |(_, rule)| rule.clone())
}

/// Returns whether a path is another one, or leads to it.
fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// One scalar of a prompt.
#[derive(Clone, PartialEq, Eq)]
struct PromptLeaf {
    path: String,
    text: String,
}

/// Returns the leaves of a body's prompt, in the order of the prompt, without marks for caches.
fn prompt(body: &[u8]) -> Vec<PromptLeaf> {
    let body = Bytes::copy_from_slice(body);
    // What is no JSON has no prompt that could be told apart.
    let Ok(document) = Document::parse(body, Format::Generic, &Limits::default()) else { return Vec::new() };
    let place = |member| match document.segment(member)? {
        Segment::Key(key) => PROMPT.split(' ').position(|known| known == key),
        Segment::Index(_) => None,
    };
    let members = document.children(document.root());
    let mut members: Vec<_> = members.filter_map(|member| Some((place(member)?, member))).collect();
    members.sort_by_key(|(place, _)| *place);
    let leaves = members.into_iter().flat_map(|(_, member)| document.lasting_leaves(member));
    let leaf = |leaf: leafgate_tree::Leaf<'_>| PromptLeaf {
        path: document.display_path(leaf.id()),
        text: leaf.text().into_cow().into_owned(),
    };
    leaves.map(leaf).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(body: &serde_json::Value) -> Vec<String> {
        prompt(body.to_string().as_bytes()).into_iter().map(|leaf| leaf.path).collect()
    }

    #[test]
    fn a_prompt_is_read_in_its_order_without_marks() {
        let body = json!({
            "messages": [{ "role": "user", "content": [
                { "type": "text", "text": "Hi", "cache_control": { "type": "ephemeral" } }] }],
            "temperature": 1,
            "tools": [{ "name": "read" }],
            "system": "Be brief",
        });
        let expected = [
            "tools[0].name",
            "system",
            "messages[0].content[0].text",
            "messages[0].content[0].type",
            "messages[0].role",
        ];
        assert_eq!(paths(&body), expected);
    }

    #[test]
    fn the_order_of_members_counts() {
        let (old, new) = (prompt(br#"{"tools":[{"a":1,"b":2}]}"#), prompt(br#"{"tools":[{"b":2,"a":1}]}"#));
        assert!(old != new);
    }
}
