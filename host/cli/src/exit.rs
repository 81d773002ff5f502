//! Exit codes of the process.

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command succeeded. For a request: it would be forwarded.
    Done,
    /// The claim that the command checks does not hold: a secret would leave or stands in a file, a
    /// test of a policy fails, a receipt was changed.
    Unmet,
    /// A bad call, an unreadable input, an unusable policy, or a gate that refuses. clap uses the
    /// same code.
    Bad,
    /// The request would wait for a person.
    Paused,
    /// The request would be blocked.
    Blocked,
    /// A program was run, and ended with this code.
    Program(u8),
}

impl Exit {
    /// Returns the exit code.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Unmet => 1,
            Exit::Bad => 2,
            Exit::Paused => 3,
            Exit::Blocked => 4,
            Exit::Program(code) => code,
        }
    }
}
