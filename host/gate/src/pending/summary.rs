//! A turn in a line, from the desk's words into those of the admin API.

use std::sync::Arc;

use leafgate_admin::{HoldPlace, HoldState, HoldView, OnTimeout, State, TurnSummary};
use leafgate_desk::{Tick, TurnLine};

pub(super) fn summary(line: TurnLine, generation: &Arc<str>, now: Tick) -> TurnSummary {
    let holds = line.holds.iter().map(|held| hold(&held.hold, false, held.state));
    let block = line.block.iter().map(|block| hold(block, true, HoldState::Open));
    TurnSummary {
        id: line.id.to_string(),
        session: line.session.to_string(),
        model: line.model.unwrap_or_default(),
        words: line.words,
        format: line.format.name().to_owned(),
        class: line.class,
        mode: line.mode,
        state: line.state,
        ending: line.ending.map(str::to_owned),
        holds: holds.chain(block).collect(),
        waited_ms: line.waiting_since.millis_until(now),
        left_ms: if line.state.is_over() { 0 } else { now.millis_until(line.deadline) },
        on_timeout: match line.at_deadline {
            leafgate_policy::OnTimeout::Cancel => OnTimeout::Cancel,
            leafgate_policy::OnTimeout::Resume => OnTimeout::Resume,
        },
        edits: line.edits,
        redactions: line.redactions,
        connections: usize::from(!line.state.is_over() && line.state != State::Disconnected),
        generation: generation.to_string(),
        with: line.with.map(|turn| turn.to_string()),
        beside: line.beside,
        label: line.label,
    }
}

fn hold(hold: &leafgate_policy::Hold, blocks: bool, state: HoldState) -> HoldView {
    HoldView {
        rule: hold.rule.to_string(),
        severity: hold.severity.map(|severity| severity.name().to_owned()),
        reason: hold.reason.clone(),
        detail: hold.detail.clone(),
        places: hold.places.iter().map(place).collect(),
        total: hold.total,
        blocks,
        state,
    }
}

fn place(place: &leafgate_policy::HoldPlace) -> HoldPlace {
    HoldPlace { what: place.what.clone(), at: place.at.clone(), stands: place.stands }
}

/// Where in its client a turn was asked: the beginning of its label.
pub(super) fn location(line: &TurnLine) -> &str {
    line.label.split(" · ").next().unwrap_or_default()
}

/// A line when a turn begins to wait, and one when it is over: names and numbers only, so neither the model nor the reasons.
pub(super) fn log(line: &TurnLine, generation: &str) {
    let rules: Vec<_> = line.holds.iter().map(|held| &*held.hold.rule).collect();
    tracing::info!(
        target: "leafgate::turn",
        turn = %line.id,
        state = %line.state,
        ending = line.ending,
        location = location(line),
        rules = %rules.join(","),
        edits = line.edits,
        redactions = line.redactions,
        with = line.with.map(|turn| turn.0),
        beside = line.beside,
        generation,
    );
}
