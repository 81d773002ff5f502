//! Keys of members, each searched once however often a request spells it.

use std::borrow::Cow;
use std::collections::HashSet;

use super::known::Known;
use super::search::{Rules, Search};
use super::site::Site;
use super::subject::Subject;
use crate::index::RuleIndex;
use crate::rule::Redact;

impl<'s, 'p> Search<'s, 'p> {
    /// Searches every distinct key once, on behalf of all rules: which of them look at a member is
    /// asked where something was found. A plugin costs time and may fail, so that it is asked about
    /// a key only where its rule looks at a member of that name.
    pub(super) fn keys(&mut self, rules: &Rules<'p>, known: &Known<'p>) {
        let run = self.run;
        let all = || known.keys().filter_map(|member| run.document.key(member));
        let mut asked: HashSet<(RuleIndex, Cow<'s, str>)> = HashSet::new();
        for &(index, _) in rules.iter().filter(|(_, redact)| !redact.plugins.is_empty()) {
            let Some(active) = run.active[index.get()].as_ref() else { continue };
            let keys = all().filter(|key| active.selection.selects_key(run.document, key));
            asked.extend(keys.map(|key| (index, key.text.into_cow())));
        }
        let mut seen: HashSet<Cow<'s, str>> = HashSet::new();
        let mut recent = Recent::default();
        for key in all() {
            let text = key.text.into_cow();
            if recent.is_known(text.clone()) || !seen.insert(text.clone()) {
                continue;
            }
            let asks = |(index, redact): &&(RuleIndex, &Redact)| {
                redact.plugins.is_empty() || asked.contains(&(*index, text.clone()))
            };
            let asking: Rules<'p> = rules.iter().filter(asks).copied().collect();
            self.text(&asking, Subject::new(Site::Key(key.node), text.clone()));
        }
    }
}

/// Keys that were met a moment ago: a request spells the same few thousands of times, and hashing
/// each costs more than scanning it.
struct Recent<'d>([Option<Cow<'d, str>>; 64]);

impl Default for Recent<'_> {
    fn default() -> Self {
        Recent([const { None }; 64])
    }
}

impl<'d> Recent<'d> {
    /// Whether it was the last key of its kind; it is from now on.
    fn is_known(&mut self, key: Cow<'d, str>) -> bool {
        let bytes = key.as_bytes();
        let (first, last) = (bytes.first().unwrap_or(&0), bytes.last().unwrap_or(&0));
        let place = (usize::from(*first) + usize::from(*last) * 7 + bytes.len() * 31) % self.0.len();
        let known = self.0[place].as_ref() == Some(&key);
        if !known {
            self.0[place] = Some(key);
        }
        known
    }
}
