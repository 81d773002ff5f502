//! `restore = [{ from = …, to = … }]` to the rules of where values may return among the arguments of
//! tools.

use leafgate_diagnostic::{Complaints, OneOrMany};
use leafgate_vault::{FlowRule, Place, tools};
use toml::Spanned;

use super::raw::{RawFlow, words_of};

/// Compiles one row.
pub(crate) fn compile(raw: &Spanned<RawFlow>, complaints: &mut Complaints<'_>) -> Option<FlowRule> {
    let raw = raw.get_ref();
    let (from, to) = (places(&raw.from, complaints), places(&raw.to, complaints));
    let (from, to) = (from?, to?);
    let mut known = true;
    for (place, span) in &to {
        if place.tool() != "*" && !tools::edits_files(place.tool()) {
            let message = format!("no file editor is known that is called `{}`", place.tool());
            let hint = "values return into the content that a file editor writes, and into nothing else: `Edit`, \
                        `Write`, `apply_patch` and others that docs/restoring.md lists";
            complaints.error(span.clone(), message, hint);
            known = false;
        }
    }
    let only = |places: Vec<(Place, _)>| places.into_iter().map(|(place, _)| place).collect();
    known.then(|| FlowRule { from: only(from), to: only(to) })
}

type Placed = (Place, std::ops::Range<usize>);

fn places(raw: &Option<Spanned<OneOrMany>>, complaints: &mut Complaints<'_>) -> Option<Vec<Placed>> {
    let mut places = Vec::new();
    for (word, span) in words_of(raw) {
        match word.parse::<Place>() {
            Ok(place) => places.push((place, span)),
            Err(error) => complaints.error(span, error.to_string(), "a tool, and in brackets the files"),
        }
    }
    (!places.is_empty()).then_some(places)
}
