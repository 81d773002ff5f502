//! An edit changes its own value and nothing else.
#![no_main]

use leafgate_harness::splice;

libfuzzer_sys::fuzz_target!(|input: &[u8]| splice(input));
