//! The host's data of one instance: its memory budget and its log.

use std::sync::Arc;

use leafgate_words::words;
use wasmtime::ResourceLimiter;

use crate::aside::TicksLeft;
use crate::limits::LoaderLimits;

/// Takes what plugins log: the plugin's declared name, the level and the message, which may quote
/// leaf text.
pub type LogSink = Arc<dyn Fn(&str, LogLevel, &str) + Send + Sync>;

words! {
    /// Level of a plugin's log message.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum LogLevel {
        /// For the author.
        Debug = "debug",
        /// Worth knowing.
        Info = "info",
        /// Probably wrong.
        Warn = "warn",
        /// Wrong.
        Error = "error",
    }
    /// Returns its name.
    pub fn name = 0;
}

/// Bytes of an error that are kept for whoever asked: a panic has a sentence, and a file's name.
const LONGEST_ERROR: usize = 1000;

/// Data of one store; as short-lived as the call.
pub(crate) struct CallState {
    memory: GrowthBudget,
    table: GrowthBudget,
    log: Option<(LogSink, Arc<str>)>,
    log_bytes_left: usize,
    /// The last thing that it called an error: what a panic says before it traps.
    last_error: Option<String>,
    /// What is left of the deadline under which the guest runs.
    pub(crate) ticks: TicksLeft,
}

/// A limit over several memories or tables.
struct GrowthBudget {
    limit: usize,
    used: usize,
    /// Set when growth was denied, and never cleared: a trap that follows is because of it.
    denied: bool,
}

impl CallState {
    pub(crate) fn new(limits: &LoaderLimits, log: Option<(LogSink, Arc<str>)>) -> Self {
        CallState {
            memory: GrowthBudget::new(limits.memory_bytes),
            table: GrowthBudget::new(limits.table_elements),
            log,
            log_bytes_left: limits.log_bytes,
            last_error: None,
            ticks: TicksLeft::default(),
        }
    }

    /// Returns the last thing that the instance called an error.
    pub(crate) fn last_error(&self) -> Option<&str> {
        self.last_error.as_deref()
    }

    /// Returns true once the instance has asked for more memory or table space than it may have.
    pub(crate) fn was_denied_memory(&self) -> bool {
        self.memory.denied || self.table.denied
    }

    /// Passes a message on while the call's budget lasts; the message that exceeds it is dropped,
    /// and all after it.
    pub(crate) fn log(&mut self, level: LogLevel, message: &str) {
        if level == LogLevel::Error {
            self.last_error = Some(message[..message.floor_char_boundary(LONGEST_ERROR)].to_owned());
        }
        let Some((sink, plugin)) = &self.log else { return };
        match self.log_bytes_left.checked_sub(message.len()) {
            Some(left) => {
                self.log_bytes_left = left;
                sink(plugin, level, message);
            }
            None => self.log_bytes_left = 0,
        }
    }
}

impl GrowthBudget {
    fn new(limit: usize) -> Self {
        GrowthBudget { limit, used: 0, denied: false }
    }

    fn grow(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> bool {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        // The maximum is the module's own or that of the pool's slot. Beyond it growth fails in any
        // case.
        if used > self.limit || maximum.is_some_and(|maximum| desired > maximum) {
            self.denied = true;
            return false;
        }
        self.used = used;
        true
    }
}

/// A denied growth is answered with -1, as WebAssembly has it: a language runtime may still collect
/// its garbage and go on.
impl ResourceLimiter for CallState {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.memory.grow(current, desired, maximum))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.table.grow(current, desired, maximum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_memories_share_one_budget() {
        let mut budget = GrowthBudget::new(100);
        assert!(budget.grow(0, 60, None));
        assert!(!budget.grow(0, 60, None));
        assert!(budget.denied);
        assert!(budget.grow(60, 100, None));
    }

    #[test]
    fn logs_are_bounded_and_stop_at_the_first_message_that_does_not_fit() {
        let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
        let record = Arc::clone(&seen);
        let sink: LogSink = Arc::new(move |_, _, message| record.lock().unwrap().push(message.to_owned()));
        let limits = LoaderLimits { log_bytes: 5, ..LoaderLimits::default() };
        let mut state = CallState::new(&limits, Some((sink, "p".into())));
        for message in ["abc", "defg", "h"] {
            state.log(LogLevel::Info, message);
        }
        assert_eq!(*seen.lock().unwrap(), ["abc"]);
    }
}
