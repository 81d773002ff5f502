//! Why a plugin gave no usable answer.

/// Why a plugin gave no usable answer. Nothing of its answer is applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// One call ran past its deadline.
    #[error("ran past its deadline of {limit_ms} ms")]
    Deadline {
        /// The deadline of this call in milliseconds.
        limit_ms: u64,
    },
    /// All its calls for one request together took too long.
    #[error("took longer than the {limit_ms} ms that it has for one request")]
    RequestTime {
        /// Its time for this request in milliseconds; waiting for a free slot counts.
        limit_ms: u64,
    },
    /// It asked for more memory than it may have.
    #[error("needed more than its {} of memory", size(*.limit))]
    Memory {
        /// The limit in bytes.
        limit: usize,
    },
    /// It executed a trap, named by wasmtime's code (`unreachable`, `stack overflow`, ...).
    #[error("trapped: {code}")]
    Trap {
        /// wasmtime's name of the trap.
        code: String,
    },
    /// It panicked. What it said of that, with file and line, is for reviewers, after redaction, never
    /// for clients.
    #[error("panicked")]
    Panicked {
        /// Its own words.
        message: PluginWords,
    },
    /// It failed on one text of those that it was given.
    #[error("{fault}")]
    OnText {
        /// The place of the text.
        place: usize,
        /// How it failed.
        fault: Box<Fault>,
    },
    /// Its answers to one request are more than allowed.
    #[error("answered one request with more than {limit} {what}")]
    TooMuch {
        /// The limit.
        limit: usize,
        /// Of what.
        what: Amount,
    },
    /// Its answer does not fit what it was asked.
    #[error("gave an invalid answer: {0}")]
    Invalid(InvalidAnswer),
    /// It said that it cannot answer. Its own words are for reviewers, after redaction, never for
    /// clients.
    #[error("gave up ({})", if *.unsupported { "unsupported" } else { "internal failure" })]
    GaveUp {
        /// True for `unsupported`, false for `internal`.
        unsupported: bool,
        /// Its own words.
        message: PluginWords,
    },
    /// Its script threw. What it threw is for reviewers, after redaction, never for clients.
    #[error("threw at {file}:{line}:{column}")]
    Threw {
        /// Name of the script's file.
        file: String,
        /// Line and column, from 1. Both lie inside the file, whatever the script says.
        line: usize,
        /// In characters.
        column: usize,
        /// What it threw.
        message: PluginWords,
    },
    /// It failed too often, and is not asked for a while.
    #[error("is in quarantine: it failed on {faults} different texts (`leafgate plugin release` ends it)")]
    Quarantined {
        /// On how many.
        faults: usize,
    },
    /// It could not be started at all.
    #[error("could not be started: {0}")]
    Unavailable(String),
}

/// A limit in the largest unit of which it is so many.
fn size(bytes: usize) -> String {
    match bytes {
        mib if mib % (1 << 20) == 0 => format!("{} MiB", mib >> 20),
        kib if kib % (1 << 10) == 0 => format!("{} KiB", kib >> 10),
        bytes => format!("{bytes} bytes"),
    }
}

impl Fault {
    /// Says on which text it failed, by its place among those that it was given, where that is not said yet. What a whole request may
    /// cost is no text's fault.
    #[must_use]
    pub fn on_text(self, place: usize) -> Fault {
        match self {
            known @ (Fault::OnText { .. }
            | Fault::RequestTime { .. }
            | Fault::TooMuch { .. }
            | Fault::Quarantined { .. }) => known,
            fault => Fault::OnText { place, fault: Box::new(fault) },
        }
    }

    /// Returns the same, with the text's place among others than those that the call was about.
    #[must_use]
    pub fn moved(self, to: impl FnOnce(usize) -> usize) -> Fault {
        match self {
            Fault::OnText { place, fault } => Fault::OnText { place: to(place), fault },
            fault => fault,
        }
    }

    /// Returns the place of the text on which it failed, where that is known, and how.
    pub fn parts(&self) -> (Option<usize>, &Fault) {
        match self {
            Fault::OnText { place, fault } => (Some(*place), fault),
            fault => (None, fault),
        }
    }

    /// Returns its own words, for redaction.
    pub fn words(&self) -> Option<&PluginWords> {
        match self.parts().1 {
            Fault::GaveUp { message, .. } | Fault::Threw { message, .. } | Fault::Panicked { message } => {
                Some(message)
            }
            _ => None,
        }
    }

    /// Returns the name of the limit that was met, as the host's list of limits calls it.
    pub fn limit(&self) -> Option<&'static str> {
        match self {
            Fault::OnText { fault, .. } => fault.limit(),
            Fault::Deadline { .. } => Some("call_deadline"),
            Fault::RequestTime { .. } => Some("request_time"),
            Fault::Memory { .. } => Some("memory_bytes"),
            Fault::TooMuch { what, .. } => Some(what.limit()),
            Fault::Invalid(InvalidAnswer::Unreadable { .. }) => Some("answer_bytes"),
            Fault::Invalid(_)
            | Fault::Trap { .. }
            | Fault::Panicked { .. }
            | Fault::GaveUp { .. }
            | Fault::Threw { .. }
            | Fault::Quarantined { .. }
            | Fault::Unavailable(_) => None,
        }
    }
}

leafgate_words::words! {
    /// The units in which a plugin's answers are counted.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Amount {
        /// Findings of a detector, redactions of a transformer.
        Findings = "findings" / "findings",
        /// Edits of a transformer.
        Edits = "edits" / "edits",
        /// Memory on the host.
        Bytes = "bytes" / "answer_bytes",
    }
    /// What it is called.
    pub fn name = 0;
    /// The limit of a rule file that bounds it.
    fn limit = 1;
}

/// How an answer can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidAnswer {
    /// A span ends after its leaf, or before it starts.
    #[error("a span lies outside its leaf")]
    SpanOutside,
    /// A span starts or ends inside a character.
    #[error("a span starts or ends inside a character")]
    SpanInsideCharacter,
    /// A finding or edit is about a leaf that was not given.
    #[error("it answered for a leaf that it was not given")]
    UnknownLeaf,
    /// An edit is about a section that does not exist.
    #[error("it answered for a section that does not exist")]
    UnknownSection,
    /// A label's place is not in the plugin's own list.
    #[error("it used a label that it did not describe")]
    UnknownLabel,
    /// An action does not fit its target, or its text does not fit the leaf's type.
    #[error("an action does not fit its target")]
    Misfit,
    /// It could not be read: a list that lies about its length, text that is no UTF-8, a case that
    /// does not exist, or more of it than the host reads.
    #[error("it is malformed, or reading it takes more than {limit} bytes")]
    Unreadable {
        /// The bytes that the host may use to read the answer.
        limit: usize,
    },
}

/// Words that a plugin wrote. Whoever shows them redacts them first; `Debug` prints the length
/// only.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{} bytes of words", self.0.len())]
pub struct PluginWords(String);

impl PluginWords {
    /// Wraps what a plugin said.
    pub fn new(words: impl Into<String>) -> Self {
        PluginWords(words.into())
    }

    /// Returns the words, for redaction.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_told_as_it_is() {
        for (limit, told) in
            [(64 << 20, "64 MiB"), (1536 << 10, "1536 KiB"), (1, "1 bytes"), (100_000, "100000 bytes")]
        {
            let told = format!("needed more than its {told} of memory");
            assert_eq!(Fault::Memory { limit }.to_string(), told);
        }
    }
}
