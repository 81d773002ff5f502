//! Whatever bytes a plugin's file has and whatever its script answers, the host says what is wrong
//! and goes on.

use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use crate::support::guest::{Guest, finding};
use crate::support::{patient_loader, text};
use leafgate_contract::{PluginLimits, PluginLoader as _, PluginSource, Spent};
use leafgate_wasm::WasmLoader;
use proptest::prelude::*;
use serde_json::{Value, json};

static LOADER: LazyLock<WasmLoader> = LazyLock::new(|| patient_loader(None));

/// A good plugin, as a module and as a component.
static GOOD: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let guest = Guest::detector().call(finding(0, 0, 4, 0));
    [guest.module(), guest.component()]
});

/// Other bytes may be a loop without end.
fn within_a_second(file: PathBuf, config: &str) -> PluginSource {
    let second = Some(Duration::from_secs(1));
    let limits = PluginLimits { start_deadline: second, call_deadline: second, ..PluginLimits::default() };
    PluginSource { limits, ..PluginSource::new("tested", file, config) }
}

/// What a script may answer: plain values of any shape, with the names of fields that count.
fn answers() -> impl Strategy<Value = Value> {
    let number = prop_oneof![0_i64..12, any::<i64>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        "\\PC{0,6}|NAME|high|user".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let field = "start|end|label|confidence|leaf|section|set|redact|pin|delete|insertBefore|role|text|note|pause|block|then";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(field, inner, 0..5).prop_map(|fields| json!(fields)),
        ]
    })
}

/// A world of one package exports an interface of another, which uses types of the first.
#[test]
fn packages_that_need_each_other_are_refused() {
    let [name, other] = [b"leafgate:plugin/detect@", b"leafgatf:plugin/detect@"];
    let mut bytes = GOOD[0].clone();
    let places: Vec<usize> =
        (0..bytes.len() - name.len()).filter(|&at| bytes[at..].starts_with(name)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + other.len()].copy_from_slice(other);
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let error = LOADER.load(&within_a_second(file.path().to_owned(), "{}")).unwrap_err();
    assert!(error.message.contains("need each other in a circle"), "{}", error.message);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn a_file_with_other_bytes_in_it_is_refused_or_runs(
        which in 0_usize..2,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = GOOD[which].clone();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &bytes).unwrap();
        match LOADER.load(&within_a_second(file.path().to_owned(), "{}")) {
            Ok(plugin) => drop(plugin.detect(&[text("some text")], &Spent::default())),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }

    #[test]
    fn whatever_a_script_answers_only_spans_of_the_text_come_through(answer in answers()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("answers.js");
        let source = "export const labels = ['NAME'];\nlet answer;\nexport function configure(config) { answer = config.answer; }\n\
            export const detect = () => answer;\n";
        std::fs::write(&file, source).unwrap();
        let config = json!({ "answer": answer }).to_string();
        let plugin = LOADER.load(&PluginSource::new("answers", file, config)).unwrap();
        let shown = "aé😀 text";
        if let Ok(findings) = plugin.detect(&[text(shown)], &Spent::default()) {
            for finding in findings.into_vec() {
                prop_assert!(shown.get(finding.at).is_some_and(|found| !found.is_empty()));
            }
        }
    }

    #[test]
    fn whatever_a_script_says_is_no_reason_to_panic(source in "(export |const |function |detect|labels|=|\\(\\)|=>|\\{|\\}|\\[|\\]|;|'A'|\\PC{0,3}|\n){0,24}") {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("any.js");
        std::fs::write(&file, &source).unwrap();
        match LOADER.load(&within_a_second(file, "{}")) {
            Ok(plugin) => drop(plugin.health()),
            Err(error) => prop_assert!(!error.message.is_empty()),
        }
    }
}
