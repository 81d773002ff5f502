//! An answer counts if and only if each item of it fits what was asked.
#![no_main]

#[path = "../../admission/tests/checks/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports)]
mod checks;
#[path = "../../wasm/tests/wasm/support/guest.rs"]
#[allow(dead_code, unreachable_pub)]
mod guest;

libfuzzer_sys::fuzz_target!(|input: &[u8]| checks::answer(input));
