//! `tree`, `explain`, `check`, `detectors`, and the program's own documentation.

use std::path::Path;

use serde_json::Value;

use crate::support::{Bench, EMAIL, RULES, request, secret};

// S0-114
#[test]
fn one_verb_chooses_modes_and_one_opens_the_prompt() {
    let bench = Bench::new();
    for (word, verb) in [
        ("pause", "mode"),
        ("hold", "mode"),
        ("intercept", "mode"),
        ("approve", "review"),
        ("prompt", "review"),
        ("queue", "review"),
        ("resume", "pending"),
        ("cancel", "pending"),
    ] {
        let told = bench.run(&[word], "");
        assert!(told.code == 2 && told.err.contains(&format!("'{verb}'")), "{word}: {}", told.shown());
    }
    let help = bench.run(&["--help"], "").out;
    let every_day = help.split("Policy:").next().unwrap();
    for verb in ["mode", "review"] {
        assert!(every_day.lines().any(|line| line.split_whitespace().next() == Some(verb)), "{help}");
    }
    let modes = bench.run(&["mode", "--help"], "").out;
    for mode in ["off", "interceptOnce", "interceptAlways", "autoOverride"] {
        assert!(modes.contains(mode), "{mode}: {modes}");
    }
}

#[test]
fn help() {
    let bench = Bench::new();
    let mut shown = String::new();
    for command in [
        &[][..],
        &["run"],
        &["apply"],
        &["tree"],
        &["explain"],
        &["check"],
        &["plugin"],
        &["plugin", "new"],
        &["plugin", "test"],
        &["plugin", "run"],
    ] {
        let call = [command, &["--help"]].concat();
        shown += &format!("$ leafgate {}\n{}\n", call.join(" "), bench.run(&call, "").shown());
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn tree() {
    let bench = Bench::with(RULES);
    let shown = bench.run(&["tree", "--policy", "policy"], &request()).shown();
    assert!(!shown.contains(&secret()) && !shown.contains(EMAIL), "{shown}");
    insta::assert_snapshot!(shown);
}

#[test]
fn a_tree_shows_no_secret_wherever_it_stands() {
    let request = serde_json::json!({
        secret(): 1,
        "messages": [{ "role": "user", "name": secret(), "content": [{ "type": "text", "text": secret() }] }],
        "tools": [{ "type": "function", "function": { "name": secret(), "parameters": { secret(): {} } } }],
    });
    for view in
        [&["tree"][..], &["tree", "--json"], &["apply", "--diff"], &["apply", "--ops"], &["apply", "--json"]]
    {
        let ran = Bench::new().run(view, &request.to_string());
        let shown = ran.shown();
        // The prefix alone stands in no path, label or preview either.
        assert!(!shown.contains(&secret()[..20]), "{view:?}: {shown}");
    }
}

#[test]
fn control_characters_are_shown_and_not_obeyed() {
    let body = "{\"messages\": [{\"role\": \"user\", \"content\": \"a\\u001b[2Jb\\u202ec\"}]}";
    for view in [&["tree"][..], &["tree", "--json"]] {
        let ran = Bench::new().run(view, body);
        assert_eq!(ran.code, 0);
        assert!(!ran.out.contains(['\u{1b}', '\u{202e}']), "{}", ran.out);
        assert!(ran.out.contains("1b") && ran.out.contains("202e"), "{}", ran.out);
    }
}

#[test]
fn a_tree_as_json() {
    let ran = Bench::new().run(&["tree", "--json"], &request());
    let tree: Value = ran.json();
    assert_eq!(tree["sections"][1]["id"], "user-1");
    assert_eq!(tree["sections"][1]["leaves"][0]["path"], "messages[1].content");
    assert_eq!(tree["model"], "gpt-4o");
}

#[test]
fn check_and_explain() {
    let bench = Bench::with(RULES);
    bench.file(
        "broken/rules.toml",
        "[[rule]]\nid = \"a\"\naction = \"redact\"\ndetect = [\"secrests\"]\nmatch = {}\n",
    );
    let sound = bench.run(&["check", "--policy", "policy"], "");
    assert_eq!(sound.code, 0);
    assert!(sound.out.starts_with("the policy is sound: 2 rules, 0 plugins, generation "), "{}", sound.out);
    insta::assert_snapshot!(bench.run(&["check", "--policy", "broken"], "").shown());
    let json = bench.run(&["check", "--policy", "broken", "--json"], "");
    assert_eq!(json.code, 2);
    let json: Value = json.json();
    assert_eq!((&json["ok"], &json["diagnostics"][0]["line"]), (&Value::from(false), &Value::from(4)));
    for json in [&["explain"][..], &["explain", "--json"]] {
        let ran = bench.run(json, "");
        assert_eq!(ran.code, 0);
        assert!(ran.out.contains("default-secrets"), "{}", ran.out);
    }
}

#[test]
fn detectors_completions_and_the_manual() {
    let bench = Bench::new();
    let list = bench.run(&["detectors", "list"], "").out;
    assert!(list.contains("pii/email") && list.lines().count() > 25, "{list}");
    let json: Value = bench.run(&["detectors", "list", "--json"], "").json();
    assert_eq!(json.as_array().unwrap().len() + 1, list.lines().count(), "a line of headings");
    assert!(bench.run(&["completions", "bash"], "").out.contains("leafgate"));
    let page = bench.run(&["man"], "").out;
    assert!(page.starts_with(".") && page.contains("apply"), "{page}");
    assert!(
        page.contains("plugin\\-check") || page.contains("plugin check"),
        "commands below others: {page}"
    );
    assert_eq!(bench.run(&["man", "pages"], "").shown(), "exit 0\n--- stdout\n--- stderr\n");
    let page = std::fs::read_to_string(bench.path().join("pages/leafgate-plugin-check.1")).unwrap();
    assert!(page.contains("\\-\\-config"), "{page}");
}

#[test]
fn the_version_says_what_was_built() {
    let bench = Bench::new();
    let lines = bench.run(&["--version"], "").out;
    let [version, commit, built] = lines.lines().collect::<Vec<_>>()[..] else { panic!("{lines}") };
    assert_eq!(version, format!("leafgate {}", env!("CARGO_PKG_VERSION")));
    let commit = commit.strip_prefix("commit ").unwrap().trim_end_matches("-dirty");
    assert!(commit == "unknown" || commit.bytes().all(|byte| byte.is_ascii_hexdigit()), "{commit}");
    assert!(built.contains(std::env::consts::ARCH), "{built}");
    assert_eq!(bench.run(&["-V"], "").out, format!("{version}\n"));
}

#[test]
fn a_word_that_is_no_command_leads_to_the_one_that_was_meant() {
    let told = Bench::new().run(&["allow", "x"], "");
    assert!(told.code == 2 && told.err.contains("'except add'"), "{}", told.shown());
}

#[test]
fn rule_files_have_a_schema_and_a_reference() {
    let bench = Bench::new();
    let schema: Value = bench.run(&["schema", "rules"], "").json();
    assert_eq!(schema["properties"]["rule"]["items"]["properties"]["action"]["enum"][0], "redact");
    let reference = bench.run(&["help", "rules"], "");
    assert!(reference.code == 0 && reference.out.starts_with("# Rule files"), "{}", reference.shown());
    assert!(bench.run(&["help", "apply"], "").out.contains("Usage: leafgate apply"));
    assert!(bench.run(&["help", "pending", "show"], "").out.contains("Usage: leafgate pending show"));
    for group in [["plugin", "help"].as_slice(), &["pending", "help", "show"], &["agents", "help"]] {
        let words: Vec<&str> =
            ["help"].into_iter().chain(group.iter().copied().filter(|word| *word != "help")).collect();
        assert_eq!(bench.run(group, "").shown(), bench.run(&words, "").shown(), "{group:?}");
    }
    let below = bench.run(&["help", "rules", "x"], "");
    assert!(
        below.code == 2 && below.err.contains("nothing below `leafgate help rules`"),
        "{}",
        below.shown()
    );
    for call in [&["plugin", "help", "nothing"][..], &["help", "nothing"]] {
        let unknown = bench.run(call, "");
        let said = "unrecognized subcommand 'nothing'";
        assert!(unknown.code == 2 && unknown.err.contains(said), "{}", unknown.shown());
    }
}

#[test]
fn what_is_no_plugin() {
    let bench = Bench::new();
    bench.file("text.wasm", "no wasm");
    bench.file("foreign.wasm", "");
    std::fs::write(bench.path().join("foreign.wasm"), FOREIGN).unwrap();
    let mut shown = String::new();
    for file in ["text.wasm", "not-there.wasm", "foreign.wasm"] {
        let ran = bench.run(&["plugin", "inspect", file], "");
        assert_eq!(ran.code, 2, "{file}");
        shown += &format!("$ leafgate plugin inspect {file}\n{}\n", ran.shown());
    }
    insta::assert_snapshot!(shown);
}

/// `(module (import "wasi_snapshot_preview1" "fd_write" (func)))`, which no plugin may ask for.
const FOREIGN: &[u8] =
    b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02\x23\x01\x16wasi_snapshot_preview1\x08fd_write\0\0";

/// Editors read the schema that the first line of a rule file names, and complete by it.
#[test]
fn the_examples_name_the_schema_that_the_binary_writes() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let published = examples.join("rules.schema.json");
    let written = Bench::new().run(&["schema", "rules"], "").out;
    if std::env::var_os("LEAFGATE_UPDATE").is_some() {
        std::fs::write(&published, &written).unwrap();
    }
    let same = std::fs::read_to_string(&published).unwrap() == written;
    assert!(same, "examples/rules.schema.json is of an older version: LEAFGATE_UPDATE=1 writes it anew");
    let mut seen = 0;
    for folder in std::fs::read_dir(examples.join("policies")).unwrap() {
        let files = std::fs::read_dir(folder.unwrap().path()).unwrap().map(|file| file.unwrap().path());
        for file in files.filter(|file| file.extension().is_some_and(|extension| extension == "toml")) {
            let text = std::fs::read_to_string(&file).unwrap();
            let named = text.lines().next().and_then(|line| line.strip_prefix("#:schema "));
            let named = named.unwrap_or_else(|| panic!("{} names no schema", file.display()));
            let schema = file.parent().unwrap().join(named).canonicalize().unwrap();
            assert_eq!(schema, published.canonicalize().unwrap(), "{}", file.display());
            seen += 1;
        }
    }
    assert!(seen > 5, "{seen}");
}
