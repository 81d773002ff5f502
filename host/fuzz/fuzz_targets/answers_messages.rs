//! No client finds in an answer of Messages, whole or cut, what was not judged.
#![no_main]

#[path = "../../gate/tests/hostile/rig.rs"]
#[allow(dead_code, unreachable_pub)]
mod rig;

use leafgate_harness::clients::Api;

libfuzzer_sys::fuzz_target!(|input: &[u8]| rig::check(Api::Messages, input));
