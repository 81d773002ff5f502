//! `plugin`: from nothing to a plugin that answers its cases, and what its author reads on the way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::guest::{Guest, TESTED, case, configuration_error, edit, failure, finding};
use crate::support::{Bench, Ran, request};

/// A detector that finds the first four bytes of the first leaf.
fn finds_four_bytes() -> Vec<u8> {
    Guest::detector().call(finding(0, 0, 4, 0)).module()
}

fn write(bench: &Bench, name: &str, bytes: &[u8]) {
    bench.file(name, "");
    std::fs::write(bench.path().join(name), bytes).unwrap();
}

/// What a run prints, without what differs from machine to machine.
fn shown(bench: &Bench, ran: &Ran) -> String {
    let folder = bench.path().canonicalize().unwrap();
    ran.shown().replace(&*folder.to_string_lossy(), "FOLDER")
}

/// A call that runs cargo, which needs its home. It builds where the plugins of this repository are
/// built, so that what the SDK needs is there already.
fn with_cargo(bench: &Bench, args: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = bench.command(args);
    for name in ["PATH", "HOME", "CARGO", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("CARGO_TARGET_DIR", root.join("target/plugins")).env("CARGO_NET_OFFLINE", "true");
    command
}

#[test]
fn a_new_plugin_builds_and_fulfils_its_cases_at_once() {
    let bench = Bench::new();
    for (name, world) in [("demo-names", "detector"), ("demo-tabs", "transformer")] {
        let begun = bench.run(&["plugin", "new", name, "--world", world], "");
        assert_eq!(begun.code, 0, "{}", begun.shown());
        let tested = with_cargo(&bench, &["plugin", "test", name]).output().unwrap();
        let out = String::from_utf8(tested.stdout).unwrap();
        assert!(tested.status.success(), "{out}{}", String::from_utf8_lossy(&tested.stderr));
        assert!(out.ends_with("3 cases, all fulfilled\n"), "{out}");
    }
}

#[test]
fn a_new_script_fulfils_its_cases_where_nothing_is_installed() {
    let bench = Bench::new();
    for (name, world) in [("demo-words", "detector"), ("demo-tabs", "transformer")] {
        let begun = bench.run(&["plugin", "new", name, "--world", world, "--lang", "js"], "");
        assert_eq!(begun.code, 0, "{}", begun.shown());
        // Without PATH and home: there is no compiler and no node.
        let tested =
            bench.command(&["plugin", "test", name]).env_clear().env("HOME", bench.path()).output().unwrap();
        let out = String::from_utf8(tested.stdout).unwrap();
        assert!(tested.status.success(), "{out}{}", String::from_utf8_lossy(&tested.stderr));
        assert!(out.ends_with("cases, all fulfilled\n"), "{out}");
        let script = format!("{name}/{name}.js");
        for args in
            [&["plugin", "inspect", &*script][..], &["plugin", "build", name], &["plugin", "bench", &script]]
        {
            let config: &[&str] =
                if args[1] == "bench" && world == "detector" { &["--config", "words = ['a']"] } else { &[] };
            let ran = bench.run(&[args, config].concat(), "");
            assert_eq!(ran.code, 0, "{}", ran.shown());
        }
        let tried = ["plugin", "run", &*script, "--config", "words = ['paid']", "request.json"];
        bench.file("request.json", &request());
        if world == "detector" {
            let tried = bench.run(&tried, "");
            assert_eq!(tried.code, 0, "{}", tried.shown());
        }
    }
}

#[test]
fn a_configuration_that_is_refused_is_told_at_its_own_line() {
    let bench = Bench::with("[plugins.names]\nfile = \"names.js\"\nconfig = { sise = 1 }\n");
    let source = "export const labels = ['NAME'];\nexport const detect = () => [];\n\
        export function configure({ size }) { if (!size) throw new Error('`size` is missing'); }\n";
    bench.file("policy/names.js", source);
    let refused = bench.run(&["check", "--policy", "policy"], "").shown();
    assert!(refused.contains("policy/rules.toml:3:10") && refused.contains("`size` is missing"), "{refused}");
    bench.file("policy/names.js", "export const = 1;\n");
    let refused = bench.run(&["check", "--policy", "policy"], "").shown();
    assert!(refused.contains("policy/rules.toml:2:8") && refused.contains("names.js:1:14"), "{refused}");
}

#[test]
fn a_schema_tells_the_key_and_the_line_of_a_wrong_configuration() {
    let bench = Bench::new();
    let rules = "[plugins.names]\nfile = \"names.js\"\n\n[plugins.names.config]\nsise = 1\nwords = [\n  \"a\",\n  2,\n]\n\n\
        [[rule]]\nid = \"a\"\nmatch = {}\naction = \"redact\"\ndetect = [\"plugin:names\"]\n";
    bench.file("policy/rules.toml", rules);
    let schema = "{ type: 'object', additionalProperties: false, properties: { size: { type: 'integer' }, \
        words: { type: 'array', items: { type: 'string' } } } }";
    let source = format!(
        "export const labels = ['NAME'];\nexport const detect = () => [];\nexport const configSchema = {schema};\n\
         export function configure() {{}}\n"
    );
    bench.file("policy/names.js", &source);
    let refused = bench.run(&["check", "--policy", "policy"], "").shown();
    for told in [
        "`sise` is no key that the plugin knows",
        "policy/rules.toml:5:1",
        "did you mean `size`?",
        "`words[1]` must be a string",
        "policy/rules.toml:8:3",
    ] {
        assert!(refused.contains(told), "{told}: {refused}");
    }
    let inspected = bench.run(&["plugin", "inspect", "policy/names.js"], "").shown();
    assert!(inspected.contains("\"size\": {") && inspected.contains("\"type\": \"integer\""), "{inspected}");
    bench.file("policy/rules.toml", &rules.replace("sise", "size").replace("  2,\n", ""));
    assert_eq!(bench.run(&["check", "--policy", "policy"], "").code, 0);
}

#[test]
fn a_script_that_throws_is_told_by_line_and_column() {
    let bench = Bench::new();
    bench.file(
        "slip.js",
        "export const labels = [\"NAME\"];\nexport const detect = (leaf) => leaf.nothing.at;\n",
    );
    bench.file("slip.cases.toml", "[[case]]\nname = \"throws\"\ntext = \"x\"\nfinds = []\n");
    let ran = bench.run(&["plugin", "test", "slip.js"], "");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    assert!(ran.shown().contains("threw at slip.js:2:"), "{}", ran.shown());
    bench.file("slip.js", "export const = 1;\n");
    let ran = bench.run(&["plugin", "inspect", "slip.js"], "");
    assert!(ran.shown().contains("slip.js:1:14: SyntaxError"), "{}", ran.shown());
}

#[test]
fn a_project_under_work_is_built_and_published_on_each_save() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["plugin", "new", "demo-dev"], "").code, 0);
    let published = bench.path().join("demo.wasm");
    let mut command = with_cargo(&bench, &["plugin", "dev", "demo-dev", "--to", "demo.wasm"]);
    let mut dev = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(dev.stdout.take().unwrap()).lines().map(Result::unwrap);
    let mut round = || -> Vec<String> {
        let round: Vec<_> = lines.by_ref().take_while(|line| line != "waiting for a change").collect();
        assert!(!round.is_empty(), "it has ended");
        round
    };
    assert_eq!(round().last().unwrap(), "published as demo.wasm");
    assert!(std::fs::read(&published).unwrap().starts_with(b"\0asm"));
    // A case that is not fulfilled is told, and what is published stays.
    std::fs::remove_file(&published).unwrap();
    let cases = bench.path().join("demo-dev/cases.toml");
    let text = std::fs::read_to_string(&cases).unwrap();
    // Renamed into place, so that no look finds half a file.
    let save = |text: &str| std::fs::rename(bench.file("draft.toml", text), &cases).unwrap();
    save(&text.replace("finds = []", "finds = [{ text = \"airships\" }]"));
    assert_eq!(round().last().unwrap(), "3 cases, 1 not fulfilled");
    assert!(!published.exists());
    // So is a file of cases that is none; and once it is mended all is well.
    save("[[case]]\n");
    assert!(round().last().unwrap().contains("missing field `name`"));
    save(&text);
    assert_eq!(round().last().unwrap(), "published as demo.wasm");
    dev.kill().unwrap();
    dev.wait().unwrap();
}

