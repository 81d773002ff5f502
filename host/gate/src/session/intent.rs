//! What VS Code and Copilot CLI say they ask for: in a panel, an editor, a terminal; or beside a
//! conversation.
//!
//! A client may have conversations in several of these under one name, or with the same beginning.
//! Each is one of its own, so the location is a part of its key.
//!
//! What else VS Code sends names less than it seems to. `VScode-SessionId` names a window, in which
//! many conversations may be. `X-Interaction-Id` names what was asked last in that window, whichever
//! of them goes on asking, and `X-Agent-Task-Id` repeats the number of one request. So none of these
//! is the name of a conversation.

use http::HeaderMap;
use leafgate_desk::TurnClass;

/// The headers in which they say what they ask for. The first one is the more telling: it names
/// agents and work beside a conversation, where the other says where a person is.
const INTERACTION: &str = "x-interaction-type";
const INTENT: &str = "openai-intent";

/// Their words for what they ask, and ours for the location that these name.
const INTENTS: [Intent; 14] = [
    Intent { word: "conversation-panel", location: Some("panel") },
    Intent { word: "conversation-agent", location: Some("agent") },
    Intent { word: "conversation-inline", location: Some("editor") },
    Intent { word: "conversation-edits", location: Some("editing session") },
    Intent { word: "conversation-notebook", location: Some("notebook") },
    Intent { word: "conversation-terminal", location: Some("terminal") },
    Intent { word: "conversation-other", location: Some("other") },
    Intent { word: "responses-proxy", location: Some("responses proxy") },
    Intent { word: "messages-proxy", location: Some("messages proxy") },
    Intent { word: "conversation-user", location: None },
    Intent { word: "conversation-subagent", location: None },
    Intent { word: "conversation-sampling", location: None },
    Intent { word: "conversation-background", location: None },
    Intent { word: "conversation-compaction", location: None },
];

/// All words for a location that a person may read, those included that no client says.
pub(crate) fn locations() -> impl Iterator<Item = &'static str> {
    ["chat", "request"].into_iter().chain(INTENTS.into_iter().filter_map(|intent| intent.location))
}

/// What a request is for, as its client says: one of the words above, and never a text of the
/// header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Intent {
    /// The client's word for it.
    pub(crate) word: &'static str,
    /// Our word for where the conversation takes place, as far as that word says so.
    location: Option<&'static str>,
}

impl Intent {
    /// Reads the intent that a request's header names.
    pub(crate) fn of(headers: &HeaderMap) -> Option<Intent> {
        [INTERACTION, INTENT].into_iter().find_map(|header| Intent::said(headers, header))
    }

    /// Reads the location that a request's header names.
    pub(crate) fn location(headers: &HeaderMap) -> Option<&'static str> {
        [INTENT, INTERACTION].into_iter().find_map(|header| Intent::said(headers, header)?.location)
    }

    fn said(headers: &HeaderMap, header: &str) -> Option<Intent> {
        Intent::named(headers.get(header)?.to_str().ok()?)
    }

    /// Reads it off the name of a conversation, where that is one.
    pub(crate) fn named(name: &str) -> Option<Intent> {
        INTENTS.into_iter().find(|intent| intent.word == name)
    }

    /// Returns whose request it is, where the word says that. A server of tools that samples a model
    /// works for the conversation as an agent does. What is asked elsewhere than in a conversation is
    /// an extension's, where a person began it; else VS Code suggests edits, makes those that a model
    /// described, or mends them.
    pub(crate) fn class(self, by_person: bool) -> Option<TurnClass> {
        match self.word {
            "conversation-subagent" | "conversation-sampling" => Some(TurnClass::Subagent),
            "conversation-background" | "conversation-compaction" => Some(TurnClass::Side),
            "conversation-other" | "conversation-edits" if !by_person => Some(TurnClass::Side),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        fields.iter().map(field).collect()
    }

    // S0-08
    #[test]
    fn a_location_is_what_either_header_says() {
        let of = |fields: &[(&'static str, &'static str)]| Intent::location(&headers(fields));
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

    // S0-87, S0-130
    #[test]
    fn an_intent_is_the_more_telling_word_and_never_a_text_of_the_header() {
        let of =
            |fields: &[(&'static str, &'static str)]| Intent::of(&headers(fields)).map(|intent| intent.word);
        assert_eq!(of(&[("openai-intent", "conversation-agent")]), Some("conversation-agent"));
        let title =
            [("openai-intent", "conversation-panel"), ("x-interaction-type", "conversation-background")];
        assert_eq!(of(&title), Some("conversation-background"));
        let odd = [("openai-intent", "conversation-panel"), ("x-interaction-type", "mine")];
        assert_eq!(of(&odd), Some("conversation-panel"));
        assert_eq!(of(&[("x-interaction-type", "mine")]), None);
    }
}
