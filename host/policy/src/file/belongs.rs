//! Which field of a rule belongs to which action. One that stands in a rule of another action is an
//! error: it would be ignored.

use std::ops::Range;

use toml::Spanned;

use super::Complaints;
use super::raw::RawRule;

/// Reports each field that means nothing to the rule's action.
pub(crate) fn check(raw: &RawRule, action: &str, complaints: &mut Complaints<'_>) {
    for (field, actions, place) in FIELDS {
        let Some(span) = place(raw) else { continue };
        if !actions.contains(&action) {
            let hint = format!("`{field}` belongs to {}", actions.join(", "));
            complaints.error(span, format!("`{field}` means nothing to `{action}`"), hint);
        }
    }
}

pub(super) type Field = (&'static str, &'static [&'static str], fn(&RawRule) -> Option<Range<usize>>);

/// To which actions a field belongs; those that are not here belong to all.
pub(super) const FIELDS: &[Field] = &[
    ("detect", &["redact"], |raw| raw.detect.as_ref().map(Spanned::span)),
    ("with", &["redact"], |raw| raw.with.as_ref().map(Spanned::span)),
    ("restore", &["redact"], |raw| raw.restore.as_ref().map(Spanned::span)),
    ("releasable", &["redact"], |raw| raw.releasable.as_ref().map(Spanned::span)),
    ("on_unredactable", &["redact", "transform"], |raw| raw.on_unredactable.as_ref().map(Spanned::span)),
    ("published", &["redact"], |raw| raw.published.as_ref().map(Spanned::span)),
    ("to", &["pin", "route"], |raw| raw.to.as_ref().map(Spanned::span)),
    ("on_drift", &["pin"], |raw| raw.on_drift.as_ref().map(Spanned::span)),
    ("as", &["classify"], |raw| raw.kind.as_ref().map(Spanned::span)),
    ("from", &["protect"], |raw| raw.from.as_ref().map(Spanned::span)),
    ("set", &["rewrite"], |raw| raw.set.as_ref().map(Spanned::span)),
    ("replace", &["rewrite"], |raw| raw.replace.as_ref().map(Spanned::span)),
    ("prepend", &["rewrite"], |raw| raw.prepend.as_ref().map(Spanned::span)),
    ("append", &["rewrite"], |raw| raw.append.as_ref().map(Spanned::span)),
    ("max_lines", &["rewrite"], |raw| raw.max_lines.as_ref().map(Spanned::span)),
    ("max_chars", &["rewrite"], |raw| raw.max_chars.as_ref().map(Spanned::span)),
    ("options", &["rewrite"], |raw| raw.options.as_ref().map(Spanned::span)),
    ("model", &["rewrite"], |raw| raw.model.as_ref().map(Spanned::span)),
    ("keep", &["filter-tools"], |raw| raw.keep.as_ref().map(Spanned::span)),
    ("drop", &["filter-tools"], |raw| raw.drop.as_ref().map(Spanned::span)),
    ("text", &["insert"], |raw| raw.text.as_ref().map(Spanned::span)),
    ("path", &["insert"], |raw| raw.path.as_ref().map(Spanned::span)),
    ("history", &["delete"], |raw| raw.history.as_ref().map(Spanned::span)),
    ("plugin", &["transform"], |raw| raw.plugin.as_ref().map(Spanned::span)),
    ("sees", &["transform"], |raw| raw.sees.as_ref().map(Spanned::span)),
    ("timeout", &["pause"], |raw| raw.timeout.as_ref().map(Spanned::span)),
    ("on_timeout", &["pause"], |raw| raw.on_timeout.as_ref().map(Spanned::span)),
    ("subagents", &["pause"], |raw| raw.subagents.as_ref().map(Spanned::span)),
];
