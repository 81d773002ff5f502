//! The index holds every position of a body, and names each so that it is found again.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| leafgate_harness::index(input));
