//! What `match` asks about a request as a whole: its model, its client, its headers, its options.
//!
//! None of this is about a leaf, so it is judged once for each rule and request.

pub(crate) mod facts;
mod project;

use std::collections::BTreeMap;

use leafgate_tree::Format;

use crate::Context;
use crate::bits::{Bits, words_of};
use crate::condition::RequestFacts;
use crate::endpoint::endpoint;
use crate::name_match::NameMatch;
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
    pub(crate) models: NameMatch,
    pub(crate) agents: NameMatch,
    pub(crate) sessions: NameMatch,
    pub(crate) upstreams: NameMatch,
    pub(crate) endpoints: NameMatch,
    pub(crate) projects: NameMatch,
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
    pub(crate) values: NameMatch,
}

impl OfRequest {
    /// Whether it lets every request through.
    pub(crate) fn is_everything(&self) -> bool {
        *self == OfRequest::default()
    }

    /// Returns true if and only if a rule with it applies to a request.
    pub(crate) fn applies(&self, reach: Reach, format: Format, request: &RequestFacts<'_>) -> bool {
        self.formats.allows(Bits::of(format as usize))
            && self.stream.is_none_or(|stream| stream == request.stream)
            && self.subagent.is_none_or(|subagent| subagent == request.context.subagent.unwrap_or_default())
            && self.is_for_models(reach, request)
            && self.by_name(request).iter().all(|(_, wanted, names)| wanted.fits_one_of(reach, names))
            && self.headers.iter().all(|header| header.fits(reach, &request.said.headers))
            && self.options.iter().all(|option| option.fits(reach, &request.said.options))
    }

    /// The fields of one text each, what they want, and the names that a request has there; empty ones
    /// are not known.
    fn by_name<'r>(
        &'r self,
        request: &'r RequestFacts<'r>,
    ) -> [(&'static str, &'r NameMatch, Vec<&'r str>); 5] {
        let Context { agent, session, upstream, upstream_name, .. } = request.context;
        let upstream = vec![upstream.unwrap_or_default(), upstream_name.unwrap_or_default()];
        [
            ("agent", &self.agents, vec![agent.unwrap_or_default()]),
            ("session", &self.sessions, vec![session]),
            ("upstream", &self.upstreams, upstream),
            ("endpoint", &self.endpoints, vec![&request.endpoint]),
            ("project", &self.projects, vec![&request.project]),
        ]
    }

    /// Whether a rule with it may apply where no more is known than this: the rest may be anything.
    pub(crate) fn may_apply(&self, context: &Context<'_>) -> bool {
        // A rule that restricts lets most through.
        let reach = Reach::Restricts;
        let named = |wanted: &NameMatch, name: Option<&str>| {
            name.is_none_or(|name| wanted.fits_one_of(reach, &[name]))
        };
        let truth =
            |wanted: Option<bool>, is: Option<bool>| wanted.zip(is).is_none_or(|(wanted, is)| wanted == is);
        let fits = |model: &str| self.models.fits_model(reach, model);
        let session = Some(context.session).filter(|session| !session.is_empty());
        let endpoint = context.endpoint.map(endpoint);
        // Where an upstream is known, its having no name is.
        let upstream =
            |url| self.upstreams.fits_one_of(reach, &[url, context.upstream_name.unwrap_or_default()]);
        truth(self.stream, context.stream)
            && truth(self.subagent, context.subagent)
            && (context.model.is_none_or(fits) || context.other_models.iter().any(|model| fits(model)))
            && named(&self.agents, context.agent)
            && named(&self.sessions, session)
            && context.upstream.is_none_or(upstream)
            && named(&self.endpoints, endpoint.as_deref())
    }

    /// Whether the model fits. Servers differ in which of several models they ask: what allows must
    /// fit all of them, and all else one.
    fn is_for_models(&self, reach: Reach, request: &RequestFacts<'_>) -> bool {
        let fits = |model: &String| self.models.fits_model(reach, model);
        let mut others = request.other_models.iter();
        match reach {
            Reach::Allows => fits(&request.model) && others.all(fits),
            Reach::Restricts | Reach::Changes => fits(&request.model) || others.any(fits),
        }
    }

    /// Returns the first field that does not fit a request, with what it asks for and what the request
    /// has; `None` where all fit. The values of headers and options are not told.
    pub(crate) fn miss(&self, reach: Reach, format: Format, request: &RequestFacts<'_>) -> Option<String> {
        let missed = |field: &str, wanted: &NameMatch, name: &str| {
            let has = if name.is_empty() { "not known".to_owned() } else { format!("`{name}`") };
            let case = if wanted.misses_by_case(name) { " (case counts; `ignore-case = true`)" } else { "" };
            format!("its {field} is {has}, and not {wanted}{case}")
        };
        let by_name = || {
            let all = self.by_name(request);
            let (field, wanted, names) =
                all.iter().find(|(_, wanted, names)| !wanted.fits_one_of(reach, names))?;
            Some(missed(field, wanted, names[0]))
        };
        let models =
            || (!self.is_for_models(reach, request)).then(|| missed("model", &self.models, &request.model));
        let truth = |field: &str, wanted: Option<bool>, is: bool| {
            wanted.filter(|wanted| *wanted != is).map(|wanted| format!("`{field}` is {is}, and not {wanted}"))
        };
        let said = |kind: &str, all: &[Named], said: &BTreeMap<String, Vec<String>>| {
            let missed = all.iter().find(|named| !named.fits(reach, said))?;
            let has = match said.contains_key(&missed.name) {
                true => "has another value",
                false => "is not there",
            };
            Some(format!("the {kind} `{}` {has}", missed.name))
        };
        let formats = words_of(self.formats, Format::NAMES).join(" or ");
        let fits = self.formats.allows(Bits::of(format as usize));
        (!fits)
            .then(|| format!("its format is `{}`, and not {formats}", format.name()))
            .or_else(|| truth("stream", self.stream, request.stream))
            .or_else(|| truth("subagent", self.subagent, request.context.subagent.unwrap_or_default()))
            .or_else(models)
            .or_else(by_name)
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
            && self.models.covers(&other.models)
            && self.agents.covers(&other.agents)
            && self.sessions.covers(&other.sessions)
            && self.upstreams.covers(&other.upstreams)
            && self.endpoints.covers(&other.endpoints)
            && self.projects.covers(&other.projects)
            && truth(self.stream, other.stream)
            && truth(self.subagent, other.subagent)
            && named(&self.headers, &other.headers)
            && named(&self.options, &other.options)
    }
}

impl Named {
    /// Whether every value that fits another one fits it.
    fn covers(&self, other: &Named) -> bool {
        self.name == other.name && self.values.covers(&other.values)
    }

    /// Whether the values under its name are what it wants.
    fn fits(&self, reach: Reach, said: &BTreeMap<String, Vec<String>>) -> bool {
        self.values.fits_values(reach, said.get(&self.name).map(Vec::as_slice).unwrap_or_default())
    }
}

impl Asked {
    /// What selectors of requests ask for.
    pub(crate) fn of_requests<'r>(requests: impl Iterator<Item = &'r OfRequest>) -> Self {
        let mut asked = Asked::default();
        for request in requests {
            asked.headers.extend(request.headers.iter().map(|named| named.name.clone()));
            asked.project |= !request.projects.is_everything();
            asked.options.extend(request.options.iter().map(|named| named.name.clone()));
        }
        asked
    }
}
