//! A document inside strings is edited as if it stood alone.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| leafgate_harness::embedded(input));
