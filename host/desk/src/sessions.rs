//! The conversations that a desk has seen: newest first, one of them active.
//!
//! Only main requests make or renew one. The active one is what a person looks at. With auto-follow
//! it is always the newest; a conversation that was selected by hand stays, and then modes pause
//! requests of that one alone.

use std::sync::Arc;
use std::time::Duration;

use hashlink::LinkedHashMap;
use leafgate_admin::{SessionView, ShownText, TurnClass};

use crate::identity::{ModelKey, Title};
use crate::tick::Tick;

/// A request as it comes, before anything is decided about it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its session's key.
    pub session: Arc<str>,
    /// What kind of request it is.
    pub class: TurnClass,
    /// The model that it asks, where its path or its body says so.
    pub model: Option<ModelKey>,
    /// How its conversation is called.
    pub title: Title,
}

/// The conversations.
#[derive(Debug)]
pub(crate) struct SessionTable {
    /// By when they last asked; the newest one is the last. To renew or to forget one costs the same among many: each request does.
    known: LinkedHashMap<Arc<str>, KnownSession>,
    pub(crate) active: Option<Arc<str>>,
    pub(crate) follows: bool,
}

#[derive(Debug)]
struct KnownSession {
    title: Title,
    requests: u64,
    last: Tick,
    words: Option<ShownText>,
}

impl Default for SessionTable {
    fn default() -> Self {
        SessionTable { known: LinkedHashMap::new(), active: None, follows: true }
    }
}

impl SessionTable {
    /// A main request has come. Returns whether its conversation became the active one.
    pub(crate) fn renew(&mut self, request: &Request, now: Tick) -> bool {
        let before = self.known.remove(&request.session);
        let (requests, words) = before.map_or((0, None), |known| (known.requests, known.words));
        let title = request.title.clone();
        let session = KnownSession { title, requests: requests + 1, last: now, words };
        self.known.insert(Arc::clone(&request.session), session);
        self.follows && self.activate(&request.session)
    }

    /// The user said this in a conversation, as it would leave.
    pub(crate) fn say(&mut self, session: &str, words: ShownText) {
        if let Some(known) = self.known.get_mut(session) {
            known.words = Some(words);
        }
    }

    /// Makes a conversation the active one, and stays with it. Returns whether it is known.
    pub(crate) fn select(&mut self, session: &str) -> bool {
        let Some((session, _)) = self.known.get_key_value(session) else { return false };
        let session = Arc::clone(session);
        self.follows = false;
        self.activate(&session);
        true
    }

    /// Has the newest conversation be the active one from now on, or stays with the present one.
    pub(crate) fn follow(&mut self, follows: bool) {
        self.follows = follows;
        if follows {
            self.active = self.newest();
        }
    }

    /// Forgets a conversation. Returns whether it was known.
    pub(crate) fn forget(&mut self, session: &str) -> bool {
        if self.known.remove(session).is_none() {
            return false;
        }
        if self.active.as_deref() == Some(session) {
            self.active = if self.follows { self.newest() } else { None };
        }
        true
    }

    /// Forgets conversations that were silent for too long, and the oldest of too many. The newest
    /// one stays, and so does one that is active or has turns. Returns whether the active one changed.
    pub(crate) fn tidy(
        &mut self,
        now: Tick,
        ttl: Duration,
        most: usize,
        has_turns: impl Fn(&str) -> bool,
    ) -> bool {
        let before = self.active.clone();
        let mut surplus = self.known.len().saturating_sub(most);
        let newest = self.newest();
        let mut gone = Vec::new();
        for (session, known) in &self.known {
            let stale = known.last.after(ttl) <= now;
            if surplus == 0 && !stale {
                break;
            }
            let is_kept = [&self.active, &newest].iter().any(|kept| kept.as_ref() == Some(session));
            if !has_turns(session) && (stale || !is_kept) {
                surplus = surplus.saturating_sub(1);
                gone.push(Arc::clone(session));
            }
        }
        for session in gone {
            self.forget(&session);
        }
        before != self.active
    }

    /// Whether modes pause what this conversation asks: nothing was selected by hand, or this was.
    pub(crate) fn is_watched(&self, session: &str) -> bool {
        self.follows || self.active.as_deref().is_none_or(|active| active == session)
    }

    /// All of them, newest first.
    pub(crate) fn list(&self, now: Tick) -> impl Iterator<Item = SessionView> {
        self.known.iter().rev().map(move |(session, known)| SessionView {
            id: session.to_string(),
            label: known.title.label(session),
            words: known.words.clone(),
            active: self.active.as_ref() == Some(session),
            requests: known.requests,
            pending: 0,
            silent_ms: known.last.millis_until(now),
        })
    }

