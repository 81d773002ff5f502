//! A document inside strings is edited as if it stood alone.
#![no_main]

use leafgate_harness::embedded;

libfuzzer_sys::fuzz_target!(|input: &[u8]| embedded(input));
