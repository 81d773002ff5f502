//! What those write who are new to rules: each mistake is one message with its place and what to do, and
//! hides no other.

use leafgate_policy::Diagnostic;

use super::support::{Fakes, folder, in_a_row, load_folder};

/// Each with a name, how many messages there are, and the text of a rule file.
fn mistakes() -> Vec<(&'static str, usize, String)> {
    let rule = |rest: &str| format!("[[rule]]\nid = \"r\"\n{rest}\n");
    let second = |rest: &str| format!("[[rule]]\nid = \"s\"\n{rest}\n");
    let when = |when: &str| rule(&format!("match = {{}}\nwhen = {when}\naction = \"pause\""));
    let found = "match = {}\ndetect = \"pii\"\naction = \"redact\"\n";
    let exception =
        |rest: &str| rule(&format!("{found}[[exception]]\nrule = \"r\"\nreason = \"x\"\nby = \"y\"\n{rest}"));
    let detector = |rest: &str| {
        format!("[[detector]]\n{rest}\n") + &rule("match = {}\ndetect = \"own\"\naction = \"redact\"")
    };
    let rewrite = |rest: &str| rule(&format!("match = {{ role = \"user\" }}\naction = \"rewrite\"\n{rest}"));
    vec![
        ("keys without their quotes", 1, rule("match = {}\naction = block")),
        ("quotes of a word processor", 1, rule("match = {}\naction = “block”")),
        ("a text that is not closed", 1, rule("match = {}\naction = 'block")),
        ("a pattern in the wrong quotes", 1, when("\"leaf.text.matches('\\d+')\"")),
        ("quotes inside quotes", 1, when("\"leaf.text.matches(\"x\")\"")),
        ("a key twice", 1, rule("match = {}\nmatch = {}\naction = \"block\"")),
        ("another language", 1, "{\"rule\": []}".to_owned()),
        ("required keys misspelt", 3, "[[rule]]\nidd = \"r\"\nmach = {}\nacton = \"block\"\n".to_owned()),
        ("a misspelt detector", 2, detector("idd = \"customers\"\nwrods = [\"Initech\"]")),
        (
            "examples misspelt",
            1,
            detector("id = \"ticket\"\nregex = 'CASE-[0-9]{4}'\nexample = \"CASE-1234\""),
        ),
        ("a misspelt exception", 2, exception("valeu = \"a@example.org\"\nuntill = \"never\"")),
        ("a misspelt pattern", 1, rewrite("replace = { patern = \"x\", with = \"y\" }")),
        (
            "a misspelt prompt",
            1,
            format!("[[assemble]]\nid = \"v\"\nprompt = {{ typ = \"general\" }}\n{}", rule(found)),
        ),
        ("a plugin without its file", 1, format!("[plugins.names]\nfiel = \"names.wasm\"\n{}", rule(found))),
        (
            "limits misspelt",
            3,
            format!(
                "[plugins.names]\nfile = \"names.wasm\"\nlimits = {{ findngs = 3, memory = 5 }}\n{}",
                rule(found)
            ),
        ),
        (
            "a number among detectors",
            2,
            rule("match = {}\ndetect = [\"secrets\", 5, \"pii/emial\"]\naction = \"redact\""),
        ),
        ("a detector without its pack", 1, rule("match = {}\ndetect = \"email\"\naction = \"redact\"")),
        ("headers in one text", 1, rule("match = { header = \"x-team\" }\naction = \"pause\"")),
        (
            "options in a table",
            1,
            rule("match = { option = { reasoning = { effort = \"high\" } } }\naction = \"pause\""),
        ),
        (
            "truth in quotes",
            2,
            rule("match = { stream = \"yes\" }\ndetect = \"pii\"\naction = \"redact\"\nreleasable = \"yes\""),
        ),
        ("a number in quotes", 1, rewrite("max_chars = \"many\"")),
        (
            "numbers larger than TOML has",
            3,
            rule("match = {}\naction = \"block\"\nfindings = \"pii\"\nat_least = 9223372036854775808")
                + &second(
                    "match = { role = \"user\" }\naction = \"rewrite\"\nmax_chars = 9223372036854775808\n\
                     options = { seed = 18446744073709551615 }",
                ),
        ),
        (
            "blank values of another action",
            2,
            rule("match = {}\naction = \"block\"\ntext = \"\"\ndetect = []"),
        ),
        (
            "words left out",
            2,
            rule("match = { role = { any = [\"!user\"] } }\naction = \"pause\"\nmode = \"!monitor\""),
        ),
        (
            "a row that is no table",
            2,
            format!("restore = [\"Read(.env)\", {{ form = \"x\", to = \"Edit(y)\" }}]\n{}", rule(found)),
        ),
        (
            "a plugin that is no table",
            1,
            format!(
                "[plugins]\nnames = \"names.wasm\"\n{}",
                rule("match = {}\ndetect = \"plugin:names\"\naction = \"redact\"")
            ),
        ),
        (
            "a size with its unit",
            2,
            format!(
                "[plugins.names]\nfile = \"names.wasm\"\nlimits = {{ memory_bytes = \"1 GiB\" }}\n{}",
                rule(found)
            ),
        ),
        (
            "signers under one key in quotes",
            1,
            format!("\"plugins.require_signed\" = [\"x\"]\n{}", rule(found)),
        ),
        ("tokens restored", 1, rule(&format!("{found}restore = true"))),
        ("protected from a misspelt word", 1, rule("match = {}\naction = \"protect\"\nfrom = [\"edits\"]")),
        ("a day in quotes", 1, exception("value = \"a@example.org\"\nuntil = \"2127-03-31\"")),
        ("a pattern that is closed too early", 1, exception("pattern = \")(\"\nuntil = \"never\"")),
        ("an id that makes no label", 1, detector("id = \"d\"\nwords = [\"Initech\"]")),
        (
            "a label and an example that are wrong",
            2,
            detector(
                "id = \"ticket\"\nlabel = \"ticket\"\nregex = 'CASE-[0-9]{4}'\nexamples = [\"case-1234\"]",
            ),
        ),
        ("an endpoint with a query", 1, rule("match = { endpoint = \"/v1/*?alt=sse\" }\naction = \"pause\"")),
        ("a number of a text", 1, when("'leaf.text > 5'")),
        ("a condition that asks nothing", 1, when("'leaf.text'")),
        ("a text and a number", 1, when("'size(leaf.text) + \"a\" == 3'")),
        ("a pattern in a condition", 1, when("'leaf.text.matches(\"(a\")'")),
        ("less than nothing", 1, when("'request.bytes < 0'")),
        ("a pattern for nothing", 1, rewrite("replace = { pattern = '', with = 'y' }")),
        ("a model that is not meant", 1, rule("match = { model = \"!local/*\" }\naction = \"block\"")),
        ("a model as a regular expression", 1, rule("match = { model = \"^gpt-4\" }\naction = \"block\"")),
        ("two models in one", 1, rule("match = { model = \"gpt-4|gpt-5\" }\naction = \"block\"")),
        ("a tool as in a permission", 1, rule("match = { tool = \"Bash(rm*)\" }\naction = \"block\"")),
        ("two tools in one", 1, rule("match = { tool = [\"Bash, Read\"] }\naction = \"block\"")),
        (
            "tools that stay as a regular expression",
            1,
            rule("match = {}\naction = \"filter-tools\"\nkeep = [\"mcp__.*\"]"),
        ),
        ("a path of JSONPath", 1, rule("match = { path = \"$.messages[*]\" }\naction = \"block\"")),
        (
            "a path with the number of an item as a key",
            1,
            rule("match = { path = \"messages.0.content\" }\naction = \"block\""),
        ),
        (
            "a path with a star for items",
            1,
            rule("match = { path = \"messages.*.content\" }\naction = \"block\""),
        ),
        ("a path in another case", 1, rule("match = { path = \"Messages[*].Content\" }\naction = \"block\"")),
        ("a path that is not meant", 1, rule("match = { path = \"!messages[0]\" }\naction = \"block\"")),
        ("a role that is not meant", 1, rule("match = { role = \"!user\" }\naction = \"pause\"")),
        ("a client that is not meant", 1, rule("match = { agent = \"!codex\" }\naction = \"pause\"")),
        ("a client in another case", 1, rule("match = { agent = \"Claude-Code\" }\naction = \"pause\"")),
        (
            "an endpoint that is not meant",
            1,
            rule("match = { endpoint = \"!/v1/messages\" }\naction = \"pause\""),
        ),
        (
            "a project as a regular expression",
            1,
            rule("match = { project = \".*payments$\" }\naction = \"pause\""),
        ),
        ("two upstreams in one", 1, rule("match = { upstream = \"local|house\" }\naction = \"pause\"")),
        (
            "a header that is not meant",
            1,
            rule("match = { header = { x-team = \"!red\" } }\naction = \"pause\""),
        ),
        (
            "an option that is not meant",
            1,
            rule("match = { option = { store = \"!false\" } }\naction = \"pause\""),
        ),
        ("words for what is not meant", 1, rule("match = { model = { nto = \"o3\" } }\naction = \"pause\"")),
        ("nothing that is meant", 1, rule("match = { model = { ignore-case = true } }\naction = \"pause\"")),
        (
            "all that is meant left out",
            1,
            rule("match = { model = { any = \"o3\", not = \"o*\" } }\naction = \"pause\""),
        ),
        (
            "all roles that are meant left out",
            1,
            rule("match = { role = { any = \"user\", not = [\"user\", \"tool\"] } }\naction = \"pause\""),
        ),
        (
            "case of words that have one",
            1,
            rule("match = { role = { any = \"user\", ignore-case = true } }\naction = \"pause\""),
        ),
        (
            "a block behind a wider one with the same condition",
            1,
            rule("match = { tool = \"Bash\" }\nwhen = 'request.bytes > 10'\naction = \"block\"")
                + &second(
                    "match = { tool = \"Bash\", kind = \"tool-arguments\" }\nwhen = 'request.bytes > 10'\naction = \"block\"",
                ),
        ),
    ]
}

