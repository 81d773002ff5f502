//! The projection of `raw` holds together, whatever a body holds.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| leafgate_harness::projection(leafgate_harness::Format::Raw, input));
