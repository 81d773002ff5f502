//! A request as a profile makes it, wherever one is judged without a gate: by commands and by tests of
//! policies.

use std::sync::Arc;

use leafgate_assemble::{PICKED, Step};
use leafgate_tree::{Document, Limits, ParseError};

use super::{Assembly, NotAssembled};
use crate::{Context, Policy};

/// A request that a profile made.
#[derive(Debug)]
pub struct MadeRequest {
    /// The profile.
    pub profile: Arc<Assembly>,
    /// The request.
    pub document: Document,
    /// What making it took.
    pub steps: Vec<Step>,
}

/// Why no profile makes a request that one should. Displays what to do.
#[derive(Debug, thiserror::Error)]
pub enum NotMade {
    /// The policy has no profile.
    #[error("the policy has no profile: write an `[[assemble]]` table")]
    NoProfiles,
    /// It has none of the name that was given.
    #[error("the policy has no profile of this name; profiles are: {0}")]
    Unknown(String),
    /// The request picks from a profile, and none is for it.
    #[error(
        "the member `{PICKED}` picks from a profile, and no profile is for this request; profiles are: {0}"
    )]
    PicksFromNone(String),
    /// The profile cannot make it.
    #[error("profile `{profile}` cannot make this request: {error}")]
    Refused {
        /// The profile.
        profile: Arc<str>,
        /// What is wrong.
        #[source]
        error: NotAssembled,
    },
    /// What it made cannot be read.
    #[error("profile `{profile}` made a request that cannot be read: {error}")]
    Unreadable {
        /// The profile.
        profile: Arc<str>,
        /// What is wrong.
        #[source]
        error: ParseError,
    },
}

impl NotMade {
    /// Returns the profile that is for the request and does not make it.
    #[must_use]
    pub fn profile(&self) -> Option<&Arc<str>> {
        match self {
            NotMade::Refused { profile, .. } | NotMade::Unreadable { profile, .. } => Some(profile),
            NotMade::NoProfiles | NotMade::Unknown(_) | NotMade::PicksFromNone(_) => None,
        }
    }
}

impl Policy {
    /// Makes a request of one that a client sent, from the files as they are now, by the profile that is
    /// named, as a base URL does, or else by the first one that is for the request; `None` where none is.
    ///
    /// # Errors
    /// [`NotMade`]: a gate refuses such a request.
    pub fn make_request(
        &self,
        named: Option<&str>,
        document: &Document,
        context: &Context<'_>,
    ) -> Result<Option<MadeRequest>, NotMade> {
        let ids = || self.assemblies.iter().map(|assembly| &*assembly.id).collect::<Vec<_>>().join(", ");
        let chosen = match named {
            Some(_) if self.assemblies.is_empty() => return Err(NotMade::NoProfiles),
            Some(id) => Some(self.assembly(id).ok_or_else(|| NotMade::Unknown(ids()))?),
            None => self.assembly_for(document, context),
        };
        let Some(profile) = chosen.cloned() else {
            let picks = document.member(document.root(), PICKED).is_some();
            return match picks && !self.assemblies.is_empty() {
                true => Err(NotMade::PicksFromNone(ids())),
                false => Ok(None),
            };
        };
        let id = || Arc::clone(&profile.id);
        let made = profile.assemble(document, &profile.files());
        let made = made.map_err(|error| NotMade::Refused { profile: id(), error })?;
        let document = Document::parse(made.body.into(), document.format(), &Limits::default())
            .map_err(|error| NotMade::Unreadable { profile: id(), error })?;
        Ok(Some(MadeRequest { profile, document, steps: made.steps }))
    }
}
