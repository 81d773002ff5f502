//! Which requests a mode may pause, of those that it would: a list of paths and locations.

use std::str::FromStr;

use crate::path::PathPattern;
use crate::session::locations;

/// An entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterceptPattern {
    /// As it was written.
    text: Box<str>,
    leaves_out: bool,
    /// `None` for a location.
    paths: Option<PathPattern>,
}

/// A text that is no such entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`intercept` names paths, each of which begins with `/` and may have a `*` at its end, or locations ({}); `!` before either leaves it out",
    locations().collect::<Vec<_>>().join(", ")
)]
pub struct InterceptPatternError;

impl FromStr for InterceptPattern {
    type Err = InterceptPatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let name = text.strip_prefix('!').unwrap_or(text);
        let paths: Option<PathPattern> = name.parse().ok();
        if paths.is_none() && !locations().any(|location| location == name) {
            return Err(InterceptPatternError);
        }
        Ok(InterceptPattern { text: text.into(), leaves_out: name.len() < text.len(), paths })
    }
}

impl InterceptPattern {
    fn is(&self, path: &str, location: &str) -> bool {
        match &self.paths {
            Some(pattern) => pattern.is(path),
            None => self.text.trim_start_matches('!') == location,
        }
    }

    /// Whether it names this very path, and no others.
    fn is_exactly(&self, path: &str) -> bool {
        self.paths.as_ref().is_some_and(|pattern| !pattern.with_rest && pattern.is(path))
    }
}

/// What the list says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interception {
    /// A mode pauses it, whatever is asked there: somebody named its path.
    Named,
    /// A mode pauses it where it is a person's turn.
    Open,
    /// No mode pauses it.
    LeftOut,
}

/// Returns what a list says about a request.
pub(crate) fn interception(list: &[InterceptPattern], path: &str, location: &str) -> Interception {
    let (out, named): (Vec<_>, Vec<_>) = list.iter().partition(|pattern| pattern.leaves_out);
    let hits = |pattern: &&&InterceptPattern| pattern.is(path, location);
    if out.iter().any(|pattern| hits(&pattern)) || !(named.is_empty() || named.iter().any(|it| hits(&it))) {
        return Interception::LeftOut;
    }
    match named.iter().any(|pattern| pattern.is_exactly(path)) {
        true => Interception::Named,
        false => Interception::Open,
    }
}

/// Returns what is to be said behind which turns pause; nothing where the list is empty.
pub(crate) fn told(list: &[InterceptPattern]) -> Option<Box<str>> {
    let words: Vec<_> = list.iter().map(|pattern| &*pattern.text).collect();
    let named = || format!(" Of these only what `intercept` names waits: {}.", words.join(", ")).into();
    (!words.is_empty()).then(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(list: &[&str], path: &str, location: &str) -> Interception {
        let list: Vec<InterceptPattern> = list.iter().map(|text| text.parse().unwrap()).collect();
        interception(&list, path, location)
    }

    // S0-14
    #[test]
    fn paths_and_locations_are_named_or_left_out() {
        use Interception::{LeftOut, Named, Open};
        for (list, path, location, said) in [
            (&[][..], "/v1/messages", "editor", Open),
            (&["!editor"], "/v1/messages", "editor", LeftOut),
            (&["!editor"], "/v1/messages", "panel", Open),
            (&["panel"], "/v1/messages", "editor", LeftOut),
            (&["panel", "/v1/responses"], "/v1/messages", "panel", Open),
            (&["/v1/completions"], "/v1/completions", "request", Named),
            (&["/v1/*"], "/v1/completions", "request", Open),
            (&["/v1/*", "!/v1/completions"], "/v1/completions", "request", LeftOut),
            (&["editing session"], "/v1/messages", "editing session", Open),
        ] {
            assert_eq!(says(list, path, location), said, "{list:?} {path} {location}");
        }
        for wrong in ["", "!", "v1", "Panel", "inline", "!!panel", "/v1?x"] {
            assert_eq!(wrong.parse::<InterceptPattern>(), Err(InterceptPatternError), "{wrong}");
        }
    }
}
