//! Core modules with their state in sight: one that can tell it, and one that starts with it.
//!
//! State is one memory and the globals that change. A module whose code can change anything else (a
//! table, a segment) is refused, because that would be lost. Code is never rewritten: what is added
//! stands behind everything that has an index.

use std::ops::Range;

use leafgate_contract::one_line;
use wasm_encoder::{
    ConstExpr, DataSection, Encode, Function, MemArg, MemorySection, RawSection, SectionId, ValType,
};
use wasmparser::{BinaryReader, Operator, Parser, Payload, TypeRef};

/// The interface of which [`Module::telling`] exports the one function.
pub const TELLS: &str = "leafgate:snapshot/state@0.1.0";
/// That function, without parameters: the bytes of the memory, and the bits of the globals.
pub const TELL: &str = "tell";

/// Bytes of a page of WebAssembly.
const PAGE: usize = 1 << 16;
/// Globals that fit into the page in which the state is told.
const MOST_GLOBALS: usize = 4096;
/// A run of zeros of this length is left out: a page of the host's memory, which is then shared.
const GRAIN: usize = 4096;

/// A core module, read as far as its state is concerned.
pub struct Module<'m> {
    sections: Vec<(u8, &'m [u8])>,
    memories: Vec<wasmparser::MemoryType>,
    globals: Vec<Global<'m>>,
    types: u32,
    functions: u32,
}

struct Global<'m> {
    ty: wasmparser::GlobalType,
    /// Its type and its first value, as they stand in the section.
    bytes: &'m [u8],
}

/// What an instance of a module has become.
pub struct ModuleState {
    /// The memory, whole.
    pub memory: Vec<u8>,
    /// The bits of the globals that change, in order.
    pub globals: Vec<u64>,
}

/// What keeps a module's state out of sight.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unseen {
    /// The module cannot be read.
    #[error("{}", one_line(.0))]
    Unreadable(String),
    /// Its code can change what is told by nobody.
    #[error("its code can change {0}")]
    Changes(&'static str),
    /// It has more memories than one, or state that is no number.
    #[error("it has other state than one memory and numbers in globals")]
    OtherState,
}

impl From<wasmparser::BinaryReaderError> for Unseen {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Unseen::Unreadable(error.to_string())
    }
}

