//! Core modules in a few lines: the canonical ABI of the contract, written out once, with holes for
//! what a test wants to be wrong.
//!
//! Every function has a body that behaves; a hostile guest replaces one of them. The layouts stand
//! beside the code that relies on them.

use std::path::Path;

use wit_component::StringEncoding;
use wit_parser::Resolve;

/// Where results are put together; below it lie constants, above it is what `cabi_realloc` gives
/// away.
const RESULT: u32 = 1024;
const HEAP: u32 = 4096;

/// A module under construction.
#[derive(Clone)]
pub(crate) struct Guest {
    world: &'static str,
    memory: String,
    start: Option<String>,
    describe: String,
    configure: String,
    call: String,
    post: String,
    realloc: String,
    label: String,
    first: String,
    last: String,
}

impl Guest {
    /// A detector with the label `NAME` that finds nothing.
    pub(crate) fn detector() -> Self {
        Guest {
            world: "detector",
            memory: "1".to_owned(),
            start: None,
            describe: description(),
            configure: ok_of_nothing(),
            call: findings(0),
            post: String::new(),
            realloc: bump_allocator(),
            label: "NAME".to_owned(),
            first: String::new(),
            last: String::new(),
        }
    }

    /// A transformer that changes nothing.
    pub(crate) fn transformer() -> Self {
        Guest { world: "transformer", ..Guest::detector() }
    }

    /// Replaces the body of `detect` or `transform`, which leaves the address of its result.
    pub(crate) fn call(self, body: impl Into<String>) -> Self {
        Guest { call: body.into(), ..self }
    }

    /// Replaces the body of `describe`.
    pub(crate) fn describe(self, body: impl Into<String>) -> Self {
        Guest { describe: body.into(), ..self }
    }

    /// Replaces the body of `configure`, which gets `$config` and `$length`.
    pub(crate) fn configure(self, body: impl Into<String>) -> Self {
        Guest { configure: body.into(), ..self }
    }

    /// Adds a start function.
    pub(crate) fn start(self, body: impl Into<String>) -> Self {
        Guest { start: Some(body.into()), ..self }
    }

    /// Replaces the body of the call's post-return.
    pub(crate) fn post(self, body: impl Into<String>) -> Self {
        Guest { post: body.into(), ..self }
    }

    /// Replaces the body of `cabi_realloc`, which gets `$old`, `$old_size`, `$align` and
    /// `$new_size`.
    pub(crate) fn realloc(self, body: impl Into<String>) -> Self {
        Guest { realloc: body.into(), ..self }
    }

    /// Replaces the pages of the memory, as in `(memory 1 2)`.
    pub(crate) fn memory(self, pages: impl Into<String>) -> Self {
        Guest { memory: pages.into(), ..self }
    }

    /// Replaces the one label.
    pub(crate) fn label(self, label: impl Into<String>) -> Self {
        Guest { label: label.into(), ..self }
    }

    /// Adds definitions, imports among them: they stand first in the module.
    pub(crate) fn with(self, definitions: impl Into<String>) -> Self {
        Guest { first: definitions.into(), ..self }
    }

    /// The module without the contract that it was built for.
    pub(crate) fn untyped(&self) -> Vec<u8> {
        wat::parse_str(self.text("0.1.0")).unwrap()
    }

    /// The module as a compiler with `wit-bindgen` writes it.
    pub(crate) fn module(&self) -> Vec<u8> {
        self.module_of("0.1.0", self.world)
    }

    /// The module for another version of the contract.
    pub(crate) fn module_of_version(&self, version: &str) -> Vec<u8> {
        self.module_of(version, self.world)
    }

    /// The module wrapped as a component.
    pub(crate) fn component(&self) -> Vec<u8> {
        wit_component::ComponentEncoder::default().module(&self.module()).unwrap().encode().unwrap()
    }

    fn module_of(&self, version: &str, world: &str) -> Vec<u8> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit/plugin.wit");
        let mut contract = std::fs::read_to_string(path).unwrap().replace("@0.1.0", &format!("@{version}"));
        contract.push_str("world both { import host; export lifecycle; export detect; export transform; }\n");
        let mut resolve = Resolve::default();
        let package = resolve.push_str("plugin.wit", &contract).unwrap();
        let world = resolve.select_world(&[package], Some(world)).unwrap();
        let mut module = wat::parse_str(self.text(version)).unwrap();
        wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).unwrap();
        module
    }

    /// A module that exports detector and transformer at once.
    pub(crate) fn both_worlds() -> Vec<u8> {
        let detector = Guest::detector();
        let last = export(&transform_signature("0.1.0"), &detector.call);
        Guest { last, ..detector }.module_of("0.1.0", "both")
    }

    fn text(&self, version: &str) -> String {
        let Guest { memory, describe, configure, call, post, realloc, label, first, last, .. } = self;
        let (name, signature) = match self.world {
            "detector" => ("detect#detect", detect_signature(version)),
            _ => ("transform#transform", transform_signature(version)),
        };
        let post_name = name.replace('#', &format!("@{version}#"));
        let start = self
            .start
            .as_deref()
            .map_or(String::new(), |body| format!("(func $start {body}) (start $start)"));
        format!(
            r#"(module
                {first}
                (memory (export "memory") {memory})
                (global $next (mut i32) (i32.const {HEAP}))
                (data (i32.const 16) "tested")
                (data (i32.const 32) "{label}")
                (data (i32.const 64) "\20\00\00\00\04\00\00\00")
                (func (export "cabi_realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $new_size i32)
                    (result i32) {realloc})
                (func (export "leafgate:plugin/lifecycle@{version}#describe") (result i32) {describe})
                (func (export "leafgate:plugin/lifecycle@{version}#configure") (param $config i32) (param $length i32)
                    (result i32) {configure})
                {function}
                (func (export "cabi_post_leafgate:plugin/{post_name}") (param i32) {post})
                {last}
                {start})"#,
            function = export(&signature, call),
        )
    }
}

