//! Forty rules that are wrong or useless: `check` finds each of them, with its place and what to do.

use leafgate_policy::Diagnostic;

use super::support::{Fakes, folder, in_a_row, load_folder, policy};

const BLOCK: &str = "match = {}\nwhen = 'leaf.text.size() > 3'\naction = \"block\"";

/// Each with a name, and the text of a rule file.
fn forty() -> Vec<(&'static str, String)> {
    let rule = |rest: &str| format!("[[rule]]\nid = \"r\"\n{rest}\n");
    let second = |rest: &str| format!("[[rule]]\nid = \"s\"\n{rest}\n");
    let when =
        |when: &str| rule(&format!("match = {{ role = \"user\" }}\nwhen = '{when}'\naction = \"pause\""));
    let rewrite =
        |change: &str| rule(&format!("match = {{ role = \"user\" }}\naction = \"rewrite\"\n{change}"));
    let matches = |fields: &str| rule(&format!("match = {{ {fields} }}\naction = \"pause\""));
    let pin = "match = { role = \"system\" }\naction = \"pin\"";
    let shell = "match = { tool = \"Bash\" }\naction = \"block\"";
    vec![
        ("no id", format!("[[rule]]\n{BLOCK}\n")),
        ("an id with blanks", format!("[[rule]]\nid = \"No Production\"\n{BLOCK}\n")),
        ("an id twice", rule(BLOCK) + &rule(pin)),
        ("no match", rule("action = \"block\"")),
        ("a mistyped field", matches("rol = \"user\"")),
        ("a role that nobody has", matches("role = \"human\"")),
        ("a kind that does not exist", matches("kind = \"tool-argument\"")),
        ("a list of no tools", matches("tool = []")),
        ("a path that is none", matches("path = \"messages[\"")),
        ("an endpoint without a slash", matches("endpoint = \"v1/chat\"")),
        ("a header with a credential", matches("header = { authorization = \"Bearer *\" }")),
        ("a client that nobody knows", matches("agent = \"claude\"")),
        ("latest is false", matches("latest = false")),
        ("a condition that ends too early", when("leaf.text.contains(")),
        ("a fact that does not exist", when("leaf.txt == \"x\"")),
        ("a word of another language", when("leaf.kind == \"text\" and leaf.text == \"x\"")),
        ("a comparison that is never true", when("leaf.role == \"usr\"")),
        ("an unknown detector", rule("match = {}\naction = \"redact\"\ndetect = \"secrets/jvt\"")),
        ("nothing to detect", rule("match = {}\naction = \"redact\"")),
        (
            "a mask that is to be restored",
            rule("match = {}\naction = \"redact\"\ndetect = \"secrets\"\nwith = \"mask\"\nrestore = \"off\""),
        ),
        ("a mistyped action", rule("match = {}\naction = \"blok\"")),
        ("a field of another action", rule("match = {}\naction = \"pin\"\nset = \"x\"")),
        ("two changes at once", rewrite("set = \"x\"\nappend = \"y\"")),
        ("a bad regular expression", rewrite("replace = { pattern = '(a', with = 'b' }")),
        ("a group that the pattern has not", rewrite("replace = { pattern = '(a)', with = '$1b' }")),
        ("an option that is none", rewrite("options = { model = \"x\" }")),
        ("a timeout in words", rule("match = {}\naction = \"pause\"\ntimeout = \"5 minutes\"")),
        (
            "a reason that would tell a text",
            rule("match = {}\naction = \"pause\"\nreason = \"${leaf.text}\""),
        ),
        ("an example, which detectors have", rule(&format!("{BLOCK}\nexamples = [\"abc\"]"))),
        ("a tag with a blank", rule(&format!("{BLOCK}\ntags = [\"two words\"]"))),
        (
            "an edit of what rules may not edit",
            rule("match = { path = \"messages[*].role\" }\naction = \"rewrite\"\nset = \"user\""),
        ),
        ("a pin behind a pin", rule(pin) + &second(&format!("{pin}\nto = \"Be brief.\""))),
        ("the same rule twice", rule(BLOCK) + &second(BLOCK)),
        (
            "a pause behind a block",
            rule(shell)
                + &second("match = { tool = \"Bash\", kind = \"tool-arguments\" }\naction = \"pause\""),
        ),
        ("a condition that is never true", when("false")),
        ("a condition against the match", when("leaf.role == \"system\" && leaf.text.size() > 3")),
        ("an empty text", rewrite("append = \"\"")),
        ("a slow pattern", rewrite("replace = { pattern = '\\w{1,15}x', with = 'y' }")),
        ("a filter that keeps everything", rule("match = {}\naction = \"filter-tools\"\nkeep = \"*\"")),
        ("a block of everything", rule("match = {}\naction = \"block\"")),
    ]
}

