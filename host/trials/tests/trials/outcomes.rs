//! Tests of a policy's own: what each outcome is called, what is refused, and what is written.

use std::path::Path;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Policy, PolicySource};
use leafgate_trials::{Grade, RuleTest, RuleTests, TestOutcome};
use tempfile::TempDir;

const RULES: &str = r#"
[[rule]]
id = "mail"
match = {}
detect = ["pii/email"]
action = "redact"

[[rule]]
id = "polite"
match = { role = "user" }
when = 'leaf.text.endsWith("?")'
action = "rewrite"
append = " Please."

[[rule]]
id = "no-prod"
match = { role = "user" }
when = 'leaf.text.contains("prod-db")'
action = "block"

[[rule]]
id = "no-shout"
match = { role = "user" }
when = 'leaf.text.contains("!!!")'
action = "pause"
"#;

pub(super) struct Tried {
    folder: TempDir,
    pub(super) policy: Policy,
}

impl Tried {
    pub(super) fn new(rules: &str, tests: &str) -> Tried {
        let folder = tempfile::tempdir().unwrap();
        leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
        Tried::of_folder(folder, tests)
    }

    pub(super) fn of_folder(folder: TempDir, tests: &str) -> Tried {
        let source = PolicySource::Folder(folder.path().to_owned());
        let policy = Policy::load(&source, &NoPlugins).unwrap_or_else(|error| panic!("{error}"));
        std::fs::create_dir(folder.path().join("tests")).unwrap();
        std::fs::write(folder.path().join("tests/all.toml"), tests).unwrap();
        Tried { folder, policy }
    }

    pub(super) fn tests(&self) -> std::path::PathBuf {
        self.folder.path().join("tests")
    }

    fn read(&self) -> RuleTests {
        RuleTests::read(&self.tests(), &self.policy).unwrap_or_else(|error| panic!("{error}"))
    }

    pub(super) fn outcomes(&self) -> Vec<TestOutcome> {
        self.read().iter().map(|test| test.run(&self.policy)).collect()
    }

    /// What is wrong with the tests, without the folder.
    pub(super) fn refused(&self) -> String {
        let error = RuleTests::read(&self.tests(), &self.policy).expect_err("the tests are sound");
        error.to_string().replace(&self.tests().display().to_string(), "tests")
    }
}

pub(super) fn grades(rules: &str, tests: &str) -> Vec<Grade> {
    Tried::new(rules, tests).outcomes().iter().map(|outcome| outcome.grade).collect()
}

pub(super) fn test(name: &str, rest: &str) -> String {
    format!("[[test]]\nname = \"{name}\"\n{rest}\n")
}

#[test]
fn an_outcome_is_named_by_what_went_wrong() {
    let tests = [
        test(
            "as expected",
            "text = 'ann@example.org'\nedits = [{ at = 'messages[0].content', text = '‹EMAIL›', by = 'mail' }]",
        ),
        test("nothing to do", "text = 'hello'\nedits = []"),
        test("the very bytes", "text = 'hello'\nbytes = 'received'"),
        test("nobody expects it", "text = 'ann@example.org'\nedits = []"),
        test("held without a reason", "text = 'prod-db'\nverdict = 'forward'"),
        test(
            "it slips through",
            "text = 'hello'\nedits = [{ at = 'messages[0].content', text = '‹EMAIL›' }]",
        ),
        test("nobody stops it", "text = 'hello'\nverdict = 'block'\nheld_by = 'no-prod'"),
        test("something else", "text = 'how?'\nedits = [{ at = 'messages[0].content', text = 'how? Now.' }]"),
        test(
            "another rule",
            "text = 'how?'\nedits = [{ at = 'messages[0].content', text = 'how? Please.', by = 'mail' }]",
        ),
        test("paused, not blocked", "text = 'go!!!'\nverdict = 'block'"),
        test("other bytes", "text = 'how?'\nbytes = 'received'"),
    ];
    use Grade::{Missing, Noisy, Right, Wrong};
    let expected = [Right, Right, Right, Noisy, Noisy, Missing, Missing, Wrong, Wrong, Wrong, Wrong];
    assert_eq!(grades(RULES, &tests.concat()), expected);
}

#[test]
fn a_test_that_expects_nothing_shows_nothing() {
    let outcomes = Tried::new(RULES, &test("empty", "text = 'hello'")).outcomes();
    assert_eq!(outcomes[0].grade, Grade::Missing);
    assert!(outcomes[0].fails());
}

#[test]
fn what_is_known_to_fail_is_no_failure() {
    let tests = test("later", "todo = true\ntext = 'hello'\nverdict = 'block'");
    let outcome = Tried::new(RULES, &tests).outcomes().remove(0);
    assert!(outcome.todo && !outcome.fails());
    assert_eq!(outcome.grade, Grade::Missing);
}

