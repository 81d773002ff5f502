//! The projection of `gemini` holds together, whatever a body holds.
#![no_main]

use leafgate_harness::{Format, projection};

libfuzzer_sys::fuzz_target!(|input: &[u8]| projection(Format::Gemini, input));
