//! What was said before: calls and their results in order, or no trace of a tool.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::Object;
use crate::step::{Did, Step};
use crate::wire::RequestWire;

/// One turn of a conversation as a client sent it.
pub(crate) enum HistoryTurn {
    /// A system prompt.
    System(String),
    /// What the user said.
    User(Object),
    /// What the model said and called: one or more elements of the API's list.
    Model { items: Vec<Object>, calls: Vec<HistoryCall> },
    /// Results of calls, and what the user said beside them in the same element.
    Results { results: Vec<(String, Object)>, beside: Option<Object> },
    /// What is none of these.
    Other(Object),
}

/// A call of the model.
pub(crate) struct HistoryCall {
    pub(crate) id: String,
    /// Its result, where the client stored it with the call.
    pub(crate) stored: Option<String>,
    /// Whether its arguments are free text.
    pub(crate) custom: bool,
}

/// Elements of the API's list that stay together.
pub(crate) struct HistoryPiece {
    pub(crate) items: Vec<Object>,
    pub(crate) by: PieceAuthor,
}

/// Whose elements they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PieceAuthor {
    /// The user said it.
    User,
    /// Results of calls.
    Tool,
    /// The model, or somebody whom the API knows.
    Other,
}

/// A conversation in the order in which it leaves, without its system prompt.
pub(crate) struct History {
    pub(crate) system: Vec<String>,
    pub(crate) pieces: Vec<HistoryPiece>,
    /// It ends with results of calls: the model goes on, and the user has said nothing new.
    pub(crate) continues: bool,
}

/// Brings a conversation into order. `loose`: the provider knows calls that are not here.
pub(crate) fn arrange(
    turns: Vec<HistoryTurn>,
    agent: bool,
    loose: bool,
    wire: &dyn RequestWire,
    steps: &mut Vec<Step>,
) -> History {
    let mut order = Order { wire, agent, loose, sent: sent(&turns), pieces: Vec::new(), stored: 0, calls: 0 };
    let mut system = Vec::new();
    for turn in turns {
        match turn {
            HistoryTurn::System(text) => system.push(text),
            HistoryTurn::User(item) => order.push(vec![item], PieceAuthor::User),
            HistoryTurn::Model { items, calls } => order.model(items, calls),
            HistoryTurn::Results { results, beside } => order.results(results, beside),
            HistoryTurn::Other(item) if agent => order.push(vec![item], PieceAuthor::Other),
            HistoryTurn::Other(_) => order.calls += 1,
        }
    }
    let wanted = order.sent.len();
    steps.extend(Step::count(Did::Results, "stored", order.stored));
    steps.extend(Step::count(Did::LeftOutCalls, "history", order.calls));
    steps.extend(Step::count(Did::LeftOutResults, "history", wanted));
    // What was left out does not count: the history ends as it leaves.
    let continues = order.pieces.last().is_some_and(|piece| piece.by == PieceAuthor::Tool);
    History { system, pieces: order.pieces, continues }
}

/// The results that the client sent, by the call that they answer. The first one counts.
fn sent(turns: &[HistoryTurn]) -> BTreeMap<String, Object> {
    let mut sent = BTreeMap::new();
    for turn in turns {
        if let HistoryTurn::Results { results, .. } = turn {
            for (id, item) in results {
                sent.entry(id.clone()).or_insert_with(|| item.clone());
            }
        }
    }
    sent
}

struct Order<'w> {
    wire: &'w dyn RequestWire,
    agent: bool,
    loose: bool,
    /// Results that no call has taken yet.
    sent: BTreeMap<String, Object>,
    pieces: Vec<HistoryPiece>,
    /// Results that were made of what was stored.
    stored: usize,
    /// Calls that were left out, and other traces of tools.
    calls: usize,
}

impl Order<'_> {
    fn push(&mut self, items: Vec<Object>, by: PieceAuthor) {
        if !items.is_empty() {
            self.pieces.push(HistoryPiece { items, by });
        }
    }

    /// In agent mode each call with a result stays, and its result follows directly.
    fn model(&mut self, items: Vec<Object>, calls: Vec<HistoryCall>) {
        let all = calls.len();
        if !self.agent {
            self.calls += all;
            return self.push(self.wire.words_only(items), PieceAuthor::Other);
        }
        let (mut wanted, mut results) = (BTreeSet::new(), Vec::new());
        for call in calls {
            let sent = self.sent.remove(&call.id);
            let stored = call.stored.as_ref().map(|text| self.wire.result(&call, text));
            self.stored += usize::from(stored.is_some());
            if let Some(result) = stored.or_else(|| Some(self.wire.sent(&call.id, sent?))) {
                results.push(result);
                wanted.insert(call.id);
            }
        }
        self.calls += all - results.len();
        self.push(self.wire.with_calls(items, &wanted), PieceAuthor::Other);
        self.push(self.wire.results(results), PieceAuthor::Tool);
    }

    /// Results stand with their calls already; what is said beside them stays.
    fn results(&mut self, results: Vec<(String, Object)>, beside: Option<Object>) {
        if self.loose && self.agent {
            let known_elsewhere = results.into_iter().filter(|(id, _)| self.sent.remove(id).is_some());
            let results = known_elsewhere.map(|(id, item)| self.wire.sent(&id, item)).collect();
            self.push(self.wire.results(results), PieceAuthor::Tool);
        }
        if let Some(beside) = beside {
            self.push(vec![beside], PieceAuthor::User);
        }
    }
}
