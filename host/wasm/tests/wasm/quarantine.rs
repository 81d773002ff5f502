//! Plugins that fail again and again are asked no more, and one bad text is no reason for that.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use crate::support::{patient_loader, text};
use leafgate_contract::{Fault, Health, Plugin, PluginLimits, PluginLoader as _, PluginSource, Spent};
use leafgate_wasm::WasmLoader;

static LOADER: LazyLock<WasmLoader> = LazyLock::new(|| patient_loader(None));

/// Fails on every text that says `bad`, and counts in what it finds how many it was shown.
const FAILS_ON_BAD: &str = "export const labels = ['NAME'];
export function detect(leaf) {
  if (leaf.text.includes('bad')) throw new Error('no');
  return leaf.find('a');
}
";

/// Writes a plugin that no other test has: what is known of one is known by its file.
fn written(source: &str) -> (tempfile::TempDir, PathBuf) {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fails.js");
    std::fs::write(&file, format!("{source}// {}\n", WRITTEN.fetch_add(1, Ordering::Relaxed))).unwrap();
    (folder, file)
}

fn load(file: &Path) -> Arc<dyn Plugin> {
    LOADER.load(&PluginSource::new("fails", file.to_owned(), "{}")).unwrap()
}

fn ask(plugin: &dyn Plugin, texts: &[&str]) -> Result<usize, Fault> {
    let leaves: Vec<_> = texts.iter().map(|one| text(one)).collect();
    let answer = plugin.detect(&leaves, &Spent::default()).map(|findings| findings.into_vec().len());
    answer.map_err(|fault| fault.parts().1.clone())
}

fn is_quarantined(answer: &Result<usize, Fault>) -> bool {
    matches!(answer, Err(Fault::Quarantined { .. }))
}

#[test]
fn a_plugin_that_fails_on_many_texts_is_asked_no_more_until_it_is_released() {
    let (_folder, file) = written(FAILS_ON_BAD);
    let plugin = load(&file);
    for n in 0..5 {
        assert!(plugin.health().quarantine.is_none());
        let answer = ask(&*plugin, &["good", &format!("bad {n}"), "a"]);
        assert!(matches!(answer, Err(Fault::Threw { .. })), "{answer:?}");
    }
    assert!(is_quarantined(&ask(&*plugin, &["a"])), "what it could answer is not asked either");
    let quarantine = plugin.health().quarantine.unwrap();
    assert!(quarantine.last_fault.starts_with("threw at fails.js:3:"), "{}", quarantine.last_fault);
    // Another generation of the policy has the same plugin.
    let again = load(&file);
    assert!(is_quarantined(&ask(&*again, &["a"])));
    assert!(again.release());
    assert_eq!(ask(&*plugin, &["a"]), Ok(1));
    assert_eq!(plugin.health(), Health::default());
    assert!(!plugin.release());
}

#[test]
fn a_plugin_that_is_changed_begins_anew() {
    let (_folder, file) = written(FAILS_ON_BAD);
    let plugin = load(&file);
    for n in 0..5 {
        assert!(ask(&*plugin, &[&format!("bad {n}")]).is_err());
    }
    let limits = PluginLimits { findings: Some(7), ..PluginLimits::default() };
    let source = PluginSource::new("fails", file.clone(), "{}");
    assert_eq!(ask(&*LOADER.load(&PluginSource { limits, ..source }).unwrap(), &["a"]), Ok(1));
    std::fs::write(&file, format!("{FAILS_ON_BAD}// mended\n")).unwrap();
    assert_eq!(ask(&*load(&file), &["a"]), Ok(1));
    assert!(is_quarantined(&ask(&*plugin, &["a"])));
}

