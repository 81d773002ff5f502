//! The limits of plugins.

use std::time::Duration;

use leafgate_contract::PluginLimits;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// Limits that hold for every plugin of one [`crate::WasmLoader`]. [`Default`] is what the gate
/// ships with.
///
/// A rule file may set some of them for one plugin, within caps. The table and concurrency limits
/// and the cap of the memory size the allocator's pools, so they are fixed when the loader is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoaderLimits {
    /// Size of a plugin's file. Python with its standard library comes to 18 MB.
    pub file_bytes: usize,
    /// All linear memory of one instance together. It also bounds what a call can be handed,
    /// because arguments are copied there.
    pub memory_bytes: usize,
    /// Elements of all tables of one instance; a table costs eight bytes of host memory for each.
    pub table_elements: usize,
    /// Native stack for guest frames. Host threads that call plugins need at least twice this.
    pub stack_bytes: usize,
    /// Processor time for compiling one file, whatever its size.
    pub compile_time: Duration,
    /// Added to [`LoaderLimits::compile_time`] for each MiB of the file. Python with its standard library
    /// takes about a second a MiB.
    pub compile_time_per_mib: Duration,
    /// Wall time for starting an instance (start functions and `configure`) and, once per load, for
    /// `describe`.
    pub start_deadline: Duration,
    /// Wall time of one `detect` or `transform`, whatever its size; generous, because a busy
    /// machine must not look like a hung plugin.
    pub call_deadline: Duration,
    /// Added to [`LoaderLimits::call_deadline`] for each leaf.
    pub deadline_per_leaf: Duration,
    /// Added to [`LoaderLimits::call_deadline`] for each KiB of leaf text.
    pub deadline_per_kib: Duration,
    /// Wall time of all calls for one request, over all batches and phases. Waiting for a free
    /// place counts, so a request holds its thread no longer than this on behalf of one plugin.
    pub request_time: Duration,
    /// Added to [`LoaderLimits::request_time`] for each KiB of leaf text that the plugin is shown.
    pub request_time_per_kib: Duration,
    /// Host memory that the answers to one request may take. Guest strings may overlap, so guest
    /// memory alone does not bound it.
    pub answer_bytes: usize,
    /// Findings of a detector, or redactions of a transformer, in one request.
    pub findings: usize,
    /// Edits of a transformer in one request.
    pub edits: usize,
    /// Host memory that reading `describe` or the findings of `configure` may take.
    pub description_bytes: usize,
    /// Labels that a plugin may describe.
    pub labels: usize,
    /// Leaves of one `detect`; more become further calls.
    pub batch_leaves: usize,
    /// Leaf text of one `detect`; more becomes further calls. A single larger leaf goes alone.
    pub batch_bytes: usize,
    /// Calls that run at one time; further ones wait. More than there are cores only costs memory.
    pub concurrent_calls: usize,
    /// Calls of one plugin that run at one time, so that a slow one leaves cores to the others.
    pub calls_per_plugin: usize,
    /// Bytes of log messages of one call that reach the log sink.
    pub log_bytes: usize,
}

impl Default for LoaderLimits {
    fn default() -> Self {
        LoaderLimits {
            file_bytes: 32 * MIB,
            memory_bytes: 64 * MIB,
            table_elements: 100_000,
            stack_bytes: 512 * KIB,
            compile_time: Duration::from_secs(10),
            compile_time_per_mib: Duration::from_secs(5),
            start_deadline: Duration::from_secs(2),
            call_deadline: Duration::from_millis(500),
            deadline_per_leaf: Duration::from_micros(200),
            deadline_per_kib: Duration::from_millis(1),
            request_time: Duration::from_secs(2),
            request_time_per_kib: Duration::from_micros(500),
            answer_bytes: 16 * MIB,
            findings: 20_000,
            edits: 10_000,
            description_bytes: 256 * KIB,
            labels: 64,
            batch_leaves: 512,
            batch_bytes: 256 * KIB,
            concurrent_calls: 32,
            calls_per_plugin: std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2)),
            log_bytes: 64 * KIB,
        }
    }
}

impl LoaderLimits {
    /// Returns these limits with those that a rule file sets in their place.
    pub(crate) fn with(&self, own: &PluginLimits) -> Self {
        LoaderLimits {
            start_deadline: own.start_deadline.unwrap_or(self.start_deadline),
            call_deadline: own.call_deadline.unwrap_or(self.call_deadline),
            request_time: own.request_time.unwrap_or(self.request_time),
            memory_bytes: own.memory_bytes.unwrap_or(self.memory_bytes),
            answer_bytes: own.answer_bytes.unwrap_or(self.answer_bytes),
            findings: own.findings.unwrap_or(self.findings),
            edits: own.edits.unwrap_or(self.edits),
            ..self.clone()
        }
    }

    /// Returns the processor time for compiling a file of so many bytes.
    pub fn compile_time(&self, bytes: usize) -> Duration {
        let mib = u32::try_from(bytes.div_ceil(MIB)).unwrap_or(u32::MAX);
        self.compile_time.saturating_add(self.compile_time_per_mib.saturating_mul(mib))
    }

    /// Returns the wall time that one request has for one plugin that was shown so many bytes of
    /// text.
    pub fn request_time(&self, bytes: usize) -> Duration {
        let kib = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        self.request_time.saturating_add(self.request_time_per_kib.saturating_mul(kib))
    }

    /// Returns the wall time for one call that is given this many leaves and bytes of text.
    pub fn deadline(&self, leaves: usize, bytes: usize) -> Duration {
        let leaves = u32::try_from(leaves).unwrap_or(u32::MAX);
        let kib = u32::try_from(bytes.div_ceil(KIB)).unwrap_or(u32::MAX);
        self.call_deadline
            .saturating_add(self.deadline_per_leaf.saturating_mul(leaves))
            .saturating_add(self.deadline_per_kib.saturating_mul(kib))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_deadline_grows_with_leaves_and_with_bytes() {
        let limits = LoaderLimits::default();
        assert_eq!(limits.deadline(0, 0), Duration::from_millis(500));
        assert_eq!(limits.deadline(10, 0), Duration::from_millis(502));
        assert_eq!(limits.deadline(0, 2 * KIB), Duration::from_millis(502));
    }

    #[test]
    fn a_plugin_has_its_own_limits_and_otherwise_the_usual_ones() {
        let usual = LoaderLimits::default();
        assert_eq!(usual.with(&PluginLimits::default()), usual);
        let call_deadline = Some(Duration::from_secs(30));
        let own = usual.with(&PluginLimits { call_deadline, edits: Some(3), ..PluginLimits::default() });
        let expected = LoaderLimits { call_deadline: Duration::from_secs(30), edits: 3, ..usual };
        assert_eq!(own, expected);
    }

    #[test]
    fn the_deadline_of_an_absurd_call_does_not_overflow() {
        assert!(LoaderLimits::default().deadline(usize::MAX, usize::MAX) > Duration::from_secs(3600));
    }
}
