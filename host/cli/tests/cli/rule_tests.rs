//! `test`: what a person, a script and a build server read, and what is written.

use serde_json::Value;

use crate::support::{Bench, RULES};

const TESTS: &str = r#"
[[test]]
name = "an address is replaced"
text = "Write to ann@example.org"
edits = [{ at = "messages[0].content", text = "Write to ‹EMAIL›" }]

[[test]]
name = "a system prompt is polite"
request = { messages = [{ role = "system", content = "Be brief." }] }
edits = [{ at = "messages[0].content", text = "Be brief. Please." }]

[[test]]
name = "nothing is said about addresses"
text = "Write to ann@example.org"
edits = []

[[test]]
name = "a project is held"
text = "Project <X> & \"Y\""
verdict = "pause"

[[test]]
name = "later"
text = "Project Z"
verdict = "block"
todo = true
"#;

fn bench() -> Bench {
    let bench = Bench::with(RULES);
    bench.file("policy/tests/all.toml", TESTS);
    bench
}

#[test]
fn outcomes_are_told_with_what_differs() {
    let ran = bench().run(&["test", "--policy", "policy"], "");
    insta::assert_snapshot!(ran.shown());
}

#[test]
fn some_tests_alone_are_run() {
    let bench = bench();
    let ran = bench.run(&["test", "--policy", "policy", "address is"], "");
    assert_eq!((ran.code, ran.out.lines().last()), (0, Some("1 test: 1 right")));
    let none = bench.run(&["test", "--policy", "policy", "nowhere"], "");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("no test has a name with nowhere"), "{}", none.err);
}

#[test]
fn programs_read_json_and_junit() {
    let bench = bench();
    let ran = bench.run(&["test", "--policy", "policy", "--json", "--junit", "out.xml"], "");
    assert_eq!(ran.code, 1);
    let json: Value = ran.json();
    let grades: Vec<&str> =
        json["tests"].as_array().unwrap().iter().map(|test| test["grade"].as_str().unwrap()).collect();
    assert_eq!(grades, ["right", "wrong", "noisy", "missing", "missing"]);
    assert_eq!(json["ok"], false);
    let xml = std::fs::read_to_string(bench.path().join("out.xml")).unwrap();
    let timeless: String = xml
        .lines()
        .map(|line| match line.split_once(" time=\"") {
            Some((before, rest)) => format!("{before}{}\n", rest.split_once('"').unwrap().1),
            None => format!("{line}\n"),
        })
        .collect();
    insta::assert_snapshot!(timeless);
}

#[test]
fn an_update_shows_first_and_writes_only_where_that_is_said() {
    let bench = bench();
    let shown = bench.run(&["test", "--policy", "policy", "--update"], "");
    assert_eq!(shown.code, 1);
    assert!(shown.err.contains("nothing is written"), "{}", shown.err);
    assert_eq!(std::fs::read_to_string(bench.path().join("policy/tests/all.toml")).unwrap(), TESTS);
    let written = bench.run(&["test", "--policy", "policy", "--update", "--yes"], "");
    assert_eq!(written.code, 0, "{}", written.shown());
    insta::assert_snapshot!(written.out);
    let after = bench.run(&["test", "--policy", "policy"], "");
    assert_eq!((after.code, after.out.lines().last()), (0, Some("5 tests: 4 right, 1 to do")));
    assert_eq!(std::fs::read_dir(bench.path().join("policy/tests")).unwrap().count(), 1, "no draft is left");
}

#[test]
fn a_policy_without_tests_is_told_so() {
    let ran = Bench::new().run(&["test"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("a built-in policy has no tests"), "{}", ran.err);
}

#[test]
fn check_reads_the_tests_and_runs_none() {
    let bench = bench();
    let sound = bench.run(&["check", "--policy", "policy"], "");
    assert_eq!(sound.code, 0, "tests fail and can be read: {}", sound.shown());
    bench.file("policy/tests/more.toml", "[[test]]\nname = \"a\"\ntext = \"b\"\nverdikt = \"pause\"\n");
    bench.file("policy/tests/torn.toml", "[[test]]\nname = \n");
    bench.file(
        "policy/tests/lost.toml",
        "[[test]]\nname = \"c\"\nfile = \"lost.json\"\nverdict = \"pause\"\n",
    );
    let wrong = bench.run(&["check", "--policy", "policy"], "");
    assert_eq!(wrong.code, 2, "{}", wrong.shown());
    insta::assert_snapshot!(wrong.shown());
    let json: Value = bench.run(&["check", "--policy", "policy", "--json"], "").json();
    assert_eq!((&json["ok"], json["diagnostics"].as_array().unwrap().len()), (&Value::Bool(false), 3));
}
