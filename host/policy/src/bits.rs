//! Sets of values of an enum, as `match` writes them.

/// A set of values of one enum, one bit each, and of those that it leaves out; empty means that the field
/// was not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits {
    any: u32,
    not: u32,
}

impl Bits {
    pub(crate) fn insert(&mut self, place: usize) {
        self.any |= 1 << place;
    }

    /// The same set, without all that is in another one.
    pub(crate) fn but(self, other: Bits) -> Bits {
        Bits { not: self.not | other.any, ..self }
    }

    pub(crate) fn is_empty(self) -> bool {
        self == Bits::default()
    }

    /// Whether it has something of another set, and leaves out nothing of it.
    pub(crate) fn allows(self, other: Bits) -> bool {
        (self.any == 0 || self.any & other.any != 0) && self.not & other.any == 0
    }

    /// Whether it allows whatever another set does.
    pub(crate) fn covers(self, other: Bits) -> bool {
        (self.any == 0 || other.any != 0 && other.any & !self.any == 0) && self.not & !other.not == 0
    }

    pub(crate) fn union(self, other: Bits) -> Bits {
        Bits { any: self.any | other.any, not: self.not | other.not }
    }

    pub(crate) fn of(place: usize) -> Bits {
        Bits { any: 1 << place, not: 0 }
    }
}

/// Returns the words of a set of bits, of all that an enum has.
pub(crate) fn words_of(bits: Bits, all: &[&str]) -> Vec<String> {
    let chosen = all.iter().enumerate().filter(|(place, _)| bits.allows(Bits::of(*place)));
    chosen.map(|(_, &word)| word.to_owned()).collect()
}