#[test]
fn one_bad_text_that_returns_every_turn_is_one_fault() {
    let (_folder, file) = written(FAILS_ON_BAD);
    let plugin = load(&file);
    let mut turn = vec!["bad tool result"];
    let more: Vec<String> = (0..20).map(|n| format!("turn {n}")).collect();
    for text in &more {
        turn.push(text);
        assert!(matches!(ask(&*plugin, &turn), Err(Fault::Threw { .. })));
        assert_eq!(plugin.health(), Health { faults: 1, quarantine: None });
    }
    assert_eq!(ask(&*plugin, &["a", "b"]), Ok(1), "other requests are answered");
}

#[test]
fn a_plugin_that_fails_on_everything_is_held_though_the_texts_return() {
    let (_folder, file) = written("export const labels = ['NAME']; export const detect = () => missing;");
    let plugin = load(&file);
    let turn = ["system prompt", "question", "answer", "result", "question", "answer 2"];
    let turns = (0..10).take_while(|_| !is_quarantined(&ask(&*plugin, &turn))).count();
    assert_eq!(turns, 5);
}

#[test]
fn a_plugin_that_takes_all_the_time_of_a_request_is_held_though_the_texts_return() {
    let (_folder, file) =
        written("export const labels = ['NAME']; export const detect = () => { for (;;); };");
    let limits =
        PluginLimits { request_time: Some(std::time::Duration::from_millis(300)), ..PluginLimits::default() };
    let plugin = LOADER.load(&PluginSource { limits, ..PluginSource::new("slow", file, "{}") }).unwrap();
    let turn = ["system prompt", "question", "answer", "result", "question", "answer 2"];
    let turns = (0..10).take_while(|_| !is_quarantined(&ask(&*plugin, &turn))).count();
    assert_eq!(turns, 5);
    assert!(plugin.health().quarantine.unwrap().last_fault.contains("has for one request"));
}

#[test]
fn what_is_not_the_plugins_own_fault_does_not_count() {
    let (_folder, file) = written(FAILS_ON_BAD);
    let plugin = load(&file);
    let spent = Spent::default();
    let used = std::time::Duration::from_secs(3600);
    spent.charge(leafgate_contract::Cost { time: used, ..Default::default() });
    for n in 0..10 {
        let words = format!("text {n}");
        let answer = plugin.detect(&[text(&words)], &spent);
        assert!(matches!(answer, Err(Fault::RequestTime { .. })), "{answer:?}");
    }
    assert_eq!(plugin.health(), Health::default());
}

/// A plugin that may find so much in the texts of one request.
fn load_for(file: &Path, findings: usize) -> Arc<dyn Plugin> {
    let limits = PluginLimits { findings: Some(findings), ..PluginLimits::default() };
    LOADER.load(&PluginSource { limits, ..PluginSource::new("fails", file.to_owned(), "{}") }).unwrap()
}

/// P-09: five such texts, and everybody's requests were refused.
#[test]
fn a_text_that_holds_more_than_a_plugin_may_find_is_no_fault_of_the_plugin() {
    let (_folder, file) = written(FAILS_ON_BAD);
    let plugin = load_for(&file, 10);
    for n in 0..10 {
        let answer = ask(&*plugin, &["a", &"a".repeat(11 + n)]);
        assert!(matches!(answer, Err(Fault::TooMuch { limit: 10, .. })), "{answer:?}");
    }
    assert_eq!(plugin.health(), Health::default());
    assert_eq!(ask(&*plugin, &["a"]), Ok(1));
}

#[test]
fn a_plugin_that_finds_more_than_its_texts_can_hold_is_held() {
    let (_folder, file) = written(
        "export const labels = ['NAME'];
export const detect = (leaf) => Array.from({ length: 11 }, () => leaf.find('a')[0]);
",
    );
    let plugin = load_for(&file, 10);
    for n in 0..5 {
        assert!(matches!(ask(&*plugin, &[&format!("a {n}")]), Err(Fault::TooMuch { .. })));
    }
    assert!(is_quarantined(&ask(&*plugin, &["a"])));
}
