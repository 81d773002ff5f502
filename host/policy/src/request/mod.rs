//! What `match` asks about a request as a whole: its model, its client, its headers, its options.
//!
//! None of this is about a leaf, so it is judged once for each rule and request.

pub(crate) mod facts;
mod project;

use std::collections::BTreeMap;

use leafgate_glob::{self as glob, Glob};
use leafgate_tree::Format;

use crate::Context;
use crate::bits::{Bits, words_of};
use crate::condition::RequestFacts;
use crate::endpoint::endpoint;
use crate::said::Asked;

/// What a selector is for, which decides how names are compared and what counts that is not certain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It restricts. Names count in any case, and what may be of any tool is of the one that it names.
    Restricts,
    /// It changes what is sent. Names count in any case.
    #[default]
    Changes,
    /// It allows. Names count as they are written.
    Allows,
}

/// The fields of a selector that name no leaf. The default lets every request through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OfRequest {
    pub(crate) formats: Bits,
    pub(crate) models: Vec<Glob>,
    pub(crate) agents: Vec<Glob>,
    pub(crate) sessions: Vec<Glob>,
    pub(crate) upstreams: Vec<Glob>,
    pub(crate) endpoints: Vec<Glob>,
    pub(crate) projects: Vec<Glob>,
    pub(crate) stream: Option<bool>,
    pub(crate) subagent: Option<bool>,
    pub(crate) headers: Vec<Named>,
    pub(crate) options: Vec<Named>,
}

/// A header or an option by name, and what its value may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// A header's name in lower case, or the keys of an option joined by dots.
    pub(crate) name: String,
    pub(crate) values: Vec<Glob>,
}

impl OfRequest {
    /// Whether it lets every request through.
    pub(crate) fn is_everything(&self) -> bool {
        *self == OfRequest::default()
    }

    /// Returns true if and only if a rule with it applies to a request.
    pub(crate) fn applies(&self, reach: Reach, format: Format, request: &RequestFacts) -> bool {
        let named =
            |globs: &[Glob], name: &str| globs.is_empty() || globs.iter().any(|glob| glob.matches(name));
        self.formats.allows(Bits::of(format as usize))
            && self.stream.is_none_or(|stream| stream == request.stream)
            && self.subagent.is_none_or(|subagent| subagent == request.subagent)
            && self.is_for_models(reach, request)
            && named(&self.agents, &request.agent)
            && named(&self.sessions, &request.session)
            && (named(&self.upstreams, &request.upstream) || named(&self.upstreams, &request.upstream_name))
            && named(&self.endpoints, &request.endpoint)
            && named(&self.projects, &request.project)
            && self.headers.iter().all(|header| header.fits(&request.said.headers))
            && self.options.iter().all(|option| option.fits(&request.said.options))
    }

    /// Whether a rule with it may apply where no more is known than this: the rest may be anything.
    pub(crate) fn may_apply(&self, context: &Context<'_>) -> bool {
        let named = |globs: &[Glob], name: Option<&str>| {
            globs.is_empty() || name.is_none_or(|name| globs.iter().any(|glob| glob.matches(name)))
        };
        let truth =
            |wanted: Option<bool>, is: Option<bool>| wanted.zip(is).is_none_or(|(wanted, is)| wanted == is);
        let fits = |model: &str| self.models.iter().any(|glob| glob.matches_any_case(model));
        let session = Some(context.session).filter(|session| !session.is_empty());
        let endpoint = context.endpoint.map(endpoint);
        // Where an upstream is known, its having no name is.
        let upstream_name = context.upstream.map(|_| context.upstream_name.unwrap_or_default());
        truth(self.stream, context.stream)
            && truth(self.subagent, context.subagent)
            && (self.models.is_empty()
                || context.model.is_none_or(fits)
                || context.other_models.iter().any(|model| fits(model)))
            && named(&self.agents, context.agent)
            && named(&self.sessions, session)
            && (named(&self.upstreams, context.upstream) || named(&self.upstreams, upstream_name))
            && named(&self.endpoints, endpoint.as_deref())
    }

    /// Whether the model fits. Servers differ in which of several models they ask: what allows must
    /// fit all of them, and all else one.
    fn is_for_models(&self, reach: Reach, request: &RequestFacts) -> bool {
        let fits = |exactly: bool, model: &str| {
            self.models.iter().any(|glob| match exactly {
                true => glob.matches(model),
                false => glob.matches_any_case(model),
            })
        };
        let mut others = request.other_models.iter();
        self.models.is_empty()
            || match reach {
                Reach::Allows => fits(true, &request.model) && others.all(|other| fits(true, other)),
                Reach::Restricts | Reach::Changes => {
                    fits(false, &request.model) || others.any(|other| fits(false, other))
                }
            }
    }

