//! Twenty kinds of `settings.json` lead to a gate and are given back to the byte.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::editors::EditorFile;
use super::files::{UserFile, real_path};
use super::jsonc::{Jsonc, ValueBefore};
use super::led::{SettingChanges, give_back, lead, past};
use super::models::{Names, targets};
use super::status;

const GATE: &str = "http://127.0.0.1:4141";

/// Kinds of settings that can be led.
const KINDS: [(&str, &str); 24] = [
    ("as VS Code writes it", "{\n    \"a\": 1,\n    \"b\": {\n        \"c\": [1, 2]\n    }\n}\n"),
    (
        "comments",
        "// all\n{\n    // first\n    \"a\": 1, // one\n    /* last */ \"b\": 2\n    // end\n} // after\n",
    ),
    ("a comment behind the brace", "{ // here\n  \"a\": 1\n}\n"),
    ("trailing commas", "{\n  \"a\": [1, 2,],\n  \"b\": 2,\n}\n"),
    ("ends of lines as on Windows", "{\r\n\t\"a\": 1,\r\n\t\"b\": 2\r\n}\r\n"),
    ("tabs", "{\n\t\"a\": 1\n}\n"),
    ("two spaces and empty lines", "\n\n{\n\n\n  \"a\": 1\n\n}\n\n"),
    ("no indentation", "{\n\"a\": 1\n}"),
    ("no final newline", "{\n    \"a\": 1\n}"),
    ("one line", "{\"a\":1}"),
    ("one line with spaces", "{ \"a\": 1, \"b\": { } }\n"),
    ("no members", "{}"),
    ("no members on two lines", "{\n}\n"),
    ("no members but a comment", "{\n    // nothing yet\n}\n"),
    ("spaces between braces", "{   }\n"),
    ("empty", ""),
    ("white space", " \n\n\t"),
    ("comments alone", "// nothing\n/* at all */"),
    (
        "members of Copilot's beside",
        "{\n    \"github.copilot.advanced\": {\n        \"authProvider\": \"github\"\n    },\n    \"z\": 0\n}\n",
    ),
    ("no members of Copilot's", "{\n    \"github.copilot.advanced\": {},\n    \"z\": 0,\n}\n"),
    (
        "values of the user's own",
        "{\"github.copilot.advanced\": {\"debug.overrideCapiUrl\":\"https:\\/\\/own.example\", \"debug.overrideProxyUrl\" : null }}",
    ),
    (
        "one value of the user's own, told twice",
        "{\n  \"github.copilot.advanced\": { \"debug.overrideProxyUrl\": \"a\" },\n  \"github.copilot.advanced\": {\n    \"debug.overrideProxyUrl\": \"b\", // this one counts\n    \"debug.overrideProxyUrl\": \"c\",\n  },\n}",
    ),
    (
        "another spelling",
        "{\n    \"github.copilot.advanced.debug.overrideCapiUrl\": \"https://own.example\",\n    \"github.copilot.internal.completionsUrl\": \"\"\n}",
    ),
    (
        "words of the world",
        "{\n    \"editor.fontFamily\": \"源ノ角ゴシック\", // 日本語\n    \"a\\u0062\": \"{ \\\"not\\\": 1 } // \"\n}\n",
    ),
];

fn led(text: Option<&str>) -> (String, SettingChanges) {
    lead(text, EditorFile::Settings, GATE, &Names::default()).unwrap()
}

fn given(text: &str, changes: &SettingChanges) -> Option<String> {
    give_back(text, changes).unwrap().text
}

