//! The index holds every position of a body, and names each so that it is found again.
#![no_main]

use leafgate_harness::index;

libfuzzer_sys::fuzz_target!(|input: &[u8]| index(input));
