//! What is known of a response, for the request that goes on from it: a conversation that the server
//! keeps has neither the tools that were offered nor the calls of a result in its next request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leafgate_policy::Offered;
use leafgate_tree::{CallBefore, Document};

/// Bytes that are remembered of the calls of one response: hundreds of ids, tools and names of files.
const MOST: usize = 64 * 1024;

/// What remembering one word takes beside its bytes.
const ENTRY: usize = 64;

/// What is known of one response.
#[derive(Default)]
pub(crate) struct PriorResponse {
    /// The tools that its request offered, or those before it did.
    pub(crate) offered: Offered,
    calls: Mutex<KnownCalls>,
}

/// What is known of calls, by their ids; `None` where two have one id.
#[derive(Default)]
struct KnownCalls {
    tools: Words,
    /// The names of the files that they read.
    files: Words,
    taken: usize,
}

type Words = BTreeMap<String, Option<Arc<str>>>;

impl PriorResponse {
    /// Of the response to a request, which goes on from what is known of another one.
    pub(super) fn to(request: &Document, before: Option<&PriorResponse>) -> Self {
        let mut offered = Offered::of(request);
        if let Some(before) = before {
            offered.extend(&before.offered);
        }
        PriorResponse { offered, calls: Mutex::default() }
    }

    /// A call of it has this id.
    pub(crate) fn called(&self, id: &str, tool: &str) {
        if !id.is_empty() && !tool.is_empty() {
            let KnownCalls { tools, taken, .. } = &mut *self.calls();
            note(tools, taken, id, Some(tool));
        }
    }

    /// The call of this id reads this file; `None` where that is not certain.
    pub(crate) fn reads(&self, id: &str, file: Option<&str>) {
        let KnownCalls { files, taken, .. } = &mut *self.calls();
        note(files, taken, id, file);
    }

    /// Nobody knows what it called.
    pub(crate) fn doubt(&self) {
        *self.calls() = KnownCalls { taken: MOST, ..KnownCalls::default() };
    }

    /// Returns what is known of a call; `None` where that is not certain.
    pub(crate) fn call(&self, id: &str) -> Option<CallBefore> {
        let calls = self.calls();
        let tool = calls.tools.get(id).cloned().flatten()?;
        Some(CallBefore { tool, file: calls.files.get(id).cloned().flatten() })
    }

    /// A panic while the lock is held leaves whole maps behind.
    fn calls(&self) -> MutexGuard<'_, KnownCalls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Remembers a word of a call, as far as there is room.
fn note(words: &mut Words, taken: &mut usize, id: &str, word: Option<&str>) {
    if let Some(known) = words.get_mut(id) {
        if known.as_deref() != word {
            *known = None;
        }
        return;
    }
    let takes = ENTRY + id.len() + word.map_or(0, str::len);
    if *taken + takes <= MOST {
        *taken += takes;
        words.insert(id.to_owned(), word.map(Into::into));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_calls_of_one_id_are_none() {
        let behind = PriorResponse::default();
        behind.called("a", "read_file");
        assert!(behind.call("a").is_some_and(|call| &*call.tool == "read_file" && call.file.is_none()));
        for _ in 0..2 {
            behind.called("a", "read_file");
            behind.reads("a", Some("/w/.env"));
            assert_eq!(behind.call("a").unwrap().file.as_deref(), Some("/w/.env"));
        }
        behind.reads("a", Some("/w/b"));
        assert!(behind.call("a").unwrap().file.is_none());
        behind.reads("a", Some("/w/.env"));
        behind.called("a", "Bash");
        assert!(behind.call("a").is_none());
        for (first, then) in [(None, Some("/w/.env")), (Some("/w/.env"), None)] {
            let behind = PriorResponse::default();
            behind.called("a", "read_file");
            [first, then].into_iter().for_each(|file| behind.reads("a", file));
            assert!(behind.call("a").unwrap().file.is_none(), "{first:?}");
        }
        behind.called("b", "read_file");
        behind.doubt();
        behind.called("c", "read_file");
        assert!(behind.call("b").is_none() && behind.call("c").is_none());
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let behind = PriorResponse::default();
        let name = "x".repeat(1_000);
        for id in 0..1_000 {
            behind.called(&id.to_string(), &name);
            behind.reads(&id.to_string(), Some(&name));
        }
        let calls = behind.calls();
        let all = calls.tools.values().chain(calls.files.values());
        let kept: usize = all.map(|word| word.as_ref().map_or(0, |word| word.len())).sum();
        assert!((MOST / 2..=MOST).contains(&kept), "{kept}");
    }
}
