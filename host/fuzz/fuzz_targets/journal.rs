//! Undo and redo are exact, and redactions stay, whatever is done in whatever order.
#![no_main]

use leafgate_harness::journal;

libfuzzer_sys::fuzz_target!(|input: &[u8]| journal(input));
