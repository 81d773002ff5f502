//! Limits that a rule file sets for one plugin.

use std::time::Duration;

/// What `[plugins.<name>.limits]` sets; `None` where the runner's own limit holds. Rule files
/// set none above its cap: a request waits no longer than clients do, and plugins leave room for each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PluginLimits {
    /// Time for starting an instance, and for `describe` and `configure` on load.
    pub start_deadline: Option<Duration>,
    /// Time of one call, whatever its size.
    pub call_deadline: Option<Duration>,
    /// Time of all calls for one request, whatever its size.
    pub request_time: Option<Duration>,
    /// Memory of an instance.
    pub memory_bytes: Option<usize>,
    /// Memory that the answers to one request take on the host.
    pub answer_bytes: Option<usize>,
    /// Findings or redactions for one request.
    pub findings: Option<usize>,
    /// Edits for one request.
    pub edits: Option<usize>,
}

impl PluginLimits {
    /// The most of [`PluginLimits::memory_bytes`] that a rule file sets.
    pub const MOST_MEMORY: usize = 256 << 20;
}
