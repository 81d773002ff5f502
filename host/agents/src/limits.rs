//! What a run may take, whatever its team says.

/// What a run may take. Each is a hard end: a run that reaches one finishes with what it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Requests to models, in all frames together. Delegations multiply, so the caps of a single
    /// agent are no bound for a run.
    pub requests: u32,
    /// Frames, ended ones too.
    pub frames: u32,
    /// Frames that ask a model at the same time, or wait for their turn to.
    pub side_by_side: u32,
    /// Calls of one reply; those beyond are answered with an error.
    pub calls: usize,
    /// Bytes of all conversations of a run.
    pub bytes: usize,
}

impl Default for RunLimits {
    fn default() -> Self {
        RunLimits { requests: 400, frames: 100, side_by_side: 16, calls: 64, bytes: 32 * 1024 * 1024 }
    }
}
