//! The facts of a request that name no leaf, as conditions and selectors ask for them.

use leafgate_tree::{Access, Document};

use super::project::project;
use crate::Context;
use crate::condition::RequestFacts;
use crate::endpoint::endpoint;
use crate::said::{Asked, Said};

/// Collects the facts of a request.
pub(crate) fn request_facts<'a>(
    asked: &Asked,
    document: &Document,
    context: &Context<'a>,
) -> RequestFacts<'a> {
    let model = match context.model {
        Some(model) => model.to_owned(),
        None => document.model().unwrap_or_default().into_owned(),
    };
    let models = document.models();
    let models = models.iter().map(AsRef::as_ref).chain(context.other_models.iter().map(String::as_str));
    RequestFacts {
        context: *context,
        format: document.format().name(),
        other_models: models.filter(|other| *other != model).map(Into::into).collect(),
        model,
        stream: context.stream.unwrap_or_else(|| document.streams()),
        endpoint: endpoint(context.endpoint.unwrap_or_default()),
        project: asked.project.then(|| project(document)).flatten().unwrap_or_default(),
        bytes: document.source().len(),
        tokens: if asked.tokens { tokens(document) } else { 0 },
        messages: document.messages().count(),
        tools: document.tools().len(),
        said: Said::of(asked, document, context.outside),
    }
}

/// Estimates the tokens of all texts, but for media.
fn tokens(document: &Document) -> usize {
    let texts = document.leaves().filter(|leaf| leaf.access() != Access::Opaque);
    let bytes: usize = texts.map(|leaf| leaf.spelling().0.len()).sum();
    leafgate_tokenize::estimate(bytes)
}