#[test]
fn settings_lead_to_the_gate_and_are_given_back_to_the_byte() {
    for (kind, text) in KINDS {
        let (to_gate, changes) = led(Some(text));
        assert_eq!(past(&to_gate, GATE).unwrap(), Vec::<String>::new(), "{kind}: {to_gate}");
        assert!(!past(text, GATE).unwrap().is_empty(), "{kind}");
        assert_eq!(given(&to_gate, &changes).as_deref(), Some(text), "{kind}: {to_gate}");
        let kept: SettingChanges = serde_json::from_str(&serde_json::to_string(&changes).unwrap()).unwrap();
        assert_eq!(kept, changes, "{kind}");
    }
    let (made, changes) = led(None);
    insta::assert_snapshot!(made, @r#"
    {
        "github.copilot.advanced": {
            "debug.overrideCapiUrl": "http://127.0.0.1:4141/u/copilot",
            "debug.overrideProxyUrl": "http://127.0.0.1:4141/u/copilot-proxy"
        }
    }
    "#);
    assert_eq!(given(&made, &changes), None, "an absent file is absent again");
}

#[test]
fn what_was_there_keeps_its_shape() {
    let shown: String =
        [0, 1, 4, 10, 18].map(|place| format!("{}\n---\n", led(Some(KINDS[place].1)).0)).concat();
    insta::assert_snapshot!(shown.replace('\r', "␍"));
}

#[test]
fn what_was_edited_meanwhile_stays() {
    for (kind, text) in KINDS {
        let (to_gate, changes) = led(Some(text));
        // A member at the end, as VS Code's own settings page adds it.
        let (edited, _) = append(&to_gate, "new");
        let Some(back) = given(&edited, &changes) else { panic!("{kind}: the file is gone") };
        assert!(Jsonc::parse(&back).unwrap().get(&["new"]).is_some(), "{kind}: {back}");
        assert!(!back.contains("127.0.0.1"), "{kind}: {back}");
        if let (expected, true) = append(text, "new") {
            assert_eq!(back, expected, "{kind}");
        }
    }
}

/// Adds a member as the last one; says whether there were others before it.
fn append(text: &str, name: &str) -> (String, bool) {
    let jsonc = Jsonc::parse(text).unwrap();
    let Some(object) = jsonc.root.as_ref().and_then(|root| root.as_object()) else {
        return (format!("{text}{{ \"{name}\": 1 }}"), false);
    };
    let (end, before) = match object.properties.last() {
        Some(last) => (last.range.end, ", "),
        None => (object.range.start + 1, ""),
    };
    // A comma that is there already separates the new member too.
    let comma = if text[end..].trim_start().starts_with(',') { "," } else { "" };
    let end = end + if comma.is_empty() { 0 } else { text[end..].find(',').unwrap() + 1 };
    let before = if comma.is_empty() { before } else { " " };
    let added = format!("{}{before}\"{name}\": 1{comma}{}", &text[..end], &text[end..]);
    (added, !object.properties.is_empty())
}

#[test]
fn what_a_person_has_changed_of_ours_is_theirs() {
    let (to_gate, changes) = led(Some("{\n    \"a\": 1\n}\n"));
    let edited = to_gate.replace("http://127.0.0.1:4141/u/copilot\"", "https://mine.example\"");
    let back = give_back(&edited, &changes).unwrap();
    assert_eq!(back.left, ["github.copilot.advanced → debug.overrideCapiUrl"]);
    insta::assert_snapshot!(back.text.unwrap(), @r#"
    {
        "github.copilot.advanced": {
            "debug.overrideCapiUrl": "https://mine.example"
        },
        "a": 1
    }
    "#);
    let inside = to_gate.replace(
        "\"debug.overrideProxyUrl\"",
        "\"authProvider\": \"github\",\n        \"debug.overrideProxyUrl\"",
    );
    let back = give_back(&inside, &changes).unwrap();
    assert!(back.left.is_empty());
    insta::assert_snapshot!(back.text.unwrap(), @r#"
    {
        "github.copilot.advanced": {
            "authProvider": "github"
        },
        "a": 1
    }
    "#);
}

#[test]
fn what_cannot_be_read_as_the_editor_reads_it_is_refused() {
    for (text, words) in [
        ("{\n    \"a\": quoted\n}", "line 2 is no JSON"),
        ("{ \"a\": 1", "is no JSON"),
        ("{ \"a\": 1 \"b\": 2 }", "is no JSON"),
        ("[]", "an object"),
        ("\"text\"", "an object"),
        ("{} {}", "is no JSON"),
        (
            "{ \"github.copilot.advanced\": \"off\" }",
            "`github.copilot.advanced` → `debug.overrideProxyUrl` cannot be set",
        ),
        ("{ \"github.copilot\": { \"advanced\": {} } }", "`github.copilot` would hide"),
    ] {
        let error = lead(Some(text), EditorFile::Settings, GATE, &Names::default()).unwrap_err();
        let error = format!("{error:#}");
        assert!(error.contains(words) && !error.contains("quoted"), "{text}: {error}");
    }
}

const MODELS: &str = r#"[
    // mine
    { "vendor": "customendpoint", "name": "Own", "models": [
        { "id": "a", "apiType": "messages", "url": "https:\/\/a.example\/v1", "requestHeaders": { "x": "secret" } },
        { "id": "b", "url": "https://a.example/v1/messages" },
        { "id": "c", "url": "https://b.example/v4" },
    ] },
    { "vendor": "azure", "name": "Azure", "models": [{ "id": "d", "url": "https://x.openai.azure.com" }] },
    { "vendor": "anthropic", "name": "Mine", "apiKey": "k" },
    { "vendor": "ollama", "name": "ollama", "url": "http://localhost:11434" }
]
"#;

#[test]
fn own_models_lead_through_upstreams_of_their_own() {
    let mut names = Names::default();
    targets(MODELS, None).unwrap().iter().for_each(|target| names.add(target, &|_| false));
    let (to_gate, changes) = lead(Some(MODELS), EditorFile::Models, GATE, &names).unwrap();
    for url in ["/u/own-a-example/v1/messages\"", "/u/own-b-example-v4/chat/completions\""] {
        assert!(to_gate.contains(&format!("\"{GATE}{url}")), "{url}: {to_gate}");
    }
    assert_eq!(given(&to_gate, &changes).as_deref(), Some(MODELS));
    let (past, beyond) = status::leaving(EditorFile::Models, &to_gate, GATE).unwrap();
    assert_eq!(past, Vec::<String>::new());
    insta::assert_snapshot!(beyond.join("\n"));
    // A model that was added meanwhile stays, wherever it stands.
    let edited = to_gate.replace(
        "// mine",
        "{ \"vendor\": \"customendpoint\", \"models\": [{ \"url\": \"https://b.example\" }] },",
    );
    let expected = MODELS.replace(
        "// mine",
        "{ \"vendor\": \"customendpoint\", \"models\": [{ \"url\": \"https://b.example\" }] },",
    );
    assert_eq!(given(&edited, &changes), Some(expected));
    assert_eq!(targets("", None).unwrap(), Vec::<String>::new());
    assert!(targets("{}", None).is_err());
    assert!(
        targets(&to_gate, Some(GATE)).unwrap().iter().all(|target| target != GATE),
        "no gate behind itself"
    );
}

#[test]
fn a_member_is_set_and_unset_whatever_else_has_its_name() {
    let text = r#"{"a":{"b":1,"b":2},"a":{"c":3}}"#;
    let (set, before) = Jsonc::parse(text).unwrap().set(&["a", "b"], "\"x\"").unwrap();
    assert_eq!((&*set, &before), (r#"{"a":{"b":1,"b":2},"a":{"b": "x","c":3}}"#, &ValueBefore::Nothing(0)));
    assert_eq!(Jsonc::parse(&set).unwrap().unset(&["a", "b"], "x", &before).as_deref(), Some(text));
    assert_eq!(Jsonc::parse(&set).unwrap().unset(&["a", "b"], "y", &before), None);
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_link_mode_and_mark() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("real.json"), folder.path().join("settings.json"));
    fs::write(&file, "\u{feff}{}").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("real.json", &link).unwrap();
    let read = UserFile::read(&real_path(&link).unwrap()).unwrap();
    assert_eq!(read.text().unwrap(), Some("{}"));
    read.replace(Some("{ }")).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "\u{feff}{ }");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(read.replace(Some("{  }")).unwrap_err().to_string().contains("at this moment"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o440)).unwrap();
    let again = UserFile::read(&file).unwrap();
    assert!(again.replace(Some("")).unwrap_err().to_string().contains("read-only"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "\u{feff}{ }");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    again.replace(None).unwrap();
    assert!(real_path(&link).unwrap_err().to_string().contains("link to nothing"));
    fs::write(&file, [0xff, 0xfe]).unwrap();
    assert!(UserFile::read(&file).unwrap().text().unwrap_err().to_string().contains("UTF-8"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "no draft is left");
}
