//! What was heard of an answer, told as the steps of a [`Reply`](crate::Reply): its texts and calls.

use std::collections::{BTreeMap, BTreeSet};

use leafgate_tree::Document;

use crate::account::Account;
use crate::reply::Delta;
use crate::said::{Position, Said, TextKind, TextPlace};

/// Stands between two texts of reasoning, which are paragraphs or have headings.
const BETWEEN_REASONING: &str = "\n\n";

/// Tells one choice of an answer.
#[derive(Default)]
pub(crate) struct ChoiceTelling {
    choice: usize,
    texts: BTreeSet<TextPlace>,
    /// The latest reasoning.
    reasoning: Option<TextPlace>,
    /// The calls in the order in which they began, and how much of their arguments is told.
    calls: BTreeMap<TextPlace, (usize, usize)>,
}

impl ChoiceTelling {
    /// Tells the first choice that something was said of.
    pub(crate) fn first(said: &[Said]) -> Self {
        let says = said.iter().filter(|said| matches!(said, Said::Text { .. } | Said::Call(..)));
        let choices = says.map(|said| said.choice());
        ChoiceTelling { choice: choices.min().unwrap_or_default(), ..ChoiceTelling::default() }
    }

    /// Returns what is new of what an answer or an event says. `account` has heard it.
    pub(crate) fn tell(&mut self, document: &Document, said: &[Said], account: &Account) -> Vec<Delta> {
        let mut deltas = Vec::new();
        for one in said {
            match *one {
                Said::Text { place, again: true, .. } if self.texts.contains(&place) => {}
                Said::Text { place, leaf, .. } => {
                    if let Some(leaf) = document.leaf(leaf).filter(|_| place.choice == self.choice) {
                        self.text(place, leaf.text().expose(), &mut deltas);
                    }
                }
                Said::Call(place, _) if place.choice == self.choice => {
                    self.call(place, account, &mut deltas);
                }
                Said::End(choice, at) if choice == self.choice => self.end(at, account, &mut deltas),
                Said::EndAll => self.end(Position::LAST, account, &mut deltas),
                Said::Id(_) | Said::Item(..) | Said::Items(_) | Said::Call(..) | Said::End(..) => {}
            }
        }
        deltas
    }

    /// Returns whether the model refuses.
    pub(crate) fn refuses(&self) -> bool {
        self.texts.iter().any(|place| place.text == TextKind::Refusal)
    }

    fn text(&mut self, place: TextPlace, words: &str, deltas: &mut Vec<Delta>) {
        if words.is_empty() {
            return;
        }
        self.texts.insert(place);
        if !place.text.is_reasoning() {
            return deltas.push(Delta::Content(words.into()));
        }
        match self.reasoning {
            // Some servers say it under two names.
            Some(last) if last.at == place.at && last != place => return,
            Some(last) if last != place => deltas.push(Delta::Reasoning(BETWEEN_REASONING.into())),
            _ => {}
        }
        self.reasoning = Some(place);
        deltas.push(Delta::Reasoning(words.into()));
    }

    /// A call begins once it has a name.
    fn call(&mut self, place: TextPlace, account: &Account, deltas: &mut Vec<Delta>) {
        let Some(call) = account.call(place).filter(|call| !call.name.is_empty()) else { return };
        let next = self.calls.len();
        if let Some((at, told)) = self.calls.get_mut(&place) {
            let more = call.arguments.get(*told..).filter(|more| !more.is_empty());
            deltas.extend(more.map(|more| Delta::Arguments { call: *at, text: more.into() }));
            *told = call.arguments.len().max(*told);
        } else {
            self.calls.insert(place, (next, call.arguments.len()));
            deltas.push(Delta::Call(call.call()));
        }
    }

    /// A call whose arguments are an object has an empty one where it ends without any.
    fn end(&mut self, end: Position, account: &Account, deltas: &mut Vec<Delta>) {
        for (&place, (at, told)) in self.calls.iter_mut().filter(|(place, _)| place.at <= end) {
            if *told == 0 && account.call(place).is_some_and(|call| call.is_object()) {
                // No more of it is told.
                *told = usize::MAX;
                deltas.push(Delta::Arguments { call: *at, text: "{}".into() });
            }
        }
    }
}
