//! Names of agents.

use std::sync::Arc;

/// Characters of the longest name.
const MAX: usize = 50;

/// The name of an agent: 1 to 50 of `a-z`, `A-Z`, `0-9`, `-`, `_`. So it can stand anywhere.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display, derive_more::Debug)]
#[debug("{_0}")]
#[display("{_0}")]
pub struct AgentName(Arc<str>);

/// A text that is no name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a name has 1 to 50 characters of a-z, A-Z, 0-9, `-` and `_`")]
pub struct BadAgentName;

impl AgentName {
    /// Takes a text that is a name.
    ///
    /// # Errors
    /// For any other text.
    pub fn new(name: &str) -> Result<Self, BadAgentName> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let fits = (1..=MAX).contains(&name.len()) && name.bytes().all(allowed);
        fits.then(|| AgentName(name.into())).ok_or(BadAgentName)
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_letters_digits_and_two_signs() {
        for name in ["a", "Code-Reviewer_2", &"x".repeat(50)] {
            assert_eq!(AgentName::new(name).unwrap().as_str(), name);
        }
        for no in ["", " a", "a b", "a\n", "ä", "a.b", "a*", &"x".repeat(51)] {
            assert_eq!(AgentName::new(no), Err(BadAgentName), "{no:?}");
        }
    }
}
