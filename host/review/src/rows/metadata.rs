//! What is known about a request beside what it says.

use super::{Row, RowStyle};
use crate::api::TurnMetadata;

/// What stands there where nothing is known yet.
pub const NO_METADATA: &str = "Live Request Editor idle — send a chat request to populate metadata.";

/// Cells of the first column.
const WIDTH: usize = 16;

/// Returns a row for each thing that is known, with its whole value; without a request, what to do.
#[must_use]
pub fn metadata_rows(metadata: Option<&TurnMetadata>) -> Vec<Row> {
    let Some(metadata) = metadata else { return vec![Row::of(NO_METADATA, RowStyle::Plain)] };
    let dirty = if metadata.is_dirty { "yes: what leaves differs from what came" } else { "no" };
    let answer = metadata.max_response_tokens.map(|tokens| tokens.to_string());
    let fields = [
        ("session", Some(metadata.session.as_str())),
        ("request", Some(metadata.request.as_str())),
        ("model", Some(metadata.model.as_str())),
        ("location", Some(metadata.location.as_str())),
        ("interception", metadata.mode.map(leafgate_admin::TurnMode::label).or(Some("none: a rule asks"))),
        ("dirty", Some(dirty)),
        ("endpoint", metadata.endpoint.as_deref()),
        ("intent", metadata.intent.as_deref()),
        ("answer tokens", answer.as_deref()),
    ];
    let known = fields.into_iter().filter_map(|(name, value)| Some((name, value?)));
    known
        .map(|(name, value)| Row::of(&format!("{name:<WIDTH$}"), RowStyle::Dim).and(value, RowStyle::Plain))
        .collect()
}
