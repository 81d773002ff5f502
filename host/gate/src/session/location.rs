//! Where in its client a conversation takes place: a panel, an editor, a terminal.
//!
//! A client may have conversations in several of these under one name, or with the same beginning.
//! Each is one of its own, so the location is a part of its key.

use http::HeaderMap;

/// The headers in which VS Code says where a person asks. The second one names agents and work
/// beside a conversation too.
const INTENTS: [&str; 2] = ["openai-intent", "x-interaction-type"];

/// VS Code's words for locations, and ours.
const LOCATIONS: [(&str, Location); 7] = [
    ("conversation-panel", Location("panel")),
    ("conversation-agent", Location("agent")),
    ("conversation-inline", Location("editor")),
    ("conversation-edits", Location("editing session")),
    ("conversation-notebook", Location("notebook")),
    ("conversation-terminal", Location("terminal")),
    ("conversation-other", Location("other")),
];

/// Where a conversation takes place, as far as its client says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Location(&'static str);

impl Location {
    /// Reads the location that a request's header names.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Location> {
        let said = INTENTS.iter().filter_map(|name| headers.get(*name)?.to_str().ok());
        said.filter_map(named).next()
    }

    /// Returns our word for it.
    pub(crate) fn name(self) -> &'static str {
        self.0
    }
}

fn named(intent: &str) -> Option<Location> {
    LOCATIONS.iter().find(|(word, _)| *word == intent).map(|(_, location)| *location)
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn a_location_is_what_either_header_says() {
        let of = |fields: &[(&'static str, &'static str)]| {
            let field = |(name, value): &(&'static str, &'static str)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            };
            Location::of(&fields.iter().map(field).collect()).map(Location::name)
        };
        assert_eq!(of(&[("openai-intent", "conversation-inline")]), Some("editor"));
        assert_eq!(of(&[("x-interaction-type", "conversation-terminal")]), Some("terminal"));
        let subagent =
            [("openai-intent", "conversation-agent"), ("x-interaction-type", "conversation-subagent")];
        assert_eq!(of(&subagent), Some("agent"));
        for nowhere in
            [&[][..], &[("openai-intent", "")], &[("x-interaction-type", "conversation-background")]]
        {
            assert_eq!(of(nowhere), None, "{nowhere:?}");
        }
    }
}
