//! An edit changes its own value and nothing else.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| leafgate_harness::splice(input));
