//! Undo and redo are exact, and redactions stay, whatever is done in whatever order.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| leafgate_harness::journal(input));
