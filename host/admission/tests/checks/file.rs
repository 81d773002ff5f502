//! A file is refused in one line, or it is a plugin that imports nothing but the contract.

use std::sync::LazyLock;

use leafgate_admission::{
    Binary, CONTRACT, FileLayer, ModuleState, Refusal, Telling, admit, contract, exports, identify, read,
};
use wasmparser::{Validator, WasmFeatures};

use super::{Choices, is_line};
use crate::guest::{Guest, finding};

/// What inputs change, so that most of them are nearly plugins. The first ones are.
pub(crate) static BASES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let detector = Guest::detector().call(finding(0, 0, 4, 0));
    let import = r#"(import "leafgate:plugin/host@0.1.0" "log" (func $log (param i32 i32 i32)))"#;
    let stateful = Guest::detector()
        .with("(global (mut i64) (i64.const 7)) (global (mut f32) (f32.const 7)) (table 2 funcref)")
        .start("(drop (memory.grow (i32.const 1)))");
    vec![
        detector.module(),
        detector.component(),
        Guest::transformer().module(),
        Guest::detector().with(import).module(),
        stateful.module(),
        Guest::both_worlds(),
        detector.module_of_version("0.2.0"),
        detector.untyped(),
    ]
});

/// Bytes behind which an occurrence is the same one: a name of the contract stands in many places.
const NAME: usize = 12;

/// Holds the file gate to its promises. An input is a file, or which plugin to change and how.
pub(crate) fn file(input: &[u8]) {
    let bytes = if input.starts_with(b"\0asm") { input.to_vec() } else { changed(input) };
    let binary = Binary::new(bytes);
    let Some(layer) = told(identify(&binary, None)) else { return };
    if let Some(anatomy) = told(read(&binary.bytes)) {
        let _ = (contract(&anatomy), told(exports(&anatomy, CONTRACT)));
    }
    let Some(admitted) = told(admit(&binary, CONTRACT)) else { return };
    assert_eq!(admitted.layer, layer);
    only_the_contract(&admitted.component);
    let anatomy = read(&admitted.component).expect("an admitted component is read");
    for called in [&admitted.exports.lifecycle, &admitted.exports.work] {
        assert!(anatomy.exports.contains(called), "{called}");
    }
    if layer == FileLayer::CoreModule {
        valid(&admitted.component);
    }
    let telling = match Telling::new(&binary, &admitted) {
        Ok(telling) => telling,
        Err(reason) => return is_line(&reason.to_string()),
    };
    valid(&telling.component);
    only_the_contract(&telling.component);
    // Whatever an instance becomes, and whatever it says that it became.
    for (pages, globals) in [(0, 0), (1, 2), (3, 4096)] {
        let memory: Vec<u8> = (0..pages << 16).map(|at: usize| (at / 5000 % 3) as u8).collect();
        let state = ModuleState { memory, globals: vec![u64::MAX / 3; globals] };
        if let Ok(starting) = telling.starting_with(&state, 1 << 20) {
            valid(&starting);
            only_the_contract(&starting);
        }
    }
}

/// A plugin with some changes in it.
fn changed(input: &[u8]) -> Vec<u8> {
    let mut choices = Choices::new(input);
    let mut bytes = BASES[choices.below(BASES.len())].clone();
    while choices.more() {
        let (change, at, byte) = (choices.byte() % 6, choices.below(bytes.len()), choices.byte());
        let end = bytes.len().min(at + usize::from(byte));
        match change {
            0 if at < bytes.len() => bytes[at] = byte,
            1 => bytes.insert(at, byte),
            2 => drop(bytes.drain(at..end)),
            3 => bytes.truncate(at),
            4 => {
                let copy = bytes[at..end].to_vec();
                drop(bytes.splice(end..end, copy));
            }
            5 if at + NAME <= bytes.len() => everywhere(&mut bytes, at, byte),
            _ => {}
        }
    }
    bytes
}

/// Changes the last byte of a name wherever the name stands.
fn everywhere(bytes: &mut [u8], at: usize, byte: u8) {
    let name = bytes[at..at + NAME].to_vec();
    for start in 0..=bytes.len() - NAME {
        if bytes[start..start + NAME] == name {
            bytes[start + NAME - 1] = byte;
        }
    }
}

fn told<T>(result: Result<T, Refusal>) -> Option<T> {
    result
        .inspect_err(|refusal| {
            is_line(&refusal.to_string());
            is_line(&refusal.hint());
        })
        .ok()
}

fn only_the_contract(component: &[u8]) {
    let anatomy = read(component).expect("what was made is read");
    assert_eq!(anatomy.layer, FileLayer::Component);
    for import in &anatomy.imports {
        let ours = ["leafgate:plugin/host@0.1.", "leafgate:plugin/types@0.1."];
        assert!(ours.iter().any(|ours| import.starts_with(ours)), "{import}");
    }
}

fn valid(component: &[u8]) {
    let validated = Validator::new_with_features(WasmFeatures::all()).validate_all(component);
    assert_eq!(validated.err().map(|error| error.to_string()), None);
}