#[test]
fn a_plugin_that_cannot_be_begun() {
    let bench = Bench::new();
    bench.file("there/mine.txt", "mine");
    let mut all = String::new();
    for args in
        [&["Names"][..], &["match"], &["there"], &["names", "--dir", "there"], &["names", "--world", "both"]]
    {
        let call = [&["plugin", "new"], args].concat();
        let ran = bench.run(&call, "");
        assert_eq!(ran.code, 2, "{args:?}");
        all += &format!("$ leafgate {}\n{}\n", call.join(" "), ran.shown());
    }
    insta::assert_snapshot!(all);
    assert_eq!(std::fs::read_dir(bench.path().join("there")).unwrap().count(), 1);
}

#[test]
fn a_begun_plugin_is_told_file_by_file() {
    let bench = Bench::new();
    insta::assert_snapshot!(bench.run(&["plugin", "new", "demo"], "").shown());
    insta::assert_snapshot!(
        "a_begun_plugin_in_python_is_told_file_by_file",
        bench.run(&["plugin", "new", "demo-py", "--lang", "python"], "").shown()
    );
}

/// The compiler of plugins has the system count its processor time.
#[test]
#[cfg(target_os = "linux")]
fn a_compiler_ends_by_its_processor_time() {
    // More code than a pipe takes: it is all there once its first byte is, and the process still is.
    let data = "a".repeat(1 << 20);
    let text = format!("(component (core module (memory 16) (data (i32.const 0) \"{data}\")))");
    let component = wat::parse_str(text).unwrap();
    let bench = Bench::new();
    let mut command = bench.command(&["--compile-component"]);
    let mut compiler = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    compiler.stdin.take().unwrap().write_all(&component).unwrap();
    let mut output = compiler.stdout.take().unwrap();
    output.read_exact(&mut [0]).unwrap();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", compiler.id())).unwrap();
    let of = |name: &str| {
        let line = limits.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    // Ten seconds, and five for each of the two MiB that it has begun.
    assert_eq!(of("Max cpu time"), ["20", "21"], "{limits}");
    assert_eq!(of("Max core file size"), ["0", "0"], "{limits}");
    compiler.kill().unwrap();
    compiler.wait().unwrap();
}

#[test]
fn what_a_project_in_python_lacks_is_told_in_a_line() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["plugin", "new", "demo", "--lang", "python"], "").code, 0);
    // With a PATH on which nothing is.
    let build = |args: &[&str]| {
        let ran = bench.command(&[&["plugin"], args].concat()).env("PATH", bench.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2), "{args:?}");
        String::from_utf8(ran.stderr).unwrap()
    };
    let no_python = build(&["test", "demo"]);
    assert!(no_python.contains("`python3` cannot be run") && no_python.lines().count() == 1, "{no_python}");
    assert!(build(&["build", "demo", "--profile", "dev"]).contains("`--profile` is one of cargo"));
    // A Python that cannot make an environment.
    let python = bench.file("python3", "#!/bin/sh\nexit 1\n");
    std::fs::set_permissions(python, std::fs::Permissions::from_mode(0o755)).unwrap();
    let no_venv = build(&["build", "demo"]);
    assert!(no_venv.contains("python3-venv") && no_venv.lines().count() == 1, "{no_venv}");
    std::fs::remove_file(bench.path().join("demo/requirements.txt")).unwrap();
    assert!(build(&["build", "demo"]).contains("lists componentize-py"));
}