impl<'m> Module<'m> {
    /// Reads a module.
    ///
    /// # Errors
    /// What keeps its state out of sight.
    pub fn read(bytes: &'m [u8]) -> Result<Self, Unseen> {
        let mut module =
            Module { sections: vec![], memories: vec![], globals: vec![], types: 0, functions: 0 };
        for payload in Parser::new(0).parse_all(bytes) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section() {
                module.sections.push((id, part(bytes, range)));
            }
            module.note(payload, bytes)?;
        }
        let told = module.changing().count();
        let plain = module
            .memories
            .iter()
            .all(|memory| !memory.memory64 && !memory.shared && memory.page_size_log2.is_none());
        match module.memories.len() == 1 && plain && told <= MOST_GLOBALS {
            true => Ok(module),
            false => Err(Unseen::OtherState),
        }
    }

    fn note(&mut self, payload: Payload<'m>, bytes: &'m [u8]) -> Result<(), Unseen> {
        match payload {
            Payload::TypeSection(types) => {
                for group in types {
                    self.types += u32::try_from(group?.types().len()).unwrap_or(u32::MAX);
                }
            }
            Payload::ImportSection(imports) => {
                for import in imports.into_imports() {
                    match import?.ty {
                        TypeRef::Func(_) => self.functions += 1,
                        _ => return Err(Unseen::OtherState),
                    }
                }
            }
            Payload::FunctionSection(functions) => self.functions += functions.count(),
            Payload::MemorySection(memories) => {
                self.memories = memories.into_iter().collect::<Result<_, _>>()?;
            }
            Payload::GlobalSection(globals) => {
                let end = globals.range().end;
                let globals: Vec<_> = globals.into_iter_with_offsets().collect::<Result<_, _>>()?;
                let ends = globals.iter().skip(1).map(|(start, _)| *start).chain([end]);
                let numbers =
                    |ty: &wasmparser::GlobalType| !ty.mutable || number(ty.content_type, 0).is_some();
                if !globals.iter().all(|(_, global)| numbers(&global.ty)) {
                    return Err(Unseen::OtherState);
                }
                let global = |((start, global), end): (&(usize, wasmparser::Global<'_>), usize)| Global {
                    ty: global.ty,
                    bytes: part(bytes, *start..end),
                };
                self.globals = globals.iter().zip(ends).map(global).collect();
            }
            Payload::DataSection(segments) => {
                for segment in segments {
                    if matches!(segment?.kind, wasmparser::DataKind::Passive) {
                        return Err(Unseen::OtherState);
                    }
                }
            }
            Payload::CodeSectionEntry(body) => {
                let mut code = body.get_operators_reader()?;
                while !code.eof() {
                    check(&code.read()?)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn changing(&self) -> impl Iterator<Item = (u32, wasmparser::ValType)> {
        let all = (0..).zip(&self.globals);
        all.filter(|(_, global)| global.ty.mutable).map(|(index, global)| (index, global.ty.content_type))
    }

    /// Returns the module with one function more, which tells the state.
    ///
    /// # Errors
    /// A section that cannot be read.
    pub fn telling(&self) -> Result<Vec<u8>, Unseen> {
        let export = format!("{TELLS}#{TELL}");
        let mut telling = wasm_encoder::Module::new();
        for &(id, body) in &self.sections {
            let mut added = Vec::new();
            match id {
                _ if id == SectionId::Type as u8 => {
                    added = vec![0x60, 0, 1];
                    ValType::I32.encode(&mut added);
                }
                _ if id == SectionId::Function as u8 => self.types.encode(&mut added),
                _ if id == SectionId::Export as u8 => {
                    export.as_str().encode(&mut added);
                    wasm_encoder::ExportKind::Func.encode(&mut added);
                    self.functions.encode(&mut added);
                }
                _ if id == SectionId::Code as u8 => self.teller().encode(&mut added),
                _ => {}
            }
            match added.is_empty() {
                true => telling.section(&RawSection { id, data: body }),
                false => telling.section(&RawSection { id, data: &with(body, &added)? }),
            };
        }
        Ok(telling.finish())
    }

    /// Puts the state into a fresh page, and leaves the address of where it stands.
    fn teller(&self) -> Function {
        let mut teller = Function::new([(1, ValType::I32)]);
        let at = |offset: usize, align| MemArg { offset: offset as u64, align, memory_index: 0 };
        let mut code = teller.instructions();
        code.i32_const(1).memory_grow(0).local_tee(0).i32_const(-1).i32_eq();
        code.if_(wasm_encoder::BlockType::Empty).unreachable().end();
        code.local_get(0).i32_const(PAGE.trailing_zeros().cast_signed()).i32_shl().local_set(0);
        // Two lists, each as address and length: all that stands below, and the globals.
        let count = i32::try_from(self.changing().count()).unwrap_or(i32::MAX);
        code.local_get(0).i32_const(0).i32_store(at(0, 2));
        code.local_get(0).local_get(0).i32_store(at(4, 2));
        code.local_get(0).local_get(0).i32_const(16).i32_add().i32_store(at(8, 2));
        code.local_get(0).i32_const(count).i32_store(at(12, 2));
        for (place, (index, ty)) in self.changing().enumerate() {
            code.local_get(0).global_get(index);
            match ty {
                wasmparser::ValType::I32 => code.i64_extend_i32_u(),
                wasmparser::ValType::F32 => code.i32_reinterpret_f32().i64_extend_i32_u(),
                wasmparser::ValType::F64 => code.i64_reinterpret_f64(),
                _ => &mut code,
            };
            code.i64_store(at(16 + 8 * place, 3));
        }
        code.local_get(0).end();
        teller
    }

    /// Returns the module as it would have to be written for an instance to start with a state. Its
    /// start function has run.
    ///
    /// # Errors
    /// A state of fewer globals, or a module without code.
    pub fn starting_with(&self, state: &ModuleState) -> Result<Vec<u8>, Unseen> {
        let mut starting = wasm_encoder::Module::new();
        let mut has_data = false;
        let gone = [SectionId::Start as u8, SectionId::DataCount as u8, SectionId::Data as u8];
        for &(id, body) in &self.sections {
            if id == SectionId::Memory as u8 {
                starting.section(&self.memory(state.memory.len()));
            } else if id == SectionId::Global as u8 {
                starting.section(&RawSection { id, data: &self.globals(state)? });
            } else if !gone.contains(&id) {
                starting.section(&RawSection { id, data: body });
            }
            // Data belongs behind code, which counts on no segment: code that could is refused.
            if id == SectionId::Code as u8 {
                starting.section(&segments(&state.memory));
                has_data = true;
            }
        }
        if has_data { Ok(starting.finish()) } else { Err(Unseen::OtherState) }
    }

    fn memory(&self, bytes: usize) -> MemorySection {
        let mut section = MemorySection::new();
        for memory in &self.memories {
            section.memory(wasm_encoder::MemoryType {
                minimum: (bytes / PAGE) as u64,
                maximum: memory.maximum,
                memory64: false,
                shared: false,
                page_size_log2: None,
            });
        }
        section
    }

    fn globals(&self, state: &ModuleState) -> Result<Vec<u8>, Unseen> {
        let mut values = state.globals.iter();
        let mut section = Vec::new();
        self.globals.len().encode(&mut section);
        for global in &self.globals {
            if !global.ty.mutable {
                section.extend_from_slice(global.bytes);
                continue;
            }
            let value = values.next().copied().ok_or(Unseen::OtherState)?;
            let (ty, value) = number(global.ty.content_type, value).ok_or(Unseen::OtherState)?;
            wasm_encoder::GlobalType { val_type: ty, mutable: true, shared: false }.encode(&mut section);
            value.encode(&mut section);
        }
        Ok(section)
    }
}

/// The stretches of a memory that are not all zeros, each at its place.
fn segments(memory: &[u8]) -> DataSection {
    let mut section = DataSection::new();
    let grains: Vec<&[u8]> = memory.chunks(GRAIN).collect();
    let mut start = 0;
    for run in grains.chunk_by(|a, b| is_zero(a) == is_zero(b)) {
        let length = run.iter().map(|grain| grain.len()).sum::<usize>();
        if !is_zero(run[0]) {
            // Memory ends below 4 GiB, and an address of it has the same bits either way.
            let offset = u32::try_from(start).unwrap_or(u32::MAX).cast_signed();
            let bytes = memory[start..start + length].iter().copied();
            section.active(0, &ConstExpr::i32_const(offset), bytes);
        }
        start += length;
    }
    section
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|&byte| byte == 0)
}

/// A stretch of a file, as the parser counts.
fn part(bytes: &[u8], range: Range<usize>) -> &[u8] {
    bytes.get(range).unwrap_or_default()
}

/// A section with one item more at its end.
fn with(section: &[u8], item: &[u8]) -> Result<Vec<u8>, Unseen> {
    let mut reader = BinaryReader::new(section, 0);
    let count = reader.read_var_u32()?;
    let mut longer = Vec::with_capacity(section.len() + item.len() + 4);
    count.saturating_add(1).encode(&mut longer);
    longer.extend_from_slice(part(section, reader.original_position()..section.len()));
    longer.extend_from_slice(item);
    Ok(longer)
}

/// Returns a number's type and the expression that gives its bits; `None` for what is no number of 64 bits at most.
fn number(ty: wasmparser::ValType, value: u64) -> Option<(ValType, ConstExpr)> {
    let low = value as u32;
    Some(match ty {
        wasmparser::ValType::I32 => (ValType::I32, ConstExpr::i32_const(low.cast_signed())),
        wasmparser::ValType::I64 => (ValType::I64, ConstExpr::i64_const(value.cast_signed())),
        wasmparser::ValType::F32 => (ValType::F32, ConstExpr::f32_const(wasm_encoder::Ieee32::new(low))),
        wasmparser::ValType::F64 => (ValType::F64, ConstExpr::f64_const(wasm_encoder::Ieee64::new(value))),
        wasmparser::ValType::V128 | wasmparser::ValType::Ref(_) => return None,
    })
}

/// Refuses code that changes what is told by nobody.
fn check(operator: &Operator<'_>) -> Result<(), Unseen> {
    match operator {
        Operator::TableSet { .. }
        | Operator::TableGrow { .. }
        | Operator::TableFill { .. }
        | Operator::TableCopy { .. }
        | Operator::TableInit { .. } => Err(Unseen::Changes("a table")),
        Operator::ElemDrop { .. } | Operator::DataDrop { .. } | Operator::MemoryInit { .. } => {
            Err(Unseen::Changes("a segment"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_that_is_not_told_is_refused() {
        for (definitions, refused) in [
            (
                "(table 1 funcref) (func (table.set (i32.const 0) (ref.null func)))",
                Unseen::Changes("a table"),
            ),
            ("(data $d \"x\") (func (data.drop $d))", Unseen::Changes("a segment")),
            ("(data \"x\")", Unseen::OtherState),
            ("(elem $e func) (func (elem.drop $e))", Unseen::Changes("a segment")),
            ("(global (mut funcref) (ref.null func))", Unseen::OtherState),
            ("(global (mut v128) (v128.const i64x2 0 0))", Unseen::OtherState),
            ("(import \"a\" \"b\" (global i32))", Unseen::OtherState),
            ("(memory 1)", Unseen::OtherState),
        ] {
            let bytes = wat::parse_str(format!("(module {definitions} (memory 1) (func))")).unwrap();
            assert_eq!(Module::read(&bytes).err(), Some(refused), "{definitions}");
        }
    }
}
