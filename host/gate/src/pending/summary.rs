//! What the log and the metrics say of a turn.

use leafgate_admin::TurnSummary;

/// Where in its client a turn was asked: the beginning of its label.
pub(super) fn location(turn: &TurnSummary) -> &str {
    turn.label.split(" · ").next().unwrap_or_default()
}

/// A line when a turn begins to wait, and one when it is over: names and numbers only, so neither the model nor the reasons.
pub(super) fn log(turn: &TurnSummary) {
    let asked = turn.holds.iter().filter(|hold| !hold.blocks);
    let rules: Vec<_> = asked.map(|hold| &*hold.rule).collect();
    tracing::info!(
        target: "leafgate::turn",
        turn = %turn.id,
        state = %turn.state,
        ending = turn.ending,
        location = location(turn),
        rules = %rules.join(","),
        edits = turn.edits,
        redactions = turn.redactions,
        with = turn.with.as_deref().and_then(|with| with.parse::<u64>().ok()),
        beside = turn.beside,
        generation = turn.generation,
    );
}
