//! Reads imports, exports and layer of a WebAssembly binary without compiling or running any of it.

use wasmparser::{ComponentExternName, Encoding, Parser, Payload};

use crate::refusal::Refusal;

/// Imports and exports of one layer. A plugin has a few dozen, and each costs more memory here than
/// bytes in the file.
const MOST_NAMES: usize = 10_000;

/// Core module or component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileLayer {
    /// The output of compilers for `wasm32-unknown-unknown`; wrapped as a component on load.
    CoreModule,
    /// A component, as `jco` and `componentize-py` write them.
    Component,
}

/// Imports and exports of the outermost layer, by name.
#[derive(Clone, Debug)]
pub struct Anatomy {
    /// Core module or component.
    pub layer: FileLayer,
    /// Of a core module `module.field`, of a component the name of the interface or function.
    pub imports: Vec<String>,
    /// Exports by name.
    pub exports: Vec<String>,
    /// True where a core module carries the contract that it was built against.
    pub typed: bool,
}

/// The layer that the first eight bytes name, if they are those of a WebAssembly binary.
pub(crate) fn layer(bytes: &[u8]) -> Option<FileLayer> {
    let (magic, version) = bytes.get(..8)?.split_at(4);
    match (magic, version) {
        (b"\0asm", [1, 0, 0, 0]) => Some(FileLayer::CoreModule),
        (b"\0asm", [0x0d, 0, 1, 0]) => Some(FileLayer::Component),
        _ => None,
    }
}

/// Reads the outermost layer of a binary.
///
/// # Errors
/// A binary that stops making sense, with the offset, or that has more names than any plugin needs.
pub fn read(bytes: &[u8]) -> Result<Anatomy, Refusal> {
    let mut anatomy =
        Anatomy { layer: FileLayer::CoreModule, imports: vec![], exports: vec![], typed: false };
    let mut depth = 0_usize;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            outer if depth == 0 => anatomy.note(outer)?,
            _ => {}
        }
    }
    Ok(anatomy)
}

impl Anatomy {
    fn note(&mut self, payload: Payload<'_>) -> Result<(), Refusal> {
        match payload {
            Payload::Version { encoding: Encoding::Component, .. } => self.layer = FileLayer::Component,
            Payload::ImportSection(section) => {
                self.expect(section.count())?;
                for import in section.into_imports() {
                    let import = import?;
                    self.imports.push(format!("{}.{}", import.module, import.name));
                }
            }
            Payload::ExportSection(section) => {
                self.expect(section.count())?;
                for export in section {
                    self.exports.push(export?.name.to_owned());
                }
            }
            Payload::ComponentImportSection(section) => {
                self.expect(section.count())?;
                for import in section {
                    self.imports.push(full_name(&import?.name));
                }
            }
            Payload::ComponentExportSection(section) => {
                self.expect(section.count())?;
                for export in section {
                    self.exports.push(full_name(&export?.name));
                }
            }
            Payload::CustomSection(section) => self.typed |= section.name().starts_with("component-type"),
            _ => {}
        }
        Ok(())
    }

    /// Looks whether so many names more are too many.
    fn expect(&self, more: u32) -> Result<(), Refusal> {
        let all = self.imports.len() + self.exports.len() + more as usize;
        if all > MOST_NAMES { Err(Refusal::TooManyNames { limit: MOST_NAMES }) } else { Ok(()) }
    }
}

/// Returns the name of an import or export with the rest of its version, unless that is of the interface that it implements.
fn full_name(name: &ComponentExternName<'_>) -> String {
    let suffix = name.version_suffix.filter(|_| name.implements.is_none());
    [name.name, suffix.unwrap_or_default()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_of_nested_modules_are_not_those_of_the_component() {
        let bytes = wat::parse_str(
            r#"(component
                (core module (import "env" "inner" (func)))
                (component (import "deep" (func)))
                (import "outer" (func)))"#,
        )
        .unwrap();
        let anatomy = read(&bytes).unwrap();
        assert_eq!(anatomy.layer, FileLayer::Component);
        assert_eq!(anatomy.imports, ["outer"]);
    }

    #[test]
    fn a_core_import_is_named_with_its_module() {
        let bytes =
            wat::parse_str(r#"(module (import "env" "now" (func)) (memory (export "memory") 1))"#).unwrap();
        let anatomy = read(&bytes).unwrap();
        assert_eq!(anatomy.layer, FileLayer::CoreModule);
        assert_eq!(
            (anatomy.imports, anatomy.exports),
            (vec!["env.now".to_owned()], vec!["memory".to_owned()])
        );
        assert!(!anatomy.typed);
    }

    #[test]
    fn a_truncated_binary_is_an_error() {
        let bytes = wat::parse_str(r#"(module (import "env" "now" (func)))"#).unwrap();
        for end in 8..bytes.len() {
            // Between two sections a module may end; anywhere else it may not.
            let _ = read(&bytes[..end]);
        }
        assert!(read(&bytes[..bytes.len() - 1]).is_err());
    }

    #[test]
    fn a_binary_of_more_names_than_any_plugin_needs_is_refused() {
        let exports = |count: usize| {
            let names: String = (0..count).map(|n| format!("(export \"{n}\" (func $f))")).collect();
            wat::parse_str(format!("(module (func $f) {names})")).unwrap()
        };
        assert_eq!(read(&exports(MOST_NAMES)).unwrap().exports.len(), MOST_NAMES);
        assert!(matches!(read(&exports(MOST_NAMES + 1)), Err(Refusal::TooManyNames { .. })));
    }

    #[test]
    fn text_is_no_binary() {
        assert_eq!(layer(b"(module (func))"), None);
        assert_eq!(layer(b"\0asm"), None);
        assert_eq!(layer(b"\0asm\x02\0\0\0"), None);
    }
}