#[test]
fn some_rules_alone_are_asked() {
    let tests = [
        test(
            "all",
            "text = 'ann@example.org?'\nedits = [{ at = 'messages[0].content', text = '‹EMAIL›? Please.' }]",
        ),
        test(
            "one",
            "text = 'ann@example.org?'\nrules = 'polite'\nedits = [{ at = 'messages[0].content', text = 'ann@example.org? Please.' }]",
        ),
        test(
            "two",
            "text = 'prod-db?'\nrules = ['mail', 'polite']\nedits = [{ at = 'messages[0].content', text = 'prod-db? Please.' }]",
        ),
    ];
    assert_eq!(grades(RULES, &tests.concat()), [Grade::Right; 3]);
}

#[test]
fn a_request_is_given_in_four_ways_and_with_what_surrounds_it() {
    let rules = r#"
[[rule]]
id = "team"
match = { agent = "codex", subagent = true, upstream = "local", endpoint = "/v1/*", header = { x-team = "red" }, model = "gpt-*", session = "s-1", stream = true }
action = "block"
"#;
    let said = "agent = 'codex'\nsubagent = true\nupstream = 'local'\nendpoint = '/v1/chat'\nsession = 's-1'\nstream = true\nheader = { X-Team = 'red' }\nverdict = 'block'\n";
    let tests = [
        test(
            "a table",
            &format!(
                "{said}request = {{ model = 'gpt-4o', messages = [{{ role = 'user', content = 'x' }}] }}"
            ),
        ),
        test(
            "a list",
            &format!(
                "{said}model = 'gpt-4o'\nformat = 'raw'\nrequest = [{{ role = 1, content = [{{ type = 1, text = 'x' }}] }}]"
            ),
        ),
        test("a text", &format!("{said}request = '''{{\"model\": \"gpt-4o\", \"messages\": []}}'''")),
        test("what the user says", &format!("{said}model = 'gpt-4o'\ntext = 'x'")),
        test("a file", &format!("{said}file = 'requests/chat.json'")),
        test("another team", &format!("{}text = 'x'\nmodel = 'gpt-4o'", said.replace("'red'", "'blue'"))),
    ];
    let tried = Tried::new(rules, &tests.concat());
    std::fs::create_dir(tried.tests().join("requests")).unwrap();
    std::fs::write(tried.tests().join("requests/chat.json"), r#"{"model":"gpt-5","messages":[]}"#).unwrap();
    let grades: Vec<Grade> = tried.outcomes().iter().map(|outcome| outcome.grade).collect();
    let right = [Grade::Right; 5];
    assert_eq!(grades, [&right[..], &[Grade::Missing]].concat());
}

#[test]
fn what_is_wrong_with_tests_is_said_with_a_place() {
    let tests = r#"
[[test]]
text = "no name"
verdict = "forward"

[[test]]
name = "two requests"
text = "one"
file = "other.json"

[[test]]
name = "unknown"
text = "x"
rules = ["mial"]
verdict = "fowrard"
agent = "codxe"
noise = 1

[[test]]
name = "outside"
file = "../../secret.json"
verdict = "forward"

[[test]]
name = "not there"
file = "nowhere.json"
verdict = "forward"

[[test]]
name = "does two things"
text = "x"
edits = [{ at = "messages[0].content", text = "y", deleted = true }]

[[test]]
name = "not there"
request = "{"
verdict = "forward"

[[test]]
name = "wrong type"
text = 1
verdict = "forward"

[[test]]
name = "a misspelt place"
text = "x"
header = "x-team"
edits = [{ att = "messages[0].content", text = "y" }, { at = 1 }]
"#;
    snapshot!(Tried::new(RULES, tests).refused());
}

#[test]
fn two_tests_of_one_name_are_refused() {
    let tests =
        [test("same", "text = 'x'\nverdict = 'forward'"), test("same", "text = 'y'\nverdict = 'forward'")];
    let refused = Tried::new(RULES, &tests.concat()).refused();
    assert!(refused.contains("`same` is written twice") && refused.contains("line 1"), "{refused}");
}

/// Takes every snapshot that a failing test has, and writes it.
pub(super) fn update(tried: &Tried) -> String {
    let tests = tried.read();
    let outcomes: Vec<(&RuleTest, TestOutcome)> =
        tests.iter().map(|test| (test, test.run(&tried.policy))).collect();
    let failing = outcomes.iter().filter(|(_, outcome)| outcome.fails());
    let snapshots: Vec<_> = failing.map(|(test, outcome)| (&test.place, &outcome.snapshot)).collect();
    for written in tests.expecting(&snapshots, &tried.policy).unwrap() {
        std::fs::write(&written.path, &written.content).unwrap();
    }
    std::fs::read_to_string(tried.tests().join("all.toml")).unwrap()
}

#[test]
fn an_update_changes_the_expectations_alone_and_makes_all_tests_right() {
    let tests = r#"# Of the house.
[[test]]
name = "new"   # nothing yet
text = "ann@example.org\n\"quoted\"?"
# A last remark.

[[test]]
name = "stands"
text = "hello"
verdict = "forward"  # and stays

[[test]]
name = "changes"
verdict = "forward"
edits = [
  { at = "messages[0].content", text = "old" },
]
text = "prod-db"

[[test]]
name = "bytes"
text = "how?"
bytes = "bodies/how.json"
[test.header]
x-team = "red"
"#;
    let tried = Tried::new(RULES, tests);
    std::fs::create_dir(tried.tests().join("bodies")).unwrap();
    snapshot!(update(&tried));
    assert!(tried.outcomes().iter().all(|outcome| outcome.grade == Grade::Right), "{:?}", tried.outcomes());
    let body = std::fs::read_to_string(tried.tests().join("bodies/how.json")).unwrap();
    assert!(body.contains("how? Please."), "{body}");
}

#[test]
fn an_update_keeps_remarks_and_reaches_tests_however_they_are_written() {
    let tried = Tried::new(RULES, "test = [{ name = \"inline\", edits = [], text = \"how?\" }]\n");
    let written = update(&tried);
    assert!(written.starts_with("test = [{ name = \"inline\", text = \"how?\""), "{written}");
    assert_eq!(tried.outcomes()[0].grade, Grade::Right);
    let tests = "[[test]]\nname = \"a\"\n# why\nverdict = \"block\"\ntext = \"how?\"\n# since\n[[test.edits]]\nat = \"x\"\ntext = \"y\"\n";
    let tried = Tried::new(RULES, tests);
    let written = update(&tried);
    assert!(
        written.starts_with("[[test]]\nname = \"a\"\ntext = \"how?\"\n# why\n# since\nverdict = "),
        "{written}"
    );
    assert_eq!(tried.outcomes()[0].grade, Grade::Right);
    let tried = Tried::new(RULES, &tests.replace('\n', "\r\n"));
    assert_eq!(update(&tried), written.replace('\n', "\r\n"));
}

#[test]
fn tests_that_are_required_must_be_there_and_pass() {
    let tried = Tried::new(RULES, &test("holds", "text = 'prod-db'\nverdict = 'block'"));
    tried.read().require(&tried.policy).unwrap();
    let other = Tried::new(&RULES.replace("prod-db", "test-db"), "");
    let error = tried.read().require(&other.policy).unwrap_err().to_string();
    assert!(error.contains("a test fails, missing: verdict") && error.contains("\"holds\""), "{error}");
    let none = RuleTests::read(Path::new("/nowhere/tests"), &tried.policy).unwrap();
    assert!(none.require(&tried.policy).unwrap_err().to_string().contains("the policy has no tests"));
}

#[test]
fn no_text_of_a_request_is_in_a_failure_or_in_debug_output() {
    let tried =
        Tried::new(RULES, &test("quiet", "text = 'pineapple prod-db?'\nverdict = 'forward'\nedits = []"));
    let tests = tried.read();
    let outcome = tests.iter().next().unwrap().run(&tried.policy);
    let error = tests.require(&tried.policy).unwrap_err();
    // The line that a diagnostic shows is the test's name.
    let told = format!("{tests:?}{outcome:?}{error}");
    assert!(!told.contains("pineapple") && !told.contains("prod-db"), "{told}");
}

/// A test judged the body as the client sent it, and a gate what its profile makes of it.
#[test]
fn a_request_is_judged_as_its_profile_makes_it() {
    let rules = r#"
[[assemble]]
id = "notes"
match = { model = "notes/*" }
model = "gpt-x"
prompt = { type = "literal", text = "Write to ann@example.org." }

[[assemble]]
id = "gone"
agent_mode = true
agent_prompt = "gone.md"

[[rule]]
id = "mail"
match = { role = "system" }
detect = ["pii/email"]
action = "redact"
"#;
    let request = "request = { model = \"notes/a\", messages = [{ role = \"user\", content = \"Now?\" }] }\n";
    let edits = "edits = [{ at = \"messages[0].content\", text = \"Write to ‹EMAIL›.\" }]\n";
    let named = |profile: &str| format!("profile = \"{profile}\"\n");
    let grades = grades(
        rules,
        &[
            test("the one that is for it", &format!("{request}{edits}")),
            test("none is for it", "text = \"Now?\"\nedits = []\n"),
            test("a base URL names it", &format!("text = \"Now?\"\n{}{edits}", named("notes"))),
            test(
                "it cannot be made",
                &format!("text = \"Now?\"\n{}verdict = \"block\"\nheld_by = \"gone\"\n", named("gone")),
            ),
        ]
        .concat(),
    );
    assert_eq!(grades, [Grade::Right; 4]);
}
