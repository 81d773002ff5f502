//! Sets of values of an enum, as `match` writes them.

/// A set of values of one enum, one bit each; empty means that the field was not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Bits(u32);

impl Bits {
    pub(crate) fn insert(&mut self, place: usize) {
        self.0 |= 1 << place;
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn allows(self, other: Bits) -> bool {
        self.is_empty() || self.0 & other.0 != 0
    }

    /// Whether it allows whatever another set does.
    pub(crate) fn covers(self, other: Bits) -> bool {
        self.is_empty() || !other.is_empty() && other.0 & !self.0 == 0
    }

    pub(crate) fn union(self, other: Bits) -> Bits {
        Bits(self.0 | other.0)
    }

    pub(crate) fn of(place: usize) -> Bits {
        Bits(1 << place)
    }
}

/// Returns the words of a set of bits.
pub(crate) fn words_of<T: Copy>(bits: Bits, all: &[T], name: impl Fn(T) -> &'static str) -> Vec<String> {
    let chosen = all.iter().enumerate().filter(|(place, _)| bits.0 & (1 << place) != 0);
    chosen.map(|(_, &value)| name(value).to_owned()).collect()
}
