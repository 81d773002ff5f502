//! A request as a profile makes it, in a gate and without one.

use std::sync::Arc;

use leafgate_assemble::{AssembleError, Counted, Files, PICKED, Step, assemble};
use leafgate_tree::{Document, Format, Limits, ParseError};

use super::Assembly;
use crate::{Context, Policy};

/// A request that a profile made.
#[derive(Debug)]
pub struct MadeRequest {
    /// The profile.
    pub profile: Arc<Assembly>,
    /// The request.
    pub document: Arc<Document>,
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
        "the member `{PICKED}` picks from a profile, and no profile is for this request: choose one by its base URL (/p/<profile>/v1), or leave the member out; profiles are: {0}"
    )]
    PicksFromNone(String),
    /// The profile cannot make it.
    #[error("profile `{profile}` cannot make this request: {error}")]
    Refused {
        /// The profile.
        profile: Arc<str>,
        /// What is wrong.
        #[source]
        error: AssembleError,
    },
    /// No profile can make a request of this format.
    #[error(
        "profile `{profile}` cannot make this request: profiles make requests of chat completions, Responses, Messages and Gemini, and not of {format}"
    )]
    Format {
        /// The profile.
        profile: Arc<str>,
        /// The format.
        format: Format,
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
    pub fn profile(&self) -> Option<&Arc<str>> {
        match self {
            NotMade::Refused { profile, .. }
            | NotMade::Format { profile, .. }
            | NotMade::Unreadable { profile, .. } => Some(profile),
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
        let named = match named {
            Some(_) if self.assemblies.is_empty() => return Err(NotMade::NoProfiles),
            Some(id) => Some(self.assembly(id).ok_or_else(|| NotMade::Unknown(self.profile_ids()))?),
            None => None,
        };
        let profile = self.profile_for(named, document, context)?;
        profile.map(|profile| profile.make(document, &profile.files(), None)).transpose()
    }

    /// Returns the profile that was chosen, or else the first one that is for a request; `None` where none is.
    ///
    /// # Errors
    /// [`NotMade::PicksFromNone`]: what a request picks from a profile must not leave where there is none.
    pub fn profile_for<'p>(
        &'p self,
        chosen: Option<&'p Arc<Assembly>>,
        document: &Document,
        context: &Context<'_>,
    ) -> Result<Option<&'p Arc<Assembly>>, NotMade> {
        let profile = chosen.or_else(|| self.assembly_for(document, context));
        let picks = || document.member(document.root(), PICKED).is_some();
        match profile.is_none() && !self.assemblies.is_empty() && picks() {
            true => Err(NotMade::PicksFromNone(self.profile_ids())),
            false => Ok(profile),
        }
    }

    fn profile_ids(&self) -> String {
        self.assemblies.iter().map(|assembly| &*assembly.id).collect::<Vec<_>>().join(", ")
    }
}

impl Assembly {
    /// Makes a request of one that a client sent, or what is `counted` of one whose cost is asked for.
    ///
    /// # Errors
    /// [`NotMade`]: a gate refuses such a request.
    pub fn make(
        self: &Arc<Self>,
        document: &Document,
        files: &dyn Files,
        counted: Option<&Counted>,
    ) -> Result<MadeRequest, NotMade> {
        let id = || Arc::clone(&self.id);
        let format = document.format();
        let api = format.api().ok_or_else(|| NotMade::Format { profile: id(), format })?;
        let made = assemble(api, document.source(), &self.profile, files, counted);
        let made = made.map_err(|error| NotMade::Refused { profile: id(), error })?;
        let document = Document::parse(made.body.into(), format, &Limits::default());
        let document = document.map_err(|error| NotMade::Unreadable { profile: id(), error })?;
        Ok(MadeRequest { profile: Arc::clone(self), document: Arc::new(document), steps: made.steps })
    }
}
