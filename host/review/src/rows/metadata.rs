//! What is known about a request beside what it says.

use leafgate_admin::{MetadataField, TokenUse, TurnMode};

use super::{Row, RowStyle};
use crate::api::TurnMetadata;

/// What stands there where nothing is known yet.
pub const NO_METADATA: &str = "Live Request Editor idle — send a chat request to populate metadata.";

/// Cells of the first column.
const WIDTH: usize = 16;

/// What is said of a budget where there is nothing to say.
const AWAITING: &str = "awaiting data";

/// Returns a row for each chosen thing that is known, with its whole value, and the budget of tokens;
/// without a request, what to do.
#[must_use]
pub fn metadata_rows(metadata: Option<&TurnMetadata>) -> Vec<Row> {
    let Some(metadata) = metadata else { return vec![Row::of(NO_METADATA, RowStyle::Plain)] };
    let row = |name: &str, value: &str| {
        Row::of(&format!("{name:<WIDTH$}"), RowStyle::Dim).and(value, RowStyle::Plain)
    };
    let chosen = metadata.fields.iter().filter_map(|field| {
        let (name, value) = known(*field, metadata);
        Some(row(name, &value?))
    });
    let budget = row("token budget", metadata.budget.as_deref().unwrap_or(AWAITING));
    chosen.chain([budget]).collect()
}

fn known(field: MetadataField, metadata: &TurnMetadata) -> (&'static str, Option<String>) {
    let text = |text: &str| Some(text.to_owned());
    match field {
        MetadataField::SessionId => ("session", text(&metadata.session)),
        MetadataField::RequestId => ("request", text(&metadata.request)),
        MetadataField::Model => ("model", text(&metadata.model)),
        MetadataField::Location => ("location", text(&metadata.location)),
        MetadataField::Interception => {
            ("interception", text(metadata.mode.map_or("none: a rule asks", TurnMode::label)))
        }
        MetadataField::Dirty => {
            ("dirty", text(if metadata.is_dirty { "yes: what leaves differs from what came" } else { "no" }))
        }
        MetadataField::Endpoint => ("endpoint", metadata.endpoint.clone()),
        MetadataField::Intent => ("intent", metadata.intent.clone()),
        MetadataField::MaxResponseTokens => {
            ("answer tokens", metadata.max_response_tokens.map(|tokens| tokens.to_string()))
        }
    }
}

/// Returns how much of its model's prompt a request fills, and whether that is an estimate.
#[must_use]
pub fn budget_text(tokens: &TokenUse) -> String {
    let about = if tokens.is_estimate { ", an estimate" } else { "" };
    match tokens.max {
        Some(_) => format!("{}{about}", tokens.budget),
        None => format!("{} ({} tokens{about})", tokens.budget, tokens.used),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(max: Option<u64>, is_estimate: bool) -> TokenUse {
        TokenUse {
            used: 46_000,
            max,
            percent: max.map(|max| 46_000 * 100 / max),
            budget: max.map_or_else(|| "awaiting data".to_owned(), |max| format!("23% (46000/{max})")),
            tokenizer: "any".to_owned(),
            is_estimate,
            pinned: 0,
            pinned_percent: 0,
        }
    }

    fn shown(fields: &[MetadataField]) -> Vec<String> {
        let metadata = TurnMetadata {
            session: "S".to_owned(),
            request: "R".to_owned(),
            model: "gpt-4o".to_owned(),
            location: "panel".to_owned(),
            mode: None,
            is_dirty: false,
            endpoint: None,
            intent: None,
            max_response_tokens: None,
            budget: Some(budget_text(&tokens(Some(200_000), true))),
            fields: fields.to_vec(),
        };
        let rows = metadata_rows(Some(&metadata));
        rows.iter().map(|row| row.0.iter().map(|piece| piece.text()).collect()).collect()
    }

    // S0-100, S0-101
    #[test]
    fn chosen_fields_are_shown_in_their_order_and_the_budget_in_any_case() {
        let budget = "token budget    23% (46000/200000), an estimate";
        assert_eq!(shown(&[]), [budget]);
        assert_eq!(shown(&MetadataField::DEFAULT), ["session         S", "request         R", budget]);
        let chosen = [MetadataField::Dirty, MetadataField::Intent, MetadataField::Model];
        assert_eq!(shown(&chosen), ["dirty           no", "model           gpt-4o", budget]);
    }

    // S0-83
    #[test]
    fn a_budget_waits_for_data_where_the_model_is_not_known() {
        assert_eq!(budget_text(&tokens(None, true)), "awaiting data (46000 tokens, an estimate)");
        assert_eq!(budget_text(&tokens(Some(200_000), false)), "23% (46000/200000)");
    }
}
