//! What an answer says that a reply has no place for.

use std::fmt;

/// Losses that are kept for one answer; the rest is counted.
const MAX_KEPT: usize = 64;

/// One thing that did not get across.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// What it is.
    pub lost: Lost,
    /// Where: an RFC 6901 pointer into the whole answer, made of the API's own members and of
    /// indices. What stands below a member that is not known is named by the member that holds it,
    /// so no word of an upstream gets in here.
    pub at: String,
}

/// What got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// A part of a stream that is no JSON, or JSON that is no event. A client may read it in its own
    /// way: whoever decides by what was read must not go on as if it were not there.
    Unread,
    /// A character that is none, which became U+FFFD.
    Character,
    /// An event of a type that is not known.
    Event,
    /// A text that a stream repeats differently than it said it before.
    Contradiction,
    /// A further choice or candidate.
    Choice,
    /// The order of reasoning, content and calls, or the border between two texts.
    Order,
    /// What only the provider can read: signatures, encrypted reasoning.
    Sealed,
    /// A call that the provider ran itself, or its result.
    ServerTool,
    /// A citation or annotation.
    Citation,
    /// Probabilities of tokens.
    Probabilities,
    /// An image, audio or video.
    Media,
    /// A part of a type that is not known.
    Part,
    /// Another way to say the same, such as `function_call`.
    Form,
    /// Arguments that the other API cannot carry.
    Arguments,
    /// A finer reason for the end.
    Finish,
    /// A finer count of tokens.
    Usage,
    /// A setting of the request, which the answer repeats.
    Setting,
    /// Any further member.
    Member,
}

impl Lost {
    /// What it is, in words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Lost::Unread => "a part of the stream that is no event",
            Lost::Character => "a broken character",
            Lost::Event => "an event of an unknown type",
            Lost::Contradiction => "a text that was repeated differently",
            Lost::Choice => "a further choice",
            Lost::Order => "the order of what was said",
            Lost::Sealed => "a signature or encrypted reasoning",
            Lost::ServerTool => "a tool that the provider ran itself",
            Lost::Citation => "citations",
            Lost::Probabilities => "probabilities of tokens",
            Lost::Media => "an image, audio or video",
            Lost::Part => "a part of an unknown type",
            Lost::Form => "another form of the same",
            Lost::Arguments => "arguments that are no JSON object",
            Lost::Finish => "the finer reason for the end",
            Lost::Usage => "a finer count of tokens",
            Lost::Setting => "a setting of the request",
            Lost::Member => "a member without a place in a reply",
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.at, self.lost.words())
    }
}

/// Losses in the order in which they were found, each place once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    kept: Vec<Loss>,
    beyond: usize,
}

impl Losses {
    /// Those that are kept.
    pub fn iter(&self) -> impl Iterator<Item = &Loss> {
        self.kept.iter()
    }

    /// How many there are beyond those that are kept.
    #[must_use]
    pub fn beyond(&self) -> usize {
        self.beyond
    }

    /// Whether nothing got lost.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether something of this kind got lost.
    #[must_use]
    pub fn has(&self, lost: Lost) -> bool {
        self.kept.iter().any(|loss| loss.lost == lost)
    }

    pub(crate) fn add(&mut self, lost: Lost, at: impl Into<String>) {
        let loss = Loss { lost, at: at.into() };
        if self.kept.contains(&loss) {
            return;
        }
        // A kind that no other loss shows yet is worth more than one more place.
        if self.kept.len() < MAX_KEPT || !self.has(lost) {
            self.kept.push(loss);
        } else {
            self.beyond += 1;
        }
    }
}
