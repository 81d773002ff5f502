//! How many bytes of request bodies a gate holds at a time.
//!
//! A bound on one body bounds nothing where clients may send any number of them, slowly. All bodies in flight share one budget, and a
//! body that does not fit into what is left of it is refused. It does not wait: bodies that wait for each other would wait for ever.

use std::sync::Arc;

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::refusal::{Code, Refusal};

/// The budget is counted in pieces of so many bytes.
const PIECE: usize = 4096;

/// What all bodies of a gate share.
#[derive(Clone)]
pub struct BodyBudget {
    free: Arc<Semaphore>,
    bytes: usize,
}

/// What one body takes of it; given back when it is dropped.
pub struct Reservation {
    budget: Option<BodyBudget>,
    pieces: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

impl BodyBudget {
    /// A budget of so many bytes.
    pub fn new(bytes: usize) -> Self {
        let pieces = (bytes / PIECE).clamp(1, u32::MAX as usize);
        BodyBudget { free: Arc::new(Semaphore::new(pieces)), bytes }
    }

    /// A reservation for a body of which nothing is there yet.
    pub fn reserve(&self) -> Reservation {
        Reservation { budget: Some(self.clone()), pieces: None, bytes: 0 }
    }
}

impl Reservation {
    /// A reservation for a body that is bounded otherwise.
    pub fn unbounded() -> Self {
        Reservation { budget: None, pieces: None, bytes: 0 }
    }

    /// Takes what is lacking for a body of so many bytes.
    pub fn cover(&mut self, bytes: usize) -> Result<(), Refusal> {
        let Some(BodyBudget { free, bytes: budget }) = &self.budget else { return Ok(()) };
        let lacking = bytes.saturating_sub(self.bytes).div_ceil(PIECE);
        if lacking == 0 {
            return Ok(());
        }
        let more = u32::try_from(lacking)
            .ok()
            .and_then(|pieces| Arc::clone(free).try_acquire_many_owned(pieces).ok());
        let more = more.ok_or_else(|| exhausted(*budget))?;
        match &mut self.pieces {
            Some(pieces) => pieces.merge(more),
            None => self.pieces = Some(more),
        }
        self.bytes += lacking * PIECE;
        Ok(())
    }

    /// Takes what is lacking for a body of so many bytes, or all that is left: what cannot be refused leaves less room for others.
    pub fn cover_as_possible(&mut self, bytes: usize) {
        let Some(BodyBudget { free, .. }) = &self.budget else { return };
        let room = free.available_permits().saturating_mul(PIECE);
        // Others may have been faster meanwhile; they are refused then.
        let _ = self.cover(bytes.min(self.bytes.saturating_add(room)));
    }
}

/// What an answer takes that is kept. Small values cost much more than the bytes that spell them.
#[derive(Default)]
pub struct AnswerWeight {
    bytes: usize,
    values: usize,
    /// Of these, how many are read, and written anew where something changes.
    read: usize,
    in_text: bool,
    is_escaped: bool,
}

impl AnswerWeight {
    /// What is kept of one value: its place in the index, which grows by doubling.
    const PLACE: usize = 80;

    /// What is kept of one value that is read.
    const VALUE: usize = 128;

    /// More of a whole answer has come.
    pub fn add(&mut self, json: &[u8]) {
        self.bytes += json.len();
        for &byte in json {
            let is_escaped = std::mem::take(&mut self.is_escaped);
            match byte {
                b'"' if !is_escaped => self.in_text = !self.in_text,
                b'\\' if self.in_text => self.is_escaped = !is_escaped,
                b',' | b'{' | b'[' if !self.in_text => self.values += 1,
                _ => {}
            }
        }
    }

    /// Events of so many bytes have come, of which so many values are kept.
    pub fn of_events(bytes: usize, values: usize) -> Self {
        AnswerWeight { bytes, values, read: values, ..AnswerWeight::default() }
    }

    /// So many of its values are read.
    pub fn reads(&mut self, values: usize) {
        self.read = values;
    }

    /// What it takes, where its bytes are there so many times.
    pub fn total(&self, copies: usize) -> usize {
        copies * self.bytes + Self::PLACE * self.values + (Self::VALUE - Self::PLACE) * self.read
    }
}

fn exhausted(bytes: usize) -> Refusal {
    let message = format!(
        "this gate holds nearly {bytes} bytes of request bodies, the most that it keeps at a time (limit `bodies`); send the request again in a moment"
    );
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::Busy, message)
        .with_header(RETRY_AFTER, HeaderValue::from_static("1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_of_an_answer_weighs_wherever_the_answer_is_cut() {
        let json = br#"{"a, [\\\"{": ["\u005c\\", {}, 1], "b": ",,,"}"#;
        for cut in 0..json.len() {
            let mut weight = AnswerWeight::default();
            weight.add(&json[..cut]);
            weight.add(&json[cut..]);
            assert_eq!(weight.total(2), 2 * json.len() + 6 * AnswerWeight::PLACE, "{cut}");
        }
    }

    #[test]
    fn bodies_share_one_budget_and_give_their_part_back() {
        let budget = BodyBudget::new(10 * PIECE);
        let (mut one, mut two) = (budget.reserve(), budget.reserve());
        for bytes in [1, PIECE, 4 * PIECE - 1] {
            one.cover(bytes).unwrap();
        }
        two.cover(6 * PIECE).unwrap();
        let refusal = two.cover(6 * PIECE + 1).unwrap_err();
        assert_eq!((refusal.status, refusal.code), (StatusCode::SERVICE_UNAVAILABLE, Code::Busy));
        assert!(refusal.message.contains("limit `bodies`"));
        drop(one);
        two.cover(10 * PIECE).unwrap();
        assert!(two.cover(usize::MAX).is_err());
    }

    #[test]
    fn what_cannot_be_refused_takes_what_is_left() {
        let budget = BodyBudget::new(10 * PIECE);
        let (mut one, mut two) = (budget.reserve(), budget.reserve());
        one.cover(4 * PIECE).unwrap();
        two.cover_as_possible(20 * PIECE);
        assert!(one.cover(5 * PIECE).is_err());
        drop(two);
        one.cover(10 * PIECE).unwrap();
    }

    #[test]
    fn what_is_bounded_otherwise_takes_nothing() {
        Reservation::unbounded().cover(usize::MAX).unwrap();
    }
}
