//! A turn in a line: for lists, events and the prompt. It holds numbers, names and the rules' own
//! words, and no text of a leaf but the model's name and the first words of the question, both as
//! they would leave.

use std::sync::Arc;

use leafgate_admin::{ShownText, State, TurnClass, TurnMode};
use leafgate_policy::{Hold, OnTimeout};
use leafgate_tree::{Draft, Format};

use crate::holds::TurnHold;
use crate::identity::TurnId;
use crate::reviewer::Reviewer;
use crate::tick::Tick;
use crate::turn::Turn;
use crate::words::first_words_of;

/// Characters of a model's name that a list shows. Real names have up to 60.
const MODEL_SHOWN: usize = 64;

/// A turn in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnLine {
    /// Its number.
    pub id: TurnId,
    /// Its session's key.
    pub session: Arc<str>,
    /// `<location> · <name> · …<last 6 of the session>`.
    pub label: String,
    /// What kind of request it is.
    pub class: TurnClass,
    /// The mode that asked for a person.
    pub mode: Option<TurnMode>,
    /// The model of the request that would leave.
    pub model: Option<String>,
    /// How the latest message of the user begins, as it would leave.
    pub words: Option<ShownText>,
    /// Its format.
    pub format: Format,
    /// Its state.
    pub state: State,
    /// How it ended: a cancel's code, `timedOut`, or who resumed it (`user`, `timeout`).
    pub ending: Option<&'static str>,
    /// The rules that asked for a person.
    pub holds: Vec<TurnHold>,
    /// The rule that blocks it as it stands.
    pub block: Option<Hold>,
    /// When it came.
    pub waiting_since: Tick,
    /// The latest moment at which it ends by itself.
    pub deadline: Tick,
    /// What happens then.
    pub at_deadline: OnTimeout,
    /// The turn that it waits with, whose decision it shares.
    pub with: Option<TurnId>,
    /// How many side requests wait with it.
    pub beside: usize,
    /// Edits whose effect stands in what would leave, whoever made them.
    pub edits: usize,
    /// Redactions that stand in it.
    pub redactions: usize,
}

/// What a line shows of the request itself. It is computed when the draft changes, outside of the
/// lock.
#[derive(Clone, Debug)]
pub(crate) struct TurnExtract {
    model: Option<String>,
    words: Option<ShownText>,
    edits: usize,
    redactions: usize,
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

impl<G> Turn<G> {
    /// Returns the turn in a line.
    #[must_use]
    pub fn summary(&self) -> TurnLine {
        let expiry = self.expiry();
        TurnLine {
            id: self.id,
            session: Arc::clone(&self.key.session),
            label: self.title.label(&self.key.session),
            class: self.class,
            mode: self.mode,
            model: self.extract.model.clone(),
            words: self.extract.words.clone(),
            format: self.draft.document().format(),
            state: self.state(),
            ending: None,
            holds: self.holds().iter().map(|held| located(held, &self.draft)).collect(),
            block: self.block().cloned(),
            waiting_since: self.since,
            deadline: expiry.at,
            at_deadline: expiry.then,
            with: self.with,
            beside: self.beside.len(),
            edits: self.extract.edits,
            redactions: self.extract.redactions,
        }
    }
}

/// Names the place of a pause that a rule's condition found: its words say it to people, and what
/// shows places needs the pointer.
fn located(held: &TurnHold, draft: &Draft) -> TurnHold {
    let mut held = held.clone();
    for place in held.hold.places.iter_mut().filter(|place| place.at.is_none()) {
        place.at = place.node.map(|node| draft.pointer(node));
    }
    held
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