#[test]
fn a_mistake_is_one_message_with_its_place_and_what_to_do() {
    let (mut shown, mut wrong) = (String::new(), Vec::new());
    for (name, count, text) in mistakes() {
        let folder = folder(&text, &Fakes::default());
        let found: Vec<Diagnostic> = match load_folder(folder.path(), &Fakes::default()) {
            Ok(policy) => policy.warnings().to_vec(),
            Err(error) => error.diagnostics().to_vec(),
        };
        let all: String = found.iter().map(|diagnostic| format!("  {}\n", in_a_row(diagnostic))).collect();
        let all = all.replace(&folder.path().display().to_string(), "policy");
        if found.len() != count {
            wrong
                .push(format!("{} messages for `{name}`, and {count} mistakes:\n{text}\n{all}", found.len()));
        }
        let lacks = |diagnostic: &&Diagnostic| diagnostic.line == 0 || diagnostic.hint.is_none();
        wrong.extend(
            found.iter().find(lacks).map(|found| format!("no place or no hint for `{name}`: {found}")),
        );
        shown += &format!("# {name}\n{all}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    snapshot!(shown);
}

#[test]
fn what_looks_like_a_mistake_and_is_none_is_not_told() {
    let sound = r#"
[[rule]]
id = "first"
match = { role = "user" }
action = "rewrite"
replace = { pattern = '^', with = "> " }

[[rule]]
id = "last"
match = { role = "user" }
action = "rewrite"
replace = { pattern = '\s*$', with = "" }

[[rule]]
id = "one-character"
match = { endpoint = "/v1/?hat/*" }
action = "pause"

[[rule]]
id = "large"
match = { tool = "Bash" }
when = "request.bytes > 10"
action = "block"

[[rule]]
id = "larger"
match = { tool = "Bash", kind = "tool-arguments" }
when = "request.bytes > 5"
action = "block"
"#;
    let folder = folder(sound, &Fakes::default());
    let policy = load_folder(folder.path(), &Fakes::default()).unwrap();
    let told: Vec<String> = policy.warnings().iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{}", told.join("\n"));
}