    pub(crate) fn contains(&self, session: &str) -> bool {
        self.known.contains_key(session)
    }

    pub(crate) fn label(&self, session: &str) -> Option<String> {
        self.known.get(session).map(|known| known.title.label(session))
    }

    fn newest(&self) -> Option<Arc<str>> {
        self.known.back().map(|(session, _)| Arc::clone(session))
    }

    fn activate(&mut self, session: &Arc<str>) -> bool {
        let changes = self.active.as_ref() != Some(session);
        if changes {
            self.active = Some(Arc::clone(session));
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const TTL: Duration = Duration::from_secs(60);

    fn at(seconds: u64) -> Tick {
        Tick::from_millis(seconds * 1000)
    }

    fn asks(session: &str) -> Request {
        Request {
            session: session.into(),
            class: TurnClass::Main,
            model: None,
            title: Title { location: "chat".into(), name: "test".into() },
        }
    }

    fn listed(sessions: &SessionTable) -> Vec<String> {
        sessions
            .list(Tick::default())
            .map(|line| format!("{}{}", line.id, if line.active { "*" } else { "" }))
            .collect()
    }

    // S0-90
    #[test]
    fn the_newest_is_first_and_followed_until_one_is_selected() {
        let mut sessions = SessionTable::default();
        for (second, session) in ["a", "b", "c", "a"].into_iter().enumerate() {
            sessions.renew(&asks(session), at(second as u64));
        }
        assert_eq!(listed(&sessions), ["a*", "c", "b"]);
        assert!(!sessions.renew(&asks("a"), at(5)), "it was active before");
        assert!(sessions.select("b") && !sessions.select("x"));
        assert!(!sessions.follows);
        assert!(!sessions.renew(&asks("d"), at(6)));
        assert_eq!(listed(&sessions), ["d", "a", "c", "b*"]);
        assert!(sessions.is_watched("b") && !sessions.is_watched("d"));
        sessions.follow(true);
        assert_eq!(listed(&sessions), ["d*", "a", "c", "b"]);
        assert!(sessions.is_watched("b") && sessions.is_watched("d"));
    }

    #[test]
    fn what_follows_a_conversation_that_is_gone() {
        let mut sessions = SessionTable::default();
        for session in ["a", "b"] {
            sessions.renew(&asks(session), at(0));
        }
        assert!(sessions.forget("b") && !sessions.forget("b"));
        assert_eq!(listed(&sessions), ["a*"], "the newest that is left");
        sessions.select("a");
        sessions.forget("a");
        assert_eq!(sessions.active, None);
        assert!(sessions.is_watched("c"), "where none is selected, all are watched");
    }

    #[test]
    fn silent_ones_and_too_many_are_forgotten_but_none_in_use() {
        let mut sessions = SessionTable::default();
        for (second, session) in ["a", "b", "c", "d", "e"].into_iter().enumerate() {
            sessions.renew(&asks(session), at(second as u64));
        }
        sessions.select("b");
        assert!(!sessions.tidy(at(5), TTL, 3, |session| session == "a"));
        assert_eq!(listed(&sessions), ["e", "b*", "a"], "one is active, one has a turn");
        assert!(!sessions.tidy(at(5), TTL, 3, |_| false));
        assert_eq!(sessions.list(Tick::default()).count(), 3);
        assert!(sessions.tidy(at(61), TTL, 3, |_| false), "an active one that is silent goes too");
        assert_eq!(listed(&sessions), ["e"]);
        sessions.tidy(at(64), TTL, 3, |_| false);
        assert_eq!(sessions.list(Tick::default()).count(), 0);
    }

    #[test]
    fn a_request_costs_the_same_among_many_conversations() {
        let fastest = |kept: usize| {
            let sessions: Vec<_> = (0..kept).map(|number| asks(&format!("conversation {number}"))).collect();
            let mut table = SessionTable::default();
            let mut next = sessions.iter().cycle();
            let mut ask = || {
                table.renew(next.next().expect("it never ends"), at(0));
                table.tidy(at(0), TTL, kept, |_| false);
            };
            (0..kept).for_each(|_| ask());
            let rounds = (0..20).map(|_| {
                let start = Instant::now();
                (0..50).for_each(|_| ask());
                start.elapsed()
            });
            rounds.min().unwrap_or_default()
        };
        let (few, many) = (fastest(10), fastest(20_000));
        assert!(many < few * 20, "{many:?} among 20,000, {few:?} among 10");
    }
}