    /// Returns the first field that does not fit a request, with what it asks for and what the request
    /// has; `None` where all fit. The values of headers and options are not told.
    pub(crate) fn miss(&self, reach: Reach, format: Format, request: &RequestFacts) -> Option<String> {
        let missed = |field: &str, globs: &[Glob], name: &str| {
            let wanted = globs.iter().map(Glob::to_string).collect::<Vec<_>>().join(" or ");
            let has = if name.is_empty() { "not known".to_owned() } else { format!("`{name}`") };
            format!("its {field} is {has}, and not {wanted}")
        };
        let named = |field: &str, globs: &[Glob], name: &str| {
            let fits = globs.is_empty() || globs.iter().any(|glob| glob.matches(name));
            (!fits).then(|| missed(field, globs, name))
        };
        let models =
            || (!self.is_for_models(reach, request)).then(|| missed("model", &self.models, &request.model));
        let truth = |field: &str, wanted: Option<bool>, is: bool| {
            wanted.filter(|wanted| *wanted != is).map(|wanted| format!("`{field}` is {is}, and not {wanted}"))
        };
        let said = |kind: &str, all: &[Named], said: &BTreeMap<String, Vec<String>>| {
            let missed = all.iter().find(|named| !named.fits(said))?;
            let has = if said.contains_key(&missed.name) { "has another value" } else { "is not there" };
            Some(format!("the {kind} `{}` {has}", missed.name))
        };
        let formats = words_of(self.formats, Format::ALL, |format| format.name()).join(" or ");
        let fits = self.formats.allows(Bits::of(format as usize));
        (!fits)
            .then(|| format!("its format is `{}`, and not {formats}", format.name()))
            .or_else(|| truth("stream", self.stream, request.stream))
            .or_else(|| truth("subagent", self.subagent, request.subagent))
            .or_else(models)
            .or_else(|| named("agent", &self.agents, &request.agent))
            .or_else(|| named("session", &self.sessions, &request.session))
            .or_else(|| {
                named("upstream", &self.upstreams, &request.upstream_name)?;
                named("upstream", &self.upstreams, &request.upstream)
            })
            .or_else(|| named("endpoint", &self.endpoints, &request.endpoint))
            .or_else(|| named("project", &self.projects, &request.project))
            .or_else(|| said("header", &self.headers, &request.said.headers))
            .or_else(|| said("option", &self.options, &request.said.options))
    }

    /// Returns true where it lets through every request that another one does. It may be so and not be
    /// seen.
    pub(crate) fn covers(&self, other: &OfRequest) -> bool {
        let truth = |this: Option<bool>, other: Option<bool>| this.is_none() || this == other;
        let named = |these: &[Named], others: &[Named]| {
            these.iter().all(|named| others.iter().any(|other| named.covers(other)))
        };
        self.formats.covers(other.formats)
            && glob::cover(&self.models, &other.models)
            && glob::cover(&self.agents, &other.agents)
            && glob::cover(&self.sessions, &other.sessions)
            && glob::cover(&self.upstreams, &other.upstreams)
            && glob::cover(&self.endpoints, &other.endpoints)
            && glob::cover(&self.projects, &other.projects)
            && truth(self.stream, other.stream)
            && truth(self.subagent, other.subagent)
            && named(&self.headers, &other.headers)
            && named(&self.options, &other.options)
    }
}

impl Named {
    /// Whether every value that fits another one fits it.
    fn covers(&self, other: &Named) -> bool {
        let covered = |wanted: &Glob| self.values.iter().any(|value| value.covers(wanted));
        self.name == other.name && other.values.iter().all(covered)
    }

    /// Whether any of the values under its name is one of those that it wants.
    fn fits(&self, said: &BTreeMap<String, Vec<String>>) -> bool {
        let values = said.get(&self.name).map(Vec::as_slice).unwrap_or_default();
        values.iter().any(|value| self.values.iter().any(|wanted| wanted.matches(value)))
    }
}

impl Asked {
    /// What selectors of requests ask for.
    pub(crate) fn of_requests<'r>(requests: impl Iterator<Item = &'r OfRequest>) -> Self {
        let mut asked = Asked::default();
        for request in requests {
            asked.headers.extend(request.headers.iter().map(|named| named.name.clone()));
            asked.project |= !request.projects.is_empty();
            asked.options.extend(request.options.iter().map(|named| named.name.clone()));
        }
        asked
    }
}
