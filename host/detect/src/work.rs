//! Counts the bytes that decoders and regexes are given to read, in tests.

#[cfg(test)]
thread_local! {
    static SPENT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts bytes that were read.
#[inline(always)]
pub(crate) fn spend(_bytes: usize) {
    #[cfg(test)]
    SPENT.with(|spent| spent.set(spent.get() + _bytes));
}

/// Begins to count anew.
#[cfg(test)]
pub(crate) fn reset() {
    SPENT.with(|spent| spent.set(0));
}

/// Returns how many bytes were read since.
#[cfg(test)]
pub(crate) fn spent() -> usize {
    SPENT.with(std::cell::Cell::get)
}
