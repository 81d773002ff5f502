//! Counts, in tests, the bytes that are read: by decoders, parsers and checks, and by regexes.

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    static BY_REGEXES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that were read.
#[inline(always)]
pub(crate) fn spend(_bytes: usize) {
    #[cfg(test)]
    SPENT.with(|spent| spent.set(spent.get() + _bytes));
}

/// Counts bytes that a regex has read.
#[cfg(test)]
pub(crate) fn spend_by_regex(bytes: usize) {
    spend(bytes);
    BY_REGEXES.with(|spent| spent.set(spent.get() + bytes));
}

/// Begins to count anew.
#[cfg(test)]
pub(crate) fn reset() {
    SPENT.with(|spent| spent.set(0));
    BY_REGEXES.with(|spent| spent.set(0));
}

/// Returns how many bytes were read since.
#[cfg(test)]
pub(crate) fn spent() -> usize {
    SPENT.with(std::cell::Cell::get)
}

/// Returns how many of them regexes have read.
#[cfg(test)]
pub(crate) fn spent_by_regexes() -> usize {
    BY_REGEXES.with(std::cell::Cell::get)
}
