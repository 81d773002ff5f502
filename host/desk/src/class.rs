//! Who asks: a person's conversation, an agent that works for it, or the client program itself.

use std::fmt;

/// What kind of request it is, as far as the gate can tell.
///
/// Modes pause main requests only, and only these make a conversation newer, change its model or
/// take another's place. Rules pause any class; the other two never wait behind a person's turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Class {
    /// A turn of the conversation that a person sees.
    #[default]
    Main,
    /// A turn of an agent that another one started.
    Subagent,
    /// What a client asks for itself: a title, its quota, a count of tokens.
    Side,
}

impl Class {
    /// Returns its word in APIs and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Main => "main",
            Class::Subagent => "subagent",
            Class::Side => "side",
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
