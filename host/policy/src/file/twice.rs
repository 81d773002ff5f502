//! Exceptions for what another one allows as well: one of the two is forgotten when the other is mended.

use std::collections::HashMap;
use std::ops::Range;

use leafgate_diagnostic::{Complaints, Diagnostics};
use toml::Spanned;

use super::raw::{RawException, words_of};
use super::useless::MAX_COMPARED;
use crate::exception::{Allowed, Exception};

/// An exception that is in force, and how it is written.
pub(crate) struct Written<'r> {
    pub(crate) file: usize,
    pub(crate) raw: &'r Spanned<RawException>,
    pub(crate) exception: Exception,
}

/// One thing that an exception allows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Item<'e> {
    Value(&'e str),
    Finding(&'e str),
    Pattern(&'e str),
    Anything,
}

impl Item<'_> {
    /// Whether an exception allows it without spelling it.
    fn is_one_of(self, allowed: &Allowed) -> bool {
        match self {
            Item::Value(value) => allowed.allows_text(value),
            Item::Finding(_) | Item::Pattern(_) => allowed.is_anything(),
            Item::Anything => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Item::Value(_) => "`value`",
            Item::Finding(_) => "`finding`",
            Item::Pattern(_) => "`pattern`",
            Item::Anything => "place",
        }
    }
}

/// Warns of each thing that is allowed twice: by two exceptions of which one holds wherever, for whatever
/// rules and as long as the other. Of two that say the same, the later one is named.
pub(crate) fn warn(all: &[Written<'_>], diagnostics: &mut Diagnostics) {
    let mut by_item: HashMap<Item<'_>, Vec<usize>> = HashMap::new();
    // Those that allow what they do not spell.
    let mut wide = Vec::new();
    for (at, written) in all.iter().enumerate() {
        for (item, _) in written.items() {
            by_item.entry(item).or_default().push(at);
        }
        let allowed = &written.exception.allowed;
        if (allowed.pattern.is_some() || allowed.is_anything()) && wide.len() < MAX_COMPARED {
            wide.push(at);
        }
    }
    for (at, written) in all.iter().enumerate() {
        let this = &written.exception;
        let holds = |other: usize| other != at && all[other].exception.holds_where(this);
        for (item, span) in written.items() {
            let says_it =
                |&&other: &&usize| holds(other) && (other < at || !this.holds_where(&all[other].exception));
            let allows_it = |&&other: &&usize| holds(other) && item.is_one_of(&all[other].exception.allowed);
            let same = by_item[&item].iter().take(MAX_COMPARED).find(says_it);
            if let Some(&other) = same.or_else(|| wide.iter().find(allows_it)) {
                let first = &all[other].exception.origin;
                let message = format!("the exception at {first} allows this {} too", item.name());
                let hint =
                    "leave it out here, or mend the other one, which holds wherever and as long as this one";
                Complaints { file: written.file, diagnostics: &mut *diagnostics }
                    .warning(span, message, hint);
            }
        }
    }
}

impl Written<'_> {
    /// Returns what it allows, each with its place.
    fn items(&self) -> Vec<(Item<'_>, Range<usize>)> {
        let RawException { value, finding, pattern, matches, .. } = self.raw.get_ref();
        let mut items = Vec::new();
        items.extend(words_of(value).into_iter().map(|(value, span)| (Item::Value(value), span)));
        items.extend(words_of(finding).into_iter().map(|(token, span)| (Item::Finding(token), span)));
        items.extend(pattern.iter().map(|pattern| (Item::Pattern(pattern.get_ref()), pattern.span())));
        if items.is_empty() {
            let span = matches.as_ref().map_or(self.raw.span(), Spanned::span);
            items.push((Item::Anything, span));
        }
        items
    }
}
