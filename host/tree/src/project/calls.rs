//! The calls made so far by their ids, for the results that follow.

use std::collections::HashMap;
use std::hash::Hash;

/// What is known of calls, by id.
///
/// A result is of the last call before it that has its id. While several calls with one id wait, nobody
/// knows which of them a result is of: that of neither.
pub(crate) struct CallsById<K, T> {
    calls: HashMap<K, NamedCall<T>>,
}

struct NamedCall<T> {
    /// `None` where several wait that differ.
    what: Option<T>,
    has_result: bool,
}

impl<K, T> Default for CallsById<K, T> {
    fn default() -> Self {
        CallsById { calls: HashMap::new() }
    }
}

impl<K: Eq + Hash, T: Clone + PartialEq> CallsById<K, T> {
    pub(crate) fn call(&mut self, id: K, what: T) {
        let now = NamedCall { what: Some(what), has_result: false };
        match self.calls.get_mut(&id) {
            Some(before) if !before.has_result && before.what != now.what => before.what = None,
            Some(before) => *before = now,
            None => _ = self.calls.insert(id, now),
        }
    }

    /// Returns what is known of the call that a result is of; `None` where that is not certain.
    pub(crate) fn result_of<Q: Eq + Hash + ?Sized>(&mut self, id: &Q) -> Option<T>
    where
        K: std::borrow::Borrow<Q>,
    {
        let call = self.calls.get_mut(id)?;
        call.has_result = true;
        call.what.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_of_the_last_call_with_its_id_unless_several_wait() {
        let mut calls = CallsById::default();
        calls.call("1", "Read");
        calls.call("1", "Read");
        assert_eq!(calls.result_of("1"), Some("Read"));
        calls.call("1", "Bash");
        assert_eq!((calls.result_of("1"), calls.result_of("1")), (Some("Bash"), Some("Bash")));
        calls.call("1", "Read");
        calls.call("1", "Bash");
        calls.call("1", "Read");
        assert_eq!((calls.result_of("1"), calls.result_of("1")), (None, None));
        calls.call("1", "Read");
        assert_eq!((calls.result_of("1"), calls.result_of("2")), (Some("Read"), None));
    }
}
