//! What a name may be, as every field of `match` says it: any of some globs, none of others.
//!
//! What a rule restricts it knows in any case, and what it lets pass exactly as it is written. So names
//! of tools and models are compared by the [`Reach`] of the rule: of what restricts, `any` counts in
//! any case and `not` does not; of what allows it is the other way round.

use std::fmt;

use leafgate_glob::{self as glob, Glob};

use crate::request::Reach;
use crate::tool_names;

/// What a name may be. The default lets every name through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameMatch {
    /// It is one of these; anything where there are none.
    pub(crate) any: Vec<Glob>,
    /// It is none of these.
    pub(crate) not: Vec<Glob>,
    /// Whether case does not count.
    pub(crate) ignore_case: bool,
}

/// How a glob is compared with a name.
type Compare = fn(&Glob, &str) -> bool;

impl NameMatch {
    /// Whether it lets every name through.
    pub(crate) fn is_everything(&self) -> bool {
        self.any.is_empty() && self.not.is_empty()
    }

    /// Whether a thing fits that has several names: one of them does, and none is left out. Of what has
    /// none that is known, nobody can say that it is allowed.
    pub(crate) fn fits_one_of(&self, reach: Reach, names: &[&str]) -> bool {
        let is_known = reach != Reach::Allows || names.iter().any(|name| !name.is_empty());
        (is_known || self.not.is_empty()) && self.fits(names)
    }

    /// Whether values fit that may each be meant: one of them, and of what allows all of them. Where there
    /// is none, it fits what asks for nothing but what it may not be.
    pub(crate) fn fits_values(&self, reach: Reach, values: &[String]) -> bool {
        let mut values = values.iter();
        match reach {
            _ if values.len() == 0 => self.any.is_empty() && reach != Reach::Allows,
            Reach::Allows => values.all(|value| self.fits(&[value])),
            Reach::Restricts | Reach::Changes => values.any(|value| self.fits(&[value])),
        }
    }

    /// Whether a name would fit if case did not count.
    pub(crate) fn misses_by_case(&self, name: &str) -> bool {
        !self.fits(&[name]) && NameMatch { ignore_case: true, ..self.clone() }.fits(&[name])
    }

    fn fits(&self, names: &[&str]) -> bool {
        let compare: Compare = if self.ignore_case { Glob::matches_any_case } else { Glob::matches };
        let is_among = |globs: &[Glob]| names.iter().any(|name| globs.iter().any(|glob| compare(glob, name)));
        (self.any.is_empty() || is_among(&self.any)) && !is_among(&self.not)
    }

    /// Whether a model fits.
    pub(crate) fn fits_model(&self, reach: Reach, model: &str) -> bool {
        self.fits_as(reach, model, Glob::matches_any_case, Glob::matches)
    }

    /// Whether a tool fits.
    pub(crate) fn fits_tool(&self, reach: Reach, tool: &str) -> bool {
        self.fits_as(reach, tool, tool_names::names, tool_names::names_exactly)
    }

    fn fits_as(&self, reach: Reach, name: &str, wide: Compare, narrow: Compare) -> bool {
        let (any, not) = match reach {
            _ if self.ignore_case => (wide, wide),
            Reach::Restricts => (wide, narrow),
            Reach::Changes => (wide, wide),
            Reach::Allows => (Glob::matches as Compare, wide),
        };
        (self.any.is_empty() || self.any.iter().any(|glob| any(glob, name)))
            && !self.not.iter().any(|glob| not(glob, name))
    }

    /// Returns true where it lets through every name that another one does. It may be so and not be seen.
    pub(crate) fn covers(&self, other: &NameMatch) -> bool {
        self.is_everything()
            || self.ignore_case == other.ignore_case
                && glob::cover(&self.any, &other.any)
                && self.not.iter().all(|glob| other.not.iter().any(|other| other.covers(glob)))
    }
}

impl fmt::Display for NameMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |globs: &[Glob]| globs.iter().map(Glob::to_string).collect::<Vec<_>>().join(" or ");
        match (self.any.is_empty(), self.not.is_empty()) {
            (_, true) => f.write_str(&listed(&self.any)),
            (true, false) => write!(f, "anything but {}", listed(&self.not)),
            (false, false) => write!(f, "{} but {}", listed(&self.any), listed(&self.not)),
        }
    }
}
