//! A turn in a line: for lists, events and the prompt. It holds numbers, names and the rules' own
//! words, and no text of a leaf but the model's name and the first words of the question, both as
//! they would leave.

use leafgate_admin::{HoldPlace, HoldState, HoldView, OnTimeout, ShownText, State, TurnSummary};
use leafgate_policy::Hold;
use leafgate_tree::Draft;

use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::Turn;
use crate::words::first_words_of;

/// Characters of a model's name that a list shows. Real names have up to 60.
const MODEL_SHOWN: usize = 64;

/// What a line shows of the request itself. It is computed when the draft changes, outside of the
/// lock.
#[derive(Clone, Debug)]
pub(crate) struct TurnExtract {
    model: Option<String>,
    words: Option<ShownText>,
    pub(crate) edits: usize,
    pub(crate) redactions: usize,
}

impl TurnExtract {
    pub(crate) fn of(draft: &Draft, reviewer: &impl Reviewer) -> Self {
        let veiled = reviewer.veiled(draft);
        let draft = veiled.as_ref().unwrap_or(draft);
        let put_in = draft.inserted().map(|inserted| inserted.redacted().len()).sum::<usize>();
        TurnExtract {
            model: model(draft, reviewer.model_by_path(draft.document()).as_deref()),
            words: first_words_of(draft),
            edits: draft.standing_edits().len(),
            redactions: draft.standing_redactions().len() + put_in,
        }
    }
}

impl<G: Reviewer> Turn<G> {
    /// Returns the turn in a line.
    pub fn summary(&self, now: Tick) -> TurnSummary {
        let (expiry, state) = (self.expiry(), self.state());
        let asked = self.holds.list.iter().map(|held| hold(&held.hold, false, held.state, &self.draft));
        let block = self.holds.block.as_ref().map(|block| hold(block, true, HoldState::Open, &self.draft));
        TurnSummary {
            id: self.id.to_string(),
            label: self.title.label(&self.session),
            session: self.session.to_string(),
            model: self.extract.model.clone().unwrap_or_default(),
            words: self.extract.words.clone(),
            format: self.draft.document().format().name().to_owned(),
            class: self.class,
            mode: self.mode.map(|pause| pause.mode),
            state,
            ending: None,
            holds: asked.chain(block).collect(),
            waited_ms: self.since.millis_until(now),
            left_ms: now.millis_until(expiry.at),
            on_timeout: match expiry.then {
                leafgate_policy::OnTimeout::Cancel => OnTimeout::Cancel,
                leafgate_policy::OnTimeout::Resume => OnTimeout::Resume,
            },
            edits: self.extract.edits,
            redactions: self.extract.redactions,
            connections: usize::from(state != State::Disconnected),
            with: self.with.map(|turn| turn.to_string()),
            beside: self.beside.len(),
            generation: self.reviewer.generation().to_owned(),
        }
    }
}

fn hold(hold: &Hold, blocks: bool, state: HoldState, draft: &Draft) -> HoldView {
    let place = |place: &leafgate_policy::HoldPlace| HoldPlace {
        what: place.what.clone(),
        // A rule's condition found it: its words say the place to people, and what shows places needs
        // the pointer.
        at: place.at.clone().or_else(|| place.node.map(|node| draft.pointer(node))),
        stands: place.stands,
    };
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

/// Reads the draft's text and not the document's, which still holds redacted values. A path that names
/// a model names the one that is asked.
pub(crate) fn model(draft: &Draft, by_path: Option<&str>) -> Option<String> {
    let shown = |name: &str| name.chars().take(MODEL_SHOWN).collect();
    if let Some(by_path) = by_path {
        return Some(shown(by_path));
    }
    let document = draft.document();
    let node = document.member(document.root(), "model")?;
    document.leaf(node)?;
    Some(shown(draft.text(node).expose()))
}
