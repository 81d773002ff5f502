//! Counts the bytes that an evaluation decodes, hashes and scans, and what it does for each finding, so that
//! tests can tell work that is proportional to what is new from more.

#[cfg(test)]
thread_local! {
    static DONE: std::cell::Cell<Work> = const { std::cell::Cell::new(Work { decoded: 0, hashed: 0, scanned: 0, steps: 0 }) };
}

/// Bytes of texts, since the last call of [`take`].
#[cfg(test)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Work {
    pub(crate) decoded: usize,
    pub(crate) hashed: usize,
    pub(crate) scanned: usize,
    pub(crate) steps: usize,
}

/// Counts a text that was decoded from its spelling.
#[inline(always)]
pub(crate) fn decoded(_bytes: usize) {
    #[cfg(test)]
    add(|work| work.decoded += _bytes);
}

/// Counts a step that is made for a finding.
#[inline(always)]
pub(crate) fn step() {
    #[cfg(test)]
    add(|work| work.steps += 1);
}

/// Counts a text that was hashed.
#[inline(always)]
pub(crate) fn hashed(_bytes: usize) {
    #[cfg(test)]
    add(|work| work.hashed += _bytes);
}

/// Counts a text that an engine ran on.
#[inline(always)]
pub(crate) fn scanned(_bytes: usize) {
    #[cfg(test)]
    add(|work| work.scanned += _bytes);
}

#[cfg(test)]
fn add(change: impl FnOnce(&mut Work)) {
    DONE.with(|done| {
        let mut work = done.get();
        change(&mut work);
        done.set(work);
    });
}

/// Returns what was done since the last call.
#[cfg(test)]
pub(crate) fn take() -> Work {
    DONE.with(std::cell::Cell::take)
}