#[test]
fn check_finds_each_of_forty_wrong_or_useless_rules() {
    let rules = forty();
    assert_eq!(rules.len(), 40);
    let (mut shown, mut wrong) = (String::new(), Vec::new());
    for (number, (name, text)) in rules.iter().enumerate() {
        let folder = folder(text, &Fakes::default());
        let found: Vec<Diagnostic> = match load_folder(folder.path(), &Fakes::default()) {
            Ok(policy) => policy.warnings().to_vec(),
            Err(error) => error.diagnostics().to_vec(),
        };
        let Some(first) = found.first() else {
            wrong.push(format!("nothing is found in `{name}`:\n{text}"));
            continue;
        };
        if first.line == 0 || first.column == 0 || first.hint.is_none() {
            wrong.push(format!("no place or no hint for `{name}`: {first}"));
        }
        let first = in_a_row(first).replace(&folder.path().display().to_string(), "policy");
        shown += &format!("{}. {name}\n   {first}\n", number + 1);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    snapshot!(shown);
}

#[test]
fn a_wrong_type_hides_no_other_error() {
    let text = "[[rule]]\nid = 1\nmatch = { role = 2, kind = \"texts\" }\naction = \"blok\"\ntimeout = 5\nwhen = 'leaf.txt'\n";
    let folder = folder(text, &Fakes::default());
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
    let mut lines: Vec<usize> = error.diagnostics().iter().map(|diagnostic| diagnostic.line).collect();
    lines.dedup();
    assert_eq!(lines, [2, 3, 4, 5, 6], "{error}");
}

#[test]
fn a_wrong_type_in_a_plugin_or_in_a_row_of_restore_hides_no_other_error() {
    let text = "restore = [\n  { from = 1,\n    to = 2 },\n  { form = \"Read\" },\n]\n\
                [plugins.names]\nfile = 1\nsha256 = 2\nconfig = 3\nlimits = 4\n\
                [plugins.other]\nconfig = {}\n";
    let folder = folder(text, &Fakes::default());
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
    let mut lines: Vec<usize> = error.diagnostics().iter().map(|diagnostic| diagnostic.line).collect();
    lines.dedup();
    assert_eq!(lines, [2, 3, 4, 7, 8, 9, 10, 11], "{error}");
    let said = error.to_string();
    assert!(said.contains("a plugin without `file`") && !said.contains("struct Raw"), "{said}");
}

#[test]
fn a_rule_behind_one_with_a_wider_glob_is_warned_of() {
    let behind = |first: &str, second: &str| {
        let rule = |id: &str, matches: &str| {
            format!(
                "[[rule]]\nid = '{id}'\nmatch = {{ {matches} }}\naction = 'block'\nwhen = 'leaf.text.contains(\"x\")'\n"
            )
        };
        let policy = policy(&format!("{}{}", rule("a", first), rule("b", second)));
        policy.warnings().iter().map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    for (wide, narrow) in [
        ("model = 'gpt-*'", "model = 'gpt-4'"),
        ("tool = 'mcp__*'", "tool = ['mcp__a__run', 'mcp__b__?']"),
        ("header = { x-team = '*-dev' }", "header = { x-team = 'tools-dev' }"),
    ] {
        assert_eq!(
            behind(wide, narrow),
            ["rule `b` can never act: rule `a` blocks all that it is about"],
            "{wide} {narrow}"
        );
        assert_eq!(behind(narrow, wide), Vec::<String>::new(), "{narrow} {wide}");
    }
}

#[test]
fn sound_rules_that_only_look_alike_are_not_warned_of() {
    let sound = r#"
[[rule]]
id = "pin-the-first"
match = { path = "messages[0].content" }
action = "pin"

[[rule]]
id = "pin-others"
match = { role = "system" }
action = "pin"

[[rule]]
id = "watch"
match = { tool = "Bash" }
action = "block"
mode = "monitor"

[[rule]]
id = "ask"
match = { tool = "Bash" }
action = "pause"

[[rule]]
id = "no-shell"
match = { tool = ["Bash", "Shell"] }
when = 'leaf.role == "assistant" && leaf.text.contains("rm")'
action = "block"

[[rule]]
id = "dates"
match = { role = "user" }
action = "rewrite"
replace = { pattern = '\d{4}-\d{2}-\d{2}', with = 'a day' }
"#;
    let policy = super::support::policy(sound);
    assert!(policy.warnings().is_empty(), "{:?}", policy.warnings());
}