const CASES: &str = r#"[[case]]
name = "the first four bytes"
text = "good day"
finds = [{ text = "good", label = "NAME" }]

[[case]]
name = "more than there is"
text = "ä"
fails = "a span lies outside its leaf"
"#;

#[test]
fn a_plugin_is_asked_its_cases_under_the_limits_of_the_gate() {
    let bench = Bench::new();
    write(&bench, "four.wasm", &finds_four_bytes());
    bench.file("cases.toml", CASES);
    let fulfilled = bench.run(&["plugin", "test", "four.wasm"], "");
    assert_eq!(fulfilled.code, 0, "{}", fulfilled.shown());
    // A file of the plugin's own name comes first.
    bench.file("four.cases.toml", &CASES.replace("good day", "bad, good"));
    let unfulfilled = bench.run(&["plugin", "test", "four.wasm"], "");
    assert_eq!(unfulfilled.code, 1, "{}", unfulfilled.shown());
    insta::assert_snapshot!(shown(&bench, &unfulfilled));
    let json = bench.run(&["plugin", "test", "four.wasm", "--json"], "");
    let json: Value = json.json();
    assert_eq!((&json["failed"], json["cases"].as_array().map(Vec::len)), (&Value::from(1), Some(2)));
    bench.file("four.cases.toml", &CASES.replace("good day", "bad day"));
    let no_cases = bench.run(&["plugin", "test", "four.wasm"], "");
    assert_eq!(no_cases.code, 2, "{}", no_cases.shown());
    assert!(no_cases.err.contains("line 1: `good` does not stand in leaf 0"), "{}", no_cases.shown());
}

