//! Plugins that are files of JavaScript.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use crate::support::bundled::bundled;
use crate::support::{load, patient_loader, text};
use leafgate_author::cases::{self, Cases};
use leafgate_author::sample;
use leafgate_contract::{
    Action, DetectLeaf, Fault, LeafKind, LoadError, Plugin, PluginEdit, PluginLimits, PluginLoader as _,
    PluginSource, Role, SectionKind, Spent, TransformLeaf, TransformRequest, TransformSection, ValueType,
    World,
};
use leafgate_harness::recordings;
use leafgate_wasm::{LogSink, WasmLoader};
use sha2::{Digest as _, Sha256};

static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// One loader for all tests of this file: the engine is compiled once.
static LOADER: LazyLock<WasmLoader> = LazyLock::new(|| {
    let sink: LogSink = Arc::new(|plugin, level, message| {
        LOGGED.lock().unwrap().push(format!("{plugin} {level:?} {message}"));
    });
    patient_loader(Some(sink))
});

/// Deadlines for what never ends.
const SHORT: PluginLimits = PluginLimits {
    start_deadline: Some(Duration::from_millis(500)),
    call_deadline: Some(Duration::from_millis(500)),
    request_time: None,
    memory_bytes: None,
    answer_bytes: None,
    findings: None,
    edits: None,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Loads a source as a file of this name.
fn script(name: &str, source: &str, config: &str) -> Result<Arc<dyn Plugin>, LoadError> {
    script_within(PluginLimits::default(), name, source, config)
}

fn script_within(
    limits: PluginLimits,
    name: &str,
    source: &str,
    config: &str,
) -> Result<Arc<dyn Plugin>, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, source).unwrap();
    LOADER.load(&PluginSource { limits, ..PluginSource::new("tested", file, config) })
}

fn refused(source: &str, config: &str) -> String {
    script("names.js", source, config).expect_err("the script does not load").message
}

const NAMES: &str = r#"
export const labels = ["NAME", "PLACE"];
export const summary = "Finds names";
let names = ["Ada"];
export function configure(config) {
  if (config.names?.length === 0) throw new Error("`names` is empty");
  names = config.names ?? names;
}
export const detect = (leaf) => [...leaf.find(names), ...leaf.find(/Paris/i, "PLACE", "low")];
"#;

