//! Pre-initialisation: the memory and the globals of a configured instance become those that every
//! instance starts with.
//!
//! `configure` runs once, under the limits that it always has, in a module that can also tell its
//! state (`leafgate_admission::Telling`). The state is written into the module as it came, and that
//! is compiled again.
//!
//! A file that is a component already, and a module with state that is not told, is configured for
//! each call, with the same results.

use leafgate_admission::{NoSnapshot, TELL, TELLS, Telling};
use leafgate_contract::Fault;

use crate::instance::RunningInstance;

/// Returns the component that starts as a configured instance of `telling` is now, unless its module
/// comes to more than so many bytes.
pub(crate) fn snapshot(
    telling: &Telling<'_>,
    configured: &mut RunningInstance<'_>,
    limit: usize,
) -> Result<Vec<u8>, NoSnapshot> {
    let state =
        configured.tell(TELLS, TELL).map_err(|fault: Fault| NoSnapshot::Untold(format!("it {fault}")))?;
    telling.starting_with(&state, limit)
}

#[cfg(test)]
mod tests {
    use leafgate_admission::{Module, ModuleState};
    use wasmtime::{Engine, Instance, Store};

    use super::*;

    /// Bytes of a page of WebAssembly.
    const PAGE: usize = 1 << 16;

    const STATEFUL: &str = r#"(module
        (memory (export "memory") 2 16)
        (global $fixed i64 (i64.const -3))
        (global $next (mut i32) (i32.const 7))
        (global $long (mut i64) (i64.const 1))
        (global $single (mut f32) (f32.const 0.5))
        (global $double (mut f64) (f64.const 0.5))
        (data (i32.const 100000) "first")
        (func $begin
            (global.set $next (i32.const -9))
            (global.set $long (i64.const -90000000000))
            (global.set $single (f32.const -1.5))
            (global.set $double (f64.const nan:0x8000000000001))
            (i32.store (i32.const 100000) (i32.const 1))
            (drop (memory.grow (i32.const 2)))
            (i32.store (i32.const 200000) (global.get $next)))
        (start $begin)
        (func (export "next") (result i32)
            (global.set $next (i32.add (global.get $next) (i32.const 1)))
            (global.get $next)))"#;

    fn instance(bytes: &[u8]) -> (Store<()>, Instance) {
        let engine = Engine::default();
        let module = wasmtime::Module::new(&engine, bytes).unwrap();
        let mut store = Store::new(&engine, ());
        let instance = Instance::new(&mut store, &module, &[]).unwrap();
        (store, instance)
    }

    fn told(bytes: &[u8]) -> ModuleState {
        let (mut store, instance) = instance(bytes);
        let export = format!("{TELLS}#{TELL}");
        let tell = instance.get_typed_func::<(), i32>(&mut store, &export).unwrap();
        let at = tell.call(&mut store, ()).unwrap().cast_unsigned() as usize;
        let memory = instance.get_memory(&mut store, "memory").unwrap().data(&store).to_vec();
        let word = |at: usize| u32::from_le_bytes(memory[at..at + 4].try_into().unwrap()) as usize;
        let (start, length) = (word(at), word(at + 4));
        let globals = memory[word(at + 8)..].chunks(8).take(word(at + 12));
        let globals = globals.map(|bits| u64::from_le_bytes(bits.try_into().unwrap())).collect();
        ModuleState { memory: memory[start..start + length].to_vec(), globals }
    }

    #[test]
    fn a_module_starts_with_the_state_that_another_came_to() {
        let bytes = wat::parse_str(STATEFUL).unwrap();
        let state = told(&Module::read(&bytes).unwrap().telling().unwrap());
        assert_eq!(state.memory.len(), 4 * PAGE);
        let bits = [(-9_i32).cast_unsigned().into(), (-90_000_000_000_i64).cast_unsigned()];
        let floats = [u64::from((-1.5_f32).to_bits()), 0x7ff8_0000_0000_0001];
        assert_eq!(state.globals, [bits, floats].concat());
        let starting = Module::read(&bytes).unwrap().starting_with(&state).unwrap();
        let again = told(&Module::read(&starting).unwrap().telling().unwrap());
        assert_eq!(again.memory, state.memory);
        assert_eq!(again.globals, state.globals);
        let (mut store, instance) = instance(&starting);
        let next = instance.get_typed_func::<(), i32>(&mut store, "next").unwrap();
        assert_eq!(next.call(&mut store, ()).unwrap(), -8, "the start function does not run again");
    }

    #[test]
    fn a_module_without_data_gets_some() {
        let text = r#"(module (memory (export "memory") 1) (func (export "f")))"#;
        let bytes = wat::parse_str(text).unwrap();
        let mut memory = vec![0; PAGE];
        memory[5000] = 1;
        let state = ModuleState { memory, globals: vec![] };
        let starting = Module::read(&bytes).unwrap().starting_with(&state).unwrap();
        assert_eq!(told(&Module::read(&starting).unwrap().telling().unwrap()).memory, state.memory);
    }
}
