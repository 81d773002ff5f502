//! What is known about a request beside what it says.

use leafgate_admin::{EditableRequest, MetadataField, TokenUse, TurnMode};

use super::{Row, RowStyle};

/// What stands there where nothing is known yet.
pub const NO_METADATA: &str = "Live Request Editor idle — send a chat request to populate metadata.";

/// Cells of the first column.
const WIDTH: usize = 16;

/// What is said of a budget where there is nothing to say.
const AWAITING: &str = "awaiting data";

/// Returns a row for each chosen thing that is known, with its whole value, and the budget of tokens;
/// without a request, what to do.
pub fn metadata_rows(request: Option<&EditableRequest>) -> Vec<Row> {
    let Some(request) = request else { return vec![Row::of(NO_METADATA, RowStyle::Plain)] };
    let row = |name: &str, value: &str| {
        Row::of(&format!("{name:<WIDTH$}"), RowStyle::Dim).and(value, RowStyle::Plain)
    };
    let chosen = request.metadata.fields.iter().filter_map(|field| {
        let (name, value) = known(*field, request);
        Some(row(name, &value?))
    });
    let budget = request.tokens.as_ref().map(budget_text);
    chosen.chain([row("token budget", budget.as_deref().unwrap_or(AWAITING))]).collect()
}

fn known(field: MetadataField, request: &EditableRequest) -> (&'static str, Option<String>) {
    let text = |text: &str| Some(text.to_owned());
    let (turn, known) = (&request.summary, &request.metadata);
    match field {
        MetadataField::SessionId => ("session", text(&turn.session)),
        MetadataField::RequestId => ("request", text(&request.id)),
        MetadataField::Model => ("model", text(&request.model)),
        MetadataField::Location => ("location", text(&request.location)),
        MetadataField::Interception => {
            ("interception", text(turn.mode.map_or("none: a rule asks", TurnMode::label)))
        }
        MetadataField::Dirty => {
            ("dirty", text(if request.is_dirty { "yes: what leaves differs from what came" } else { "no" }))
        }
        MetadataField::Endpoint => ("endpoint", known.endpoint_url.clone()),
        MetadataField::Intent => ("intent", known.intent.clone()),
        MetadataField::MaxResponseTokens => {
            ("answer tokens", known.max_response_tokens.map(|tokens| tokens.to_string()))
        }
    }
}

/// Returns how much of its model's prompt a request fills, and whether that is an estimate.
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

    // S0-83
    #[test]
    fn a_budget_waits_for_data_where_the_model_is_not_known() {
        assert_eq!(budget_text(&tokens(None, true)), "awaiting data (46000 tokens, an estimate)");
        assert_eq!(budget_text(&tokens(Some(200_000), false)), "23% (46000/200000)");
    }
}