#[test]
fn a_file_is_a_detector() {
    let plugin = script("names.js", NAMES, r#"{"names": ["Zoë", "Ada"]}"#).unwrap();
    assert_eq!(plugin.world(), World::Detector);
    let description = plugin.description();
    assert_eq!((&*description.name, &*description.summary), ("names", "Finds names"));
    let leaves = [text("nothing"), text("é Zoë met Ada in PARIS, 😀 Ada"), text("Ada")];
    let findings = plugin.detect(&leaves, &Spent::default()).unwrap().into_vec();
    let found: Vec<_> = findings
        .iter()
        .map(|f| {
            (f.leaf, &leaves[f.leaf].text[f.at.clone()], description.labels[f.label].as_str(), f.confidence)
        })
        .collect();
    use leafgate_detect::Confidence::{High, Low};
    let expected = [
        (1, "Zoë", "NAME", High),
        (1, "Ada", "NAME", High),
        (1, "Ada", "NAME", High),
        (1, "PARIS", "PLACE", Low),
        (2, "Ada", "NAME", High),
    ];
    assert_eq!(found, expected);
}

#[test]
fn every_kind_of_edit_goes_both_ways() {
    let source = r#"
        export const labels = ["SECRET"];
        export const transform = (request) => [
          request.note(`${request.format} ${request.model} ${request.leaves.length}`),
          request.leaves[0].set("new \ud800"),
          request.leaves[1].redact(/é./, "SECRET"),
          request.leaves[1].redact([[0, 1]]),
          request.leaves[1].pin(),
          request.leaves[1].section.insertBefore("user", "before"),
          [request.sections[0].delete(), request.sections[0].pause("look"), request.block("no")],
        ];"#;
    let plugin = script("all.js", source, "{}").unwrap();
    assert_eq!(plugin.world(), World::Transformer);
    let made = sample::transform(&*plugin, &["old", "aéb"]).unwrap();
    use leafgate_contract::Target;
    let edit = |target, action| PluginEdit { target, action };
    let expected = [
        edit(Target::Request, Action::Note("openai-chat m 2".to_owned())),
        edit(Target::Leaf(0), Action::Set("new \u{fffd}".to_owned())),
        edit(Target::Leaf(1), Action::Redact(vec![(1..4, 0)])),
        edit(Target::Leaf(1), Action::Redact(vec![(0..1, 0)])),
        edit(Target::Leaf(1), Action::Pin),
        edit(Target::Section(1), Action::InsertBefore { role: Role::User, text: "before".to_owned() }),
        edit(Target::Section(0), Action::Delete),
        edit(Target::Section(0), Action::Pause("look".to_owned())),
        edit(Target::Request, Action::Block("no".to_owned())),
    ];
    assert_eq!(made, expected);
}

#[test]
fn a_source_reads_and_writes_the_words_of_the_contract() {
    let detector = r#"
        export const labels = ["TOLD"];
        export const detect = (leaf) => leaf.find(`${leaf.kind} ${leaf.value} ${leaf.role}`);"#;
    let detector = script("told.js", detector, "{}").unwrap();
    let transformer = r#"
        export const transform = ({ leaves, sections }) => [
          ...leaves.map((leaf) => leaf.set(`${leaf.kind} ${leaf.value}`)),
          ...sections.map((section) => section.note(`${section.kind} ${section.role}`)),
          ...sections.map((section) => section.insertBefore(section.role, section.kind)),
        ];"#;
    let transformer = script("tells.js", transformer, "{}").unwrap();
    let (pointer, key, text) = ("/a", "a", "");
    for &role in Role::ALL {
        for (&kind, &value) in LeafKind::ALL.iter().zip(ValueType::ALL.iter().cycle()) {
            let told = [kind.name(), value.name(), role.name()].join(" ");
            let leaf = DetectLeaf { kind, value, role, tool: None, key, text: &told };
            assert_eq!(detector.detect(&[leaf], &Spent::default()).unwrap().into_vec().len(), 1, "{told}");
        }
        for (&kind, &of_leaf) in SectionKind::ALL.iter().zip(LeafKind::ALL.iter().cycle()) {
            let sections = [TransformSection { kind, role, ..TransformSection::default() }];
            let leaves =
                [TransformLeaf { section: 0, kind: of_leaf, value: ValueType::Text, pointer, key, text }];
            let (format, model, session, subagent) = ("", "", "", false);
            let request =
                TransformRequest { format, model, session, subagent, sections: &sections, leaves: &leaves };
            let made = transformer.transform(&request, &Spent::default()).unwrap().into_vec();
            let actions: Vec<Action> = made.into_iter().map(|edit| edit.action).collect();
            let expected = [
                Action::Set(format!("{} text", of_leaf.name())),
                Action::Note(format!("{} {}", kind.name(), role.name())),
                Action::InsertBefore { role, text: kind.name().to_owned() },
            ];
            assert!(actions == expected, "{kind:?}, {role:?}");
        }
    }
    let wrong = r#"export const transform = (request) => request.sections[0].insertBefore("nobody", "x");"#;
    let wrong = script("wrong.js", wrong, "{}").unwrap();
    let fault = sample::transform(&*wrong, &["x"]).unwrap_err();
    assert!(cases::told(&fault).contains("the role of `insertBefore`"), "{fault}");
}

#[test]
fn what_does_not_run_is_told_by_line_and_column() {
    for (source, told) in [
        ("export const detect = () => [];\nlet = 3 3;", "names.js:2:5: SyntaxError"),
        ("const a = 1;\n  missing();\nexport const detect = () => [];", "names.js:2:3: ReferenceError"),
        ("export const labels = ['A'];", "exports neither `detect` nor `transform`"),
        (
            "import fs from 'fs'; export const detect = () => [];",
            "names.js: ReferenceError: could not load module",
        ),
        ("await new Promise(() => {}); export const detect = () => [];", "waits at its top level"),
        ("export const detect = () => [];", "`describe` is not acceptable: a detector names what it finds"),
        ("export const labels = ['name']; export const detect = () => [];", "label 1 of its list"),
        ("export const labels = 1; export const detect = () => [];", "`labels` is no list"),
        ("export const detect = 1, transform = 2;", "exports neither"),
        ("export function detect() {} export function transform() {}", "exports both"),
    ] {
        let message = refused(source, "{}");
        assert!(message.contains(told), "{told} in {message}");
    }
    assert!(
        refused(NAMES, r#"{"names": []}"#).ends_with("its configuration is not accepted: `names` is empty")
    );
    let unconfigured = "export const labels = ['AB']; export const detect = () => [];";
    assert!(refused(unconfigured, r#"{"a": 1}"#).contains("exports no `configure`"));
    let slip = "export const labels = ['AB'], detect = () => [];\nexport function configure(c) { c.a.b(); }";
    let message = refused(slip, r#"{"a": 1}"#);
    assert!(
        message.contains("configuration is not accepted: names.js:2:") && message.contains("TypeError"),
        "{message}"
    );
    let later = "export const labels = ['AB'], detect = () => [];\nexport async function configure() {}";
    assert!(refused(later, "{}").contains("`configure` must not be async"));
    let endless = script_within(SHORT, "names.js", "for (;;) {}", "{}").unwrap_err();
    assert!(endless.message.contains("failed on load: it ran past its deadline"), "{endless}");
}

#[test]
fn a_configuration_is_held_beside_the_schema_before_the_script_is_asked() {
    let source = "export const labels = ['NAME'];\nexport const detect = () => [];\n\
        export const configSchema = { type: 'object', additionalProperties: false, properties: { size: { type: 'integer' } } };\n\
        export function configure({ size }) { if (!(size > 2)) throw new Error('/size: is too small'); }\n";
    let refused = |config: &str| script("names.js", source, config).unwrap_err();
    let typed = refused(r#"{"size": "3"}"#);
    assert_eq!(typed.message, "its configuration is not accepted: `size` must be a whole number");
    assert_eq!(typed.config[0].pointer, "/size");
    // The script would have thrown for this one, too.
    let slip = refused(r#"{"sise": 3}"#);
    let expected =
        "its configuration is not accepted: `sise` is no key that the plugin knows (did you mean `size`?)";
    assert_eq!((&*slip.message, &*slip.config[0].pointer), (expected, "/sise"));
    let own = refused(r#"{"size": 1}"#);
    let found: Vec<_> = own.config.iter().map(|found| (&*found.pointer, &*found.message)).collect();
    assert_eq!(found, [("/size", "`size`: is too small")]);
    assert!(script("names.js", source, r#"{"size": 3}"#).is_ok());
}

#[test]
fn a_fault_names_file_line_and_column_and_quotes_nothing() {
    let source = "export const labels = [\"NAME\"];\nexport function detect(leaf) {\n  if (leaf.text === \"bad\") throw new Error(leaf.text + \" secret\");\n  return [];\n}\n";
    let plugin = script("names.js", source, "{}").unwrap();
    let fault = plugin.detect(&[text("good"), text("bad")], &Spent::default()).unwrap_err();
    assert!(fault.to_string().starts_with("threw at names.js:3:"), "{fault}");
    let (Some(1), Fault::Threw { message, .. }) = fault.parts() else { panic!("{fault:?}") };
    assert_eq!(message.expose(), "Error: bad secret");
    assert!(!format!("{fault:?}").contains("secret"));
    assert!(plugin.detect(&[text("good")], &Spent::default()).is_ok(), "the next call is a fresh one");
}

#[test]
fn a_wrong_answer_is_a_fault_and_not_a_guess() {
    for (body, told) in [
        ("return [{ start: 2, end: 1 }]", "a span lies outside"),
        ("return [{ start: 0, end: 99 }]", "a span lies outside"),
        ("return [{ start: 1, end: 2 }]", "inside a character"),
        ("return [{ start: 0.5, end: 1 }]", "`start` of a finding is no place"),
        ("return [{ start: 0, end: 1, label: 'OTHER' }]", "a label that `labels` does not name"),
        ("return [{ start: 0, end: 1, confidence: 'sure' }]", "`confidence` is low, medium or high"),
        ("return Promise.resolve([])", "must not be async"),
        ("return leaf.find('')", "an empty word is found everywhere"),
        ("return leaf.find(3)", "a word, a pattern or a list"),
        ("return [null]", "TypeError"),
        ("throw 'a text'", "a text"),
        ("return Math.random()", "there is no random number in a plugin"),
        ("return new Date()", "there is no clock in a plugin"),
        ("return Date.now()", "there is no clock in a plugin"),
        ("return Date()", "there is no clock in a plugin"),
        ("const f = () => f() + 1; return f()", "RangeError: Maximum call stack size exceeded"),
    ] {
        let source = format!("export const labels = ['NAME'];\nexport function detect(leaf) {{ {body}; }}");
        let plugin = script("names.js", &source, "{}").unwrap();
        let fault = plugin.detect(&[text("😀 text")], &Spent::default()).unwrap_err();
        let message = fault.words().unwrap_or_else(|| panic!("{body}: {fault:?}"));
        assert!(message.expose().contains(told), "{told} in {}", message.expose());
        // What is wrong with the answer was thrown nowhere in the file: its function stands there.
        assert!(fault.to_string().starts_with("threw at names.js:2:"), "{body}: {fault}");
    }
}

#[test]
fn what_never_ends_or_takes_all_memory_is_stopped() {
    let source =
        |body: &str| format!("export const labels = ['NAME'];\nexport function detect(leaf) {{ {body} }}");
    let endless = script_within(SHORT, "names.js", &source("for (;;) {}"), "{}").unwrap();
    let fault = endless.detect(&[text("x")], &Spent::default()).unwrap_err();
    assert_eq!(fault.limit(), Some("call_deadline"));
    let large = source("const a = []; for (;;) a.push(new Uint8Array(1e6))");
    let fault =
        script("names.js", &large, "{}").unwrap().detect(&[text("x")], &Spent::default()).unwrap_err();
    assert!(
        fault.limit() == Some("memory_bytes") || matches!(fault.parts().1, Fault::Threw { .. }),
        "{fault:?}"
    );
}

#[test]
fn functions_may_call_each_other_a_hundred_deep() {
    let source = "export const labels = ['NAME'];\n\
        const deep = (left) => (left === 0 ? 1 : [left].map(() => deep(left - 1))[0]);\n\
        export const detect = (leaf) => [leaf.finding(0, deep(100))];";
    let plugin = script("deep.js", source, "{}").unwrap();
    assert_eq!(plugin.detect(&[text("a")], &Spent::default()).unwrap().into_vec().len(), 1);
}

#[test]
fn no_state_crosses_calls() {
    let source = "export const labels = ['NAME']; let calls = 0;\n\
        export const detect = (leaf) => (calls++ === 0 ? leaf.find('a') : []);";
    let plugin = script("state.js", source, "{}").unwrap();
    for _ in 0..3 {
        assert_eq!(plugin.detect(&[text("a")], &Spent::default()).unwrap().into_vec().len(), 1);
    }
}

#[test]
fn the_console_goes_to_the_author() {
    let source = "export const labels = ['NAME'];\n\
        export function detect(leaf) { console.warn('saw', leaf.text, { a: 1 }); return []; }";
    let plugin = script("logs.js", source, "{}").unwrap();
    plugin.detect(&[text("the text")], &Spent::default()).unwrap();
    assert!(LOGGED.lock().unwrap().contains(&"tested Warn saw the text {\"a\":1}".to_owned()));
}

#[test]
fn the_engine_is_made_of_its_sources() {
    let folder = root().join("plugins/javascript");
    let digests = std::fs::read_to_string(folder.join("engine.sha256")).unwrap();
    assert!(digests.lines().count() > 5 && digests.contains("  engine.wasm\n"), "{digests}");
    for line in digests.lines() {
        let (digest, file) = line.split_once("  ").unwrap();
        let actual = Sha256::digest(std::fs::read(folder.join(file)).unwrap());
        let actual = base16ct::lower::encode_string(&actual);
        assert_eq!(actual, digest, "{file} has changed: `cargo xtask javascript` builds the engine anew");
    }
}

#[test]
fn a_script_is_pinned_and_inspected_like_any_plugin() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("names.js");
    std::fs::write(&file, NAMES).unwrap();
    let source = PluginSource::new("names", file.clone(), "{}");
    let right: [u8; 32] = Sha256::digest(NAMES).into();
    assert_eq!(LOADER.load(&PluginSource { sha256: Some(right), ..source.clone() }).unwrap().digest(), right);
    let wrong = LOADER.load(&PluginSource { sha256: Some([0; 32]), ..source }).unwrap_err();
    assert!(wrong.message.contains("the rule file pins 0000"), "{wrong}");
    let inspection = LOADER.inspect(&file).unwrap();
    assert_eq!((inspection.layer, inspection.world), ("script", Some(World::Detector)));
    assert_eq!(inspection.sha256, base16ct::lower::encode_string(&right));
    assert_eq!(inspection.description.unwrap().summary, "Finds names");
}

/// Every string of every recording and example request, file by file.
fn recorded() -> Vec<Vec<String>> {
    fn strings(value: &serde_json::Value, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::String(text) => drop(found.insert(text.clone())),
            serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
            serde_json::Value::Object(members) => members.values().for_each(|value| strings(value, found)),
            _ => {}
        }
    }
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        for path in entries.map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "json") {
                found.push(path);
            }
        }
    }
    let mut paths = Vec::new();
    let own = ["examples/requests", "examples/recordings"].map(|folder| root().join(folder));
    for folder in own.into_iter().chain(recordings::fixtures()) {
        files(&folder, &mut paths);
    }
    paths.sort();
    let read = |path: &PathBuf| {
        let mut found = BTreeSet::new();
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        strings(&value, &mut found);
        Some(found.into_iter().collect())
    };
    paths.iter().filter_map(read).collect()
}

fn both_forms() -> (Arc<dyn Plugin>, Arc<dyn Plugin>) {
    let script = root().join("examples/plugins/rewrite-home-paths.js");
    (load(&*LOADER, &bundled("rewrite-home-paths"), "{}").unwrap(), load(&*LOADER, &script, "{}").unwrap())
}

#[test]
fn the_script_makes_the_edits_of_the_rust_plugin_over_all_recordings() {
    let (rust, script) = both_forms();
    let tricky = [
        "/home/jürgen/x",
        "PATH=/home/ada/bin:/home/ada/.cargo/bin",
        "It is in /home/ada.",
        "cc -I/home/ada/include",
        "file:///home/ada/x",
        r"first\n/home/ada/x",
        r"C:\Users\Ada Lovelace\src",
        r"C:\\Users\\ada\\src and D:/users/bob",
        "/root/.ssh and /root.",
        "/home/..",
        "/home/<user>/x",
        "https://example.org/home/ada",
        r"C:\Users\Public\x",
        "/rootfs /root.txt /root-ca /chroot/root/x",
        "ABC:/Users/ada",
        "",
        "/home/😀/x",
        "é/home/ada",
        "😀/home/ada",
        "/home/ada/home/ada",
        "x:/Users/ada:/Users/eve",
        "C:/Users/C:/Users/a",
        "/home//x",
        "/home/a.-. b",
        "/root",
        "-I/root",
        r"C:\Users\a b c d e\x",
        r"C:\Users\a  b\x",
        "\"-L/home/x\"",
        "/Users/Shared/x",
        "/homework/ada",
    ];
    assert_eq!(sample::transform(&*rust, &tricky).unwrap(), sample::transform(&*script, &tricky).unwrap());
    let (mut texts, mut made) = (0, 0);
    for recording in recorded() {
        let recording: Vec<&str> = recording.iter().map(String::as_str).collect();
        let expected = sample::transform(&*rust, &recording).unwrap();
        assert_eq!(expected, sample::transform(&*script, &recording).unwrap());
        texts += recording.len();
        made += expected.len();
    }
    let least = if recordings::fixtures().is_some() { (500, 10) } else { (100, 2) };
    assert!(texts > least.0 && made > least.1, "{texts} texts, {made} edits");
}

#[test]
fn the_script_fulfils_the_cases_of_the_rust_plugin() {
    let cases = root().join("plugins/rewrite-home-paths/cases.toml");
    let script = root().join("examples/plugins/rewrite-home-paths.js");
    let cases = Cases::read(&std::fs::read_to_string(cases).unwrap()).unwrap();
    for outcome in cases::run(&cases, &|config| load(&*LOADER, &script, config)) {
        assert_eq!(outcome.problems, Vec::<String>::new(), "line {}: {}", outcome.line, outcome.name);
    }
}

/// A measurement, not a promise that a busy machine could break: `cargo nextest run --run-ignored`.
#[test]
#[ignore = "measures"]
fn what_a_script_costs_beside_the_rust_plugin() {
    let (rust, script) = both_forms();
    let recorded = recorded();
    let time = |plugin: &dyn Plugin| {
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let began = Instant::now();
            for recording in &recorded {
                let texts: Vec<&str> = recording.iter().map(String::as_str).collect();
                sample::transform(plugin, &texts).unwrap();
            }
            best = best.min(began.elapsed());
        }
        best
    };
    let (rust, script) = (time(&*rust), time(&*script));
    println!("rust {rust:?}, script {script:?}: {:.1} times", script.as_secs_f64() / rust.as_secs_f64());
}
