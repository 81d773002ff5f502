//! The policy of a machine's operator: beneath those of its users, and not to be weakened where it is
//! enforced.

use std::path::Path;
use std::time::SystemTime;

use leafgate_policy::{Cause, LoadError, ManagedPolicy, Policy, PolicySource};
use tempfile::TempDir;

use super::support::*;

/// Names a value that no detector knows, with little confidence, and keeps it.
const OPERATOR: &str = r#"
[[rule]]
id = "house"
match = {}
detect = ["own/case"]
action = "redact"
with = "mask"

[[detector]]
id = "case"
label = "CASE"
confidence = "low"
regex = 'CASE-[0-9]+'
keywords = ["CASE-"]
examples = ["CASE-1"]
"#;

/// Finds the same, more surely, and would give it back.
const USER: &str = r#"
[[rule]]
id = "mine"
match = {}
detect = ["own/mine"]
action = "redact"
releasable = true
on_unredactable = "pause"

[[detector]]
id = "mine"
label = "MINE"
confidence = "high"
regex = 'CASE-[0-9]+'
keywords = ["CASE-"]
examples = ["CASE-1"]
"#;

struct Machine {
    operator: TempDir,
    user: TempDir,
    is_enforced: bool,
}

impl Machine {
    fn new(operator: &str, user: &str, is_enforced: bool) -> Machine {
        let write = |rules: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("rules.toml"), rules).unwrap();
            folder
        };
        Machine { operator: write(operator), user: write(user), is_enforced }
    }

    fn load(&self, source: &PolicySource, fakes: &Fakes) -> Result<Policy, LoadError> {
        let folder = Some(self.operator.path().to_owned());
        let managed = ManagedPolicy { folder, is_enforced: self.is_enforced };
        Policy::load_knowing(source, Some(&managed), fakes, SystemTime::UNIX_EPOCH, None)
    }

    fn of_user(&self) -> Result<Policy, LoadError> {
        self.load(&folder_at(self.user.path()), &Fakes::default())
    }
}

fn folder_at(folder: &Path) -> PolicySource {
    PolicySource::Folder(folder.to_owned())
}

fn ids(policy: &Policy) -> Vec<&str> {
    policy.rules().map(|id| &**id).collect()
}

#[test]
fn it_takes_the_place_of_the_built_in_one_which_stands_beneath_it() {
    let machine = Machine::new(OPERATOR, USER, false);
    assert_eq!(ids(&machine.of_user().unwrap()), ["mine", "house", "default-secrets"]);
    let nowhere = PolicySource::Own(machine.user.path().join("none"));
    for source in [PolicySource::Default, nowhere] {
        assert_eq!(ids(&machine.load(&source, &Fakes::default()).unwrap()), ["house", "default-secrets"]);
    }
    let alone = Machine::new(&format!("extends = \"none\"\n{OPERATOR}"), USER, false);
    assert_eq!(ids(&alone.of_user().unwrap()), ["mine", "house"]);
    let left_out = Machine::new(OPERATOR, &format!("extends = \"none\"\n{USER}"), false);
    assert_eq!(ids(&left_out.of_user().unwrap()), ["mine"], "it is only a default");
    assert!(machine.load(&PolicySource::None, &Fakes::default()).unwrap().is_empty());
}

#[test]
fn what_a_rule_that_is_enforced_finds_is_its_own_whatever_else_finds_it() {
    let body = chat("see CASE-4711");
    let free = Machine::new(OPERATOR, USER, false).of_user().unwrap();
    assert!(sent_at(&evaluate(&free, &body), "/messages/0/content").contains("MINE_"));
    let enforced = Machine::new(OPERATOR, USER, true).of_user().unwrap();
    assert_eq!(ids(&enforced), ["house", "default-secrets", "mine"]);
    let evaluation = evaluate(&enforced, &body);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), "see [CASE]");
    let made: Vec<_> = evaluation.draft.redactions().collect();
    let number = if let [made] = made[..] { made.number } else { panic!("{made:?}") };
    assert!(evaluation.draft.clone().release(number).is_err(), "nobody lets it go");
    let theirs = evaluate(&free, &body).draft;
    let number = theirs.redactions().next().unwrap().number;
    // Of two rules, both must let it go.
    assert!(theirs.clone().release(number).is_err());
    // A key cannot be replaced, and a guess holds no request: a person might let it pass, and the operator's rule does not.
    let sure = Machine::new(&OPERATOR.replace("\"low\"", "\"high\""), USER, true).of_user().unwrap();
    let mut in_key = chat("x");
    in_key["metadata"] = serde_json::json!({ "CASE-4711": "x" });
    let held = evaluate(&sure, &in_key);
    assert_eq!((&*block(&held).rule, block(&held).cause), ("house", Cause::Unredactable));
    assert_ne!(free.digest(), enforced.digest());
}

#[test]
fn rules_above_it_may_add() {
    let more = "mode = \"monitor\"\n[[rule]]\nid = \"a\"\nmatch = {}\nwhen = 'leaf.text == \"x\"'\naction = \"block\"\nreason = \"no\"\n\
                [[rule]]\nid = \"b\"\nmatch = { role = \"user\" }\naction = \"rewrite\"\nreplace = { pattern = \"colour\", with = \"color\" }\n";
    assert!(Machine::new(OPERATOR, &format!("extends = \"default\"\n{more}"), true).of_user().is_ok());
}

#[test]
fn what_would_weaken_it_is_refused_by_its_place_and_with_who_decides() {
    let rule = "[[rule]]\nid = \"x\"\nmatch = {}\n";
    let plugin = "[plugins.raw]\nfile = \"raw.wasm\"\n";
    for (rules, line) in [
        (format!("extends = \"none\"\n{USER}"), 1),
        ("[[exception]]\nvalue = \"CASE-1\"\nreason = \"r\"\nby = \"b\"\nuntil = \"never\"\n".to_owned(), 1),
        ("restore = [{ from = \"Read(.env)\", to = \"Edit(.env)\" }]\n".to_owned(), 1),
        (format!("{rule}action = \"pin\"\nto = \"first-seen\"\n"), 4),
        (format!("{rule}action = \"classify\"\nas = \"context\"\n"), 4),
        (format!("{rule}action = \"protect\"\nfrom = \"rules\"\n"), 4),
        (format!("{rule}action = \"transform\"\nplugin = \"raw\"\nsees = \"raw\"\n{plugin}"), 6),
        (format!("[plugins]\nrequire_signed = \"ed25519:{}\"\n", "0".repeat(64)), 2),
    ] {
        let fakes = || Fakes::default().with("raw", Fake::transformer(|_| Ok(vec![])));
        let machine = |is_enforced| Machine::new(OPERATOR, &rules, is_enforced);
        let enforced = machine(true);
        std::fs::write(enforced.user.path().join("raw.wasm"), "").unwrap();
        let error = enforced.load(&folder_at(enforced.user.path()), &fakes()).unwrap_err();
        let mine: Vec<_> =
            error.diagnostics().iter().filter(|one| one.message.contains("the operator")).collect();
        assert!(mine.len() == 1 && mine[0].line == line, "{rules}\n{error}");
        assert!(mine[0].hint.as_ref().unwrap().contains("ask the operator"), "{error}");
        if let Err(other) = machine(false).of_user() {
            assert!(!other.to_string().contains("the operator"), "{other}");
        }
    }
    // The operator may say all of it.
    assert!(Machine::new(&format!("extends = \"none\"\n{OPERATOR}"), USER, true).of_user().is_ok());
}
