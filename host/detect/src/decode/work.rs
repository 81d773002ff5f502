//! Counts the bytes that decoders read, in tests.

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that were read.
#[inline(always)]
pub(super) fn spend(_bytes: usize) {
    #[cfg(test)]
    SPENT.with(|spent| spent.set(spent.get() + _bytes));
}

/// Begins to count anew.
#[cfg(test)]
pub(super) fn reset() {
    SPENT.with(|spent| spent.set(0));
}

/// Returns how many bytes were read since.
#[cfg(test)]
pub(super) fn spent() -> usize {
    SPENT.with(std::cell::Cell::get)
}