#[test]
fn a_plugin_that_never_returns_fails_its_cases_by_name() {
    let bench = Bench::new();
    write(&bench, "loops.wasm", &Guest::detector().call("(loop $again (br $again)) unreachable").module());
    bench.file("cases.toml", "[[case]]\nname = \"a\"\ntext = \"x\"\nfails = \"deadline of 501 ms\"\n");
    let ran = bench.run(&["plugin", "test", "loops.wasm"], "");
    assert_eq!(ran.code, 0, "{}", ran.shown());
}

#[test]
fn a_check_loads_as_the_gate_does() {
    let bench = Bench::new();
    write(&bench, "four.wasm", &finds_four_bytes());
    bench.file("cases.toml", CASES);
    let refused = Guest::detector().configure(configuration_error()).module();
    write(&bench, "refuses/refuses.wasm", &refused);
    let pinned = format!("--sha256={}", "0".repeat(64));
    let mut all = String::new();
    for (args, code) in [
        // It finds four bytes in an empty text, and nobody asked it about one.
        (&["four.wasm"][..], 1),
        (&["four.wasm", &pinned], 2),
        (&["four.wasm", "--sha256=12"], 2),
        (&["four.wasm", "--config", "day = 2026-01-01"], 2),
        (&["four.wasm", "--config", "a ="], 2),
        (&["none.wasm"], 2),
        (&["."], 2),
    ] {
        let call = [&["plugin", "check"], args].concat();
        let ran = bench.run(&call, "");
        assert_eq!(ran.code, code, "{args:?}: {}", ran.shown());
        all += &format!("$ leafgate {}\n{}\n", call.join(" "), shown(&bench, &ran));
    }
    insta::assert_snapshot!(all);
    let json = bench.run(&["plugin", "check", "four.wasm", "--json", &pinned], "");
    let json: Value = json.json();
    assert_eq!(json["ok"], false);
    assert!(json["refused"].as_str().unwrap().contains("SHA-256"), "{json}");
    assert_eq!(bench.run(&["plugin", "check", "refuses/refuses.wasm"], "").code, 2);
}

#[test]
fn a_plugin_is_tried_on_a_request() {
    let bench = Bench::new();
    write(&bench, "four.wasm", &finds_four_bytes());
    let found = bench.run(&["plugin", "run", "four.wasm", "--match", "role = \"user\""], &request());
    insta::assert_snapshot!(shown(&bench, &found));
    let json = bench.run(&["plugin", "run", "four.wasm", "--match", "role = \"user\"", "--json"], &request());
    let json: Value = json.json();
    assert_eq!(json["isDirty"], true);

    let note = edit(case::REQUEST, 0, case::NOTE, TESTED.0, TESTED.1);
    write(&bench, "notes.wasm", &Guest::transformer().call(note).module());
    let noted = bench.run(&["plugin", "run", "notes.wasm"], &request());
    assert_eq!(noted.code, 0, "{}", noted.shown());
    assert!(noted.out.starts_with("tested changes nothing\nnote  "), "{}", noted.shown());

    write(&bench, "gives-up.wasm", &Guest::detector().call(failure()).module());
    let failed = bench.run(&["plugin", "run", "gives-up.wasm"], &request());
    assert_eq!(failed.code, 4, "{}", failed.shown());
    assert!(failed.err.contains("gave up"), "{}", failed.shown());
    let throws =
        "export const labels = ['NAME'];\nexport function detect(leaf) { throw new Error('no Ada here'); }\n";
    write(&bench, "throws.js", throws.as_bytes());
    for command in [&["plugin", "run", "throws.js"][..], &["plugin", "bench", "throws.js"]] {
        let threw = bench.run(command, &request());
        assert!(threw.err.contains("the plugin threw at throws.js:2:"), "{}", threw.shown());
        assert!(threw.err.contains(": Error: no Ada here"), "{}", threw.shown());
    }
    let asks = "export const labels = ['NAME'];\nexport const configSchema = { required: ['words'] };\n\
        export function detect(leaf) { return []; }\n";
    write(&bench, "asks.js", asks.as_bytes());
    for command in ["run", "bench", "check"] {
        let refused = bench.run(&["plugin", command, "asks.js"], &request());
        let told = "its configuration is not accepted: the key `words` is missing";
        assert!(refused.shown().contains(told), "{}", refused.shown());
        assert!(
            refused.shown().contains("`--config` and `--config-file` configure it"),
            "{}",
            refused.shown()
        );
        assert!(!refused.shown().contains("rules.toml"), "{}", refused.shown());
    }
    let bad = bench.run(&["plugin", "run", "four.wasm", "--match", "rolle = \"user\""], &request());
    assert_eq!(bad.code, 2, "{}", bad.shown());
    assert!(bad.err.contains("`rolle`"), "{}", bad.shown());
}

