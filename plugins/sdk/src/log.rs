//! Messages to the author.

pub use crate::bindings::lifecycle::leafgate::plugin::host::Level;

/// Writes a message that the host keeps while a plugin is being tested and drops while requests
/// flow. In native tests it goes to standard error.
pub fn log(level: Level, message: &str) {
    if cfg!(target_arch = "wasm32") {
        crate::bindings::lifecycle::leafgate::plugin::host::log(level, message);
    } else {
        #[expect(clippy::print_stderr, reason = "a native test has no host that would take the message")]
        {
            eprintln!("{level:?}: {message}");
        }
    }
}