fn export(signature: &str, body: &str) -> String {
    format!("(func {signature} {body})")
}

fn detect_signature(version: &str) -> String {
    format!(
        r#"(export "leafgate:plugin/detect@{version}#detect") (param $leaves i32) (param $count i32) (result i32)"#
    )
}

/// The request's nine flat values (four strings and lists of two, one boolean), then two lists.
fn transform_signature(version: &str) -> String {
    let parameters = "i32 ".repeat(13);
    format!(r#"(export "leafgate:plugin/transform@{version}#transform") (param {parameters}) (result i32)"#)
}

/// `description`: name, version and summary at 0, 8 and 16, labels at 24; no schema at 32, no
/// attributes at 44.
fn description() -> String {
    let words =
        [(0, 16), (4, 6), (8, 16), (12, 6), (16, 16), (20, 6), (24, 64), (28, 1), (32, 0), (44, 0), (48, 0)];
    format!("{} (i32.const {RESULT})", store(RESULT, &words))
}

/// `result<_, list<string>>` without an error.
fn ok_of_nothing() -> String {
    format!("{} (i32.const {RESULT})", store(RESULT, &[(0, 0)]))
}

/// The start of a list that is the `ok` of a result, and `count` items at [`RESULT`] + 64.
fn ok_of_list(count: u32) -> String {
    store(RESULT, &[(0, 0), (4, RESULT + 64), (8, count)])
}

/// An answer of `count` findings, whatever lies in memory there.
pub(crate) fn findings(count: u32) -> String {
    format!("{} (i32.const {RESULT})", ok_of_list(count))
}

/// An answer of `count` findings of nothing, in memory that no argument was copied to.
pub(crate) fn empty_findings(count: u32) -> String {
    const UNTOUCHED: u32 = 4 << 16;
    format!("{} (i32.const {RESULT})", store(RESULT, &[(0, 0), (4, UNTOUCHED), (8, count)]))
}

/// An answer of one finding with high confidence: leaf, start, end and label, 20 bytes with the
/// confidence.
pub(crate) fn finding(leaf: u32, start: u32, end: u32, label: u32) -> String {
    let item = store(RESULT + 64, &[(0, leaf), (4, start), (8, end), (12, label), (16, 2)]);
    format!("{item} {}", findings(1))
}

/// An answer of one edit: the target's case and place, the action's case and its first two words;
/// 24 bytes.
pub(crate) fn edit(target: u32, place: u32, action: u32, first: u32, second: u32) -> String {
    let item = store(RESULT + 64, &[(0, target), (4, place), (8, action), (12, first), (16, second)]);
    format!("{item} {}", findings(1))
}

/// Cases of `target` and `action`, by their place in the contract.
pub(crate) mod case {
    pub(crate) const REQUEST: u32 = 0;
    pub(crate) const SECTION: u32 = 1;
    pub(crate) const LEAF: u32 = 2;
    pub(crate) const REDACT: u32 = 0;
    pub(crate) const SET: u32 = 1;
    pub(crate) const PIN: u32 = 2;
    pub(crate) const DELETE: u32 = 3;
    pub(crate) const NOTE: u32 = 5;
}

/// The text `tested` of the constants, as address and length.
pub(crate) const TESTED: (u32, u32) = (16, 6);

/// `failure::internal("tested")` as the error of a result.
pub(crate) fn failure() -> String {
    format!("{} (i32.const {RESULT})", store(RESULT, &[(0, 1), (4, 1), (8, TESTED.0), (12, TESTED.1)]))
}

/// One finding of `configure`: the text `NAME`.
pub(crate) fn configuration_error() -> String {
    format!("{} (i32.const {RESULT})", store(RESULT, &[(0, 1), (4, 64), (8, 1)]))
}

/// A result of the case that does not exist.
pub(crate) fn no_such_case() -> String {
    format!("{} (i32.const {RESULT})", store(RESULT, &[(0, 7)]))
}

fn store(base: u32, words: &[(u32, u32)]) -> String {
    let stores = words.iter().map(|(offset, word)| {
        let (address, word) = (base + offset, word.cast_signed());
        format!("(i32.store (i32.const {address}) (i32.const {word}))")
    });
    stores.collect::<Vec<_>>().join(" ")
}

/// Gives away memory upwards, grown as needed, and takes none back.
fn bump_allocator() -> String {
    "(local $at i32)
     (global.set $next (i32.and (i32.add (global.get $next) (i32.const 7)) (i32.const -8)))
     (local.set $at (global.get $next))
     (global.set $next (i32.add (global.get $next) (local.get $new_size)))
     (block $fits
        (br_if $fits (i32.le_u (global.get $next) (i32.shl (memory.size) (i32.const 16))))
        (br_if $fits (i32.ne (i32.const -1)
            (memory.grow (i32.shr_u (i32.add (local.get $new_size) (i32.const 131071)) (i32.const 16)))))
        unreachable)
     (local.get $at)"
        .to_owned()
}