#[test]
fn a_plugin_is_measured() {
    let bench = Bench::new();
    write(&bench, "none.wasm", &Guest::detector().module());
    let ran = bench.run(&["plugin", "bench", "none.wasm", "--json"], "");
    assert_eq!(ran.code, 0, "{}", ran.shown());
    let figures: Value = ran.json();
    let calls = figures["calls"].as_array().unwrap();
    assert_eq!(calls.iter().map(|call| call["leaves"].as_u64().unwrap()).collect::<Vec<_>>(), [1, 512, 1]);
    assert!(calls.iter().all(|call| call["calls"].as_u64().unwrap() >= 5), "{figures}");
    assert!(bench.run(&["plugin", "bench", "none.wasm"], "").out.contains("a further leaf"));
    write(&bench, "traps.wasm", &Guest::detector().call("unreachable").module());
    let trapped = bench.run(&["plugin", "bench", "traps.wasm"], "");
    assert_eq!(trapped.code, 2);
    assert!(trapped.err.contains("trapped: wasm `unreachable`"), "{}", trapped.shown());
}

#[test]
fn a_plugin_is_signed_and_refused_once_it_changes() {
    let bench = Bench::new();
    write(&bench, "policy/four.wasm", &finds_four_bytes());
    let made = bench.run(&["plugin", "key", "ours.key"], "");
    assert_eq!(made.code, 0, "{}", made.shown());
    let key = made.out.trim_end();
    let mode = std::fs::metadata(bench.path().join("ours.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bench.file(
        "policy/rules.toml",
        &format!(
            "[plugins]\nrequire_signed = [\"{key}\"]\n\n[plugins.four]\nfile = \"four.wasm\"\n\n\
             [[rule]]\nid = \"four\"\nmatch = {{}}\ndetect = [\"plugin:four\"]\naction = \"redact\"\n"
        ),
    );
    let check = || bench.run(&["check", "--policy", "policy"], "");
    let unsigned = check();
    assert_eq!(unsigned.code, 2);
    assert!(
        unsigned.err.contains("it is not signed") && unsigned.err.contains("rules.toml:5"),
        "{}",
        unsigned.shown()
    );

    let sign = || bench.run(&["plugin", "sign", "policy/four.wasm", "--key", "ours.key"], "");
    assert_eq!(sign().code, 0);
    assert_eq!(check().code, 0, "{}", check().shown());
    let verify = |args: &[&str]| bench.run(&[&["plugin", "verify", "policy/four.wasm"], args].concat(), "");
    assert_eq!(verify(&["--key", key]).code, 0);
    let stranger = format!("ed25519:{}", "0".repeat(64));
    assert_eq!(verify(&["--key", &stranger]).code, 1);
    assert_eq!(verify(&["--key", "ours.key"]).code, 2, "a key's file is no key");
    let inspected = bench.run(&["plugin", "inspect", "policy/four.wasm"], "").out;
    let signed = inspected.lines().find(|line| line.starts_with("signed "));
    assert!(signed.is_some_and(|line| line.ends_with(key)), "{inspected}");

    write(&bench, "policy/four.wasm", &Guest::detector().module());
    let changed = check();
    assert!(changed.err.contains("is of another file"), "{}", changed.shown());
    let stale = verify(&["--json"]);
    assert_eq!(stale.code, 1);
    let stale: Value = stale.json();
    assert_eq!((&stale["ok"], &stale["stale"][0]), (&Value::from(false), &Value::from(key)));
    assert_eq!(sign().code, 0);
    assert_eq!(check().code, 0);

    let all = std::fs::read_to_string(bench.path().join("ours.key")).unwrap();
    bench.file("policy/rules.toml", "[plugins]\nrequire_signed = [\"ed25519:12\"]\n\n[[rule]]\nid = \"a\"\nmatch = {}\naction = \"pause\"\nreason = \"r\"\n");
    assert!(check().err.contains("`require_signed` names no key"), "{}", check().shown());
    // What others can read is no secret, and what is no key is none.
    std::fs::set_permissions(bench.path().join("ours.key"), std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(sign().err.contains("chmod 600"), "{}", sign().shown());
    assert_eq!(bench.run(&["plugin", "key", "ours.key"], "").code, 2, "no key is overwritten");
    assert_eq!(std::fs::read_to_string(bench.path().join("ours.key")).unwrap(), all);
}
