//! Exceptions: what is found and allowed all the same, where, and until when.

use std::time::{Duration, SystemTime};

use leafgate_contract::NoPlugins;
use leafgate_harness::recordings;
use leafgate_policy::{Context, Evaluation, LoadError, Outside, Part, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Limits};
use serde_json::{Value, json};

use super::support::*;

const MAIL: &str = "[[rule]]\nid='mail'\nmatch={}\ndetect=['pii/email']\naction='redact'\n";
const OTHER: &str = "john.roe@mail.example.org";
const SAID: &str = "reason = 'it is ours'\nby = 'jane'\n";

fn at(day: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(day * 24 * 60 * 60)
}

fn load(rules: &str, now: Option<SystemTime>) -> Result<Policy, LoadError> {
    let folder = folder(rules, &Fakes::default());
    let source = PolicySource::Folder(folder.path().to_owned());
    match now {
        Some(now) => Policy::load_knowing(&source, None, &NoPlugins, now, None),
        None => Policy::load(&source, &NoPlugins),
    }
}

fn excepting(exception: &str) -> Policy {
    let rules = format!("{MAIL}\n[[exception]]\n{exception}\n{SAID}until = 'never'\n");
    load(&rules, None).unwrap_or_else(|error| panic!("{error}"))
}

/// Whether each of the two addresses of a message is left alone.
fn left(evaluation: &Evaluation) -> [bool; 2] {
    let sent = sent(evaluation).to_string();
    [EMAIL, OTHER].map(|mail| sent.contains(mail))
}

fn both() -> Value {
    chat(&format!("write to {EMAIL} or to {OTHER}"))
}

#[test]
fn a_value_a_pattern_and_a_fingerprint_allow_their_finding_and_nothing_else() {
    let token = vault().keys().token("EMAIL", EMAIL).as_str().to_owned();
    for exception in [
        format!("value = '{EMAIL}'"),
        format!("value = ['x', '{EMAIL}']\nrule = 'mail'"),
        "pattern = 'jane\\..*'".to_owned(),
        format!("finding = '{token}'"),
    ] {
        let evaluation = evaluate(&excepting(&exception), &both());
        assert_forward(&evaluation);
        assert_eq!(left(&evaluation), [true, false], "{exception}");
        assert_eq!(evaluation.report.rules[0].excepted["EMAIL"], 1);
        assert_eq!(evaluation.report.rules[0].findings["EMAIL"], 1);
    }
    for exception in ["value = 'jane.doe'", "pattern = 'jane'", "finding = 'EMAIL_aaaaaaaaaaaaaaaa'"] {
        assert_eq!(left(&evaluate(&excepting(exception), &both())), [false, false], "{exception}");
    }
}

#[test]
fn a_place_is_allowed_and_no_other() {
    let body = json!({ "model": "m", "messages": [
        { "role": "system", "content": format!("from {EMAIL}") },
        { "role": "user", "content": format!("from {OTHER}") },
    ], "metadata": { EMAIL: "x" } });
    for (exception, wanted) in [
        ("match = { role = 'system' }", [true, false]),
        ("match = { path = 'messages[1].content' }", [false, true]),
        ("match = { latest = true }", [false, true]),
        ("match = { role = 'system', model = 'other' }", [false, false]),
        ("match = { role = ['system', 'user'] }\npattern = 'john.*'", [false, true]),
    ] {
        let mut plain = body.clone();
        plain.as_object_mut().unwrap().remove("metadata");
        assert_eq!(left(&evaluate(&excepting(exception), &plain)), wanted, "{exception}");
        let in_key = evaluate(&excepting(exception), &body);
        assert!(matches!(in_key.verdict, Verdict::Block(_)), "a key is another place: {exception}");
    }
    let anywhere = evaluate(&excepting(&format!("value = ['{EMAIL}', '{OTHER}']")), &body);
    assert_forward(&anywhere);
}

#[test]
fn what_stands_outside_the_body_or_in_an_encoding_is_allowed_by_value_alone() {
    let judged = |exception: &str| {
        let text = format!("me <{EMAIL}>");
        let outside = [Outside { part: Part::Header { name: "from".into() }, text }];
        let context = Context { outside: &outside, ..Context::default() };
        excepting(exception).evaluate(document(&chat("hello")), &context, &vault()).verdict
    };
    assert_eq!(judged(&format!("value = '{EMAIL}'")), Verdict::Forward);
    assert!(matches!(judged("match = { role = 'user' }"), Verdict::Block(_)));

    use base64::Engine as _;
    let encoded = base64::engine::general_purpose::STANDARD.encode(format!("mail me at {EMAIL}, please"));
    let body = chat(&format!("see {encoded}"));
    assert!(matches!(evaluate(&policy(MAIL), &body).verdict, Verdict::Pause(_)));
    assert_forward(&evaluate(&excepting(&format!("value = '{EMAIL}'")), &body));
}

#[test]
fn an_exception_of_one_rule_leaves_the_others_alone() {
    let two =
        format!("{MAIL}[[rule]]\nid='too'\nmatch={{}}\ndetect=['pii/email']\naction='redact'\nwith='mask'\n");
    let rules = format!("{two}[[exception]]\nrule='mail'\nvalue='{EMAIL}'\n{SAID}until='never'\n");
    let evaluation = evaluate(&load(&rules, None).unwrap(), &both());
    assert_eq!(left(&evaluation), [false, false]);
    assert_eq!(sent(&evaluation).to_string().matches("[EMAIL]").count(), 1, "the other rule's mask");
}

#[test]
fn what_is_allowed_is_no_finding_for_later_rules() {
    let rules = format!(
        "{MAIL}[[rule]]\nid='stop'\nmatch={{}}\nwhen='leaf.findings.size() > 0'\naction='block'\n\
         [[exception]]\nvalue='{EMAIL}'\n{SAID}until='never'\n"
    );
    let policy = load(&rules, None).unwrap();
    assert_forward(&evaluate(&policy, &chat(&format!("write to {EMAIL}"))));
    assert!(matches!(evaluate(&policy, &both()).verdict, Verdict::Block(_)));
}

#[test]
fn what_a_person_writes_is_allowed_by_the_same_exceptions() {
    let policy = excepting(&format!("value = '{EMAIL}'"));
    let waiting = evaluate(&policy, &chat("hello"));
    let context = Context { session: "s1", ..Context::default() };
    for (mail, stays) in [(EMAIL, true), (OTHER, false)] {
        let mut draft = waiting.draft.clone();
        let content = draft.document().resolve("/messages/0/content").unwrap();
        draft.set(content, &format!("to {mail}"), &leafgate_tree::Author::Person).unwrap();
        policy.review(&mut draft, &context, &vault(), &waiting.recall).unwrap();
        assert_eq!(String::from_utf8_lossy(&draft.render()).contains(mail), stays);
    }
}

#[test]
fn an_exception_ends_with_its_last_day_and_the_generation_with_it() {
    // 2026-03-31 is day 20,543.
    let rules = format!("{MAIL}[[exception]]\nvalue='{EMAIL}'\n{SAID}until=2026-03-31\n");
    let last = load(&rules, Some(at(20_543) + Duration::from_secs(86_399))).unwrap();
    assert_eq!(left(&evaluate(&last, &both())), [true, false]);
    assert_eq!(last.ends_at(), Some(at(20_544)));
    assert!(last.warnings().is_empty());
    let said = last.explain().to_string();
    assert!(said.contains("reason = \"it is ours\"\nby = \"jane\"\nuntil = \"2026-03-31\""), "{said}");

    let after = load(&rules, Some(at(20_544))).unwrap();
    assert_eq!(left(&evaluate(&after, &both())), [false, false]);
    assert_eq!(after.ends_at(), None);
    assert!(after.warnings()[0].message.contains("has ended"));
    assert_ne!(after.digest(), last.digest());
    // Each load is of a folder of its own: a policy that moved is the same policy.
    assert_eq!(load(&rules, Some(at(20_000))).unwrap().digest(), last.digest());
    let without_a_clock = load(&rules, None).unwrap();
    assert_eq!(left(&evaluate(&without_a_clock, &both())), [false, false]);
    assert_eq!(without_a_clock.digest(), after.digest());
}

#[test]
fn an_ended_exception_changes_no_recording_and_one_in_force_only_its_finding() {
    let rule =
        "[[rule]]\nid='all'\nmatch={}\ndetect=['secrets', 'pii/email']\naction='redact'\nwith='mask'\n";
    let plain = policy(rule);
    let exception = format!("{rule}[[exception]]\nvalue='{EMAIL}'\n{SAID}until=2026-03-31\n");
    let (ended, holds) = (load(&exception, None).unwrap(), load(&exception, Some(at(20_000))).unwrap());
    for recording in recordings::all().into_iter().filter(|recording| recording.body.len() < 32 << 10) {
        let document = Document::parse(recording.body.clone().into(), recording.format, &Limits::default());
        let document = std::sync::Arc::new(document.unwrap());
        let outcome = |policy: &Policy| {
            let made = policy.evaluate(document.clone(), &Context::default(), &vault());
            (made.draft.render(), format!("{:?}", made.verdict))
        };
        assert_eq!(outcome(&plain), outcome(&ended), "{}", recording.name);
        assert_eq!(outcome(&plain), outcome(&holds), "{}: it holds no such value", recording.name);
    }
}

#[test]
fn many_exceptions_are_looked_up_and_not_walked() {
    let mut rules = MAIL.to_owned();
    for number in 0..2_000 {
        rules += &format!("[[exception]]\nvalue='u{number}@mail.example.org'\n{SAID}until='never'\n");
    }
    let policy = load(&rules, None).unwrap();
    let text: String = (1_990..2_010).map(|number| format!("u{number}@mail.example.org ")).collect();
    let evaluation = evaluate(&policy, &chat(&text));
    assert_eq!(evaluation.report.rules[0].excepted["EMAIL"], 10);
    assert_eq!(evaluation.report.rules[0].findings["EMAIL"], 10);
}

#[test]
fn what_is_wrong_with_exceptions_is_said_at_its_place() {
    let rules = format!(
        "{MAIL}
[[rule]]
id = 'stop'
match = {{}}
action = 'block'

[[exception]]
rule = ['mial', 'stop', 'mail']
value = []
reason = ' '
until = '2026-13-01'

[[exception]]
pattern = '('
finding = ['EMAIL_k7f3', 'k7f3q2xw9mz4ab6c']
by = 'jane'
reason = 7
until = 2026-03-31T12:00:00Z
values = 'x'

[[exception]]
match = {{}}
{SAID}
"
    );
    let folder = folder(&rules, &Fakes::default());
    let error = load_folder(folder.path(), &Fakes::default()).unwrap_err();
    snapshot!(error.to_string().replace(&folder.path().display().to_string(), "policy"));
}

#[test]
fn a_condition_that_spares_whole_leaves_is_warned_about() {
    let warned = |when: &str| {
        let rules = format!("{MAIL}when='''{when}'''\n");
        load(&rules, None)
            .unwrap()
            .warnings()
            .iter()
            .any(|warning| warning.message.contains("everything else"))
    };
    for when in [
        "!leaf.text.contains('noreply')",
        "leaf.role == 'user' && !(leaf.text.trim().startsWith('x'))",
        "leaf.text != 'x'",
        "leaf.role == 'user' || !leaf.text.matches('x+')",
    ] {
        assert!(warned(when), "{when}");
    }
    for when in ["leaf.text.contains('@')", "!request.stream", "leaf.role != 'system'", "leaf.text == 'x'"] {
        assert!(!warned(when), "{when}");
    }
}

#[test]
fn a_rule_with_an_error_is_known_to_exceptions_all_the_same() {
    let rules = MAIL.replace("pii/email", "pii/no-such")
        + &MAIL.replace("'mail'", "'mail2'")
        + &format!("[[exception]]\nrule = 'mail'\nvalue = 'x'\n{SAID}until = 'never'\n")
        + &format!("[[exception]]\nrule = 'mial'\nvalue = 'x'\n{SAID}until = 'never'\n");
    let error = load(&rules, None).unwrap_err();
    let said: Vec<&str> = error.diagnostics().iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(said, ["unknown detector `pii/no-such`", "no rule is called `mial`"]);
}

/// The places of the warnings of some exceptions after a rule, as lines of them alone.
fn twice(exceptions: &str) -> Vec<(usize, String)> {
    let policy =
        load(&format!("{MAIL}{exceptions}"), Some(at(20_000))).unwrap_or_else(|error| panic!("{error}"));
    let own = MAIL.lines().count();
    let told = |warning: &leafgate_policy::Diagnostic| (warning.line - own, warning.message.clone());
    policy.warnings().iter().map(told).collect()
}

#[test]
fn what_two_exceptions_allow_is_warned_of_with_both_places() {
    let token = "EMAIL_aaaaaaaaaaaaaaaa";
    let (ever, year) = ("until='never'\n", "until=2030-01-01\n");
    // What the first and the second allow, and which of them says what the other one does.
    for (first, second, useless) in [
        (format!("value='{EMAIL}'\n{SAID}{ever}"), format!("value='{EMAIL}'\n{SAID}{ever}"), Some(2)),
        (format!("finding='{token}'\n{SAID}{ever}"), format!("finding='{token}'\n{SAID}{year}"), Some(2)),
        (format!("finding='{token}'\n{SAID}{year}"), format!("finding='{token}'\n{SAID}{ever}"), Some(1)),
        (
            format!("value='{EMAIL}'\nrule='mail'\n{SAID}{ever}"),
            format!("value='{EMAIL}'\n{SAID}{ever}"),
            Some(1),
        ),
        (format!("value='{EMAIL}'\n{SAID}{ever}"), format!("value=['{EMAIL}', 'x']\n{SAID}{ever}"), Some(2)),
        (format!("pattern='jane.*'\n{SAID}{ever}"), format!("value='{EMAIL}'\n{SAID}{ever}"), Some(2)),
        (
            format!("value='{EMAIL}'\nmatch={{model='gpt-4'}}\n{SAID}{ever}"),
            format!("value='{EMAIL}'\nmatch={{model='gpt-*'}}\n{SAID}{ever}"),
            Some(1),
        ),
        (
            format!("match={{path='model'}}\n{SAID}{ever}"),
            format!("match={{path='model'}}\n{SAID}{ever}"),
            Some(2),
        ),
        // Each of two holds where the other one does not.
        (
            format!("value='{EMAIL}'\nmatch={{role='user'}}\n{SAID}{ever}"),
            format!("value='{EMAIL}'\nmatch={{model='gpt-*'}}\n{SAID}{ever}"),
            None,
        ),
        (
            format!("value='{EMAIL}'\nmatch={{role='user'}}\n{SAID}{ever}"),
            format!("value='{EMAIL}'\n{SAID}{year}"),
            None,
        ),
        (format!("value='{EMAIL}'\n{SAID}{ever}"), format!("value='{OTHER}'\n{SAID}{ever}"), None),
        (format!("value='{EMAIL}'\n{SAID}{ever}"), format!("finding='{token}'\n{SAID}{ever}"), None),
        (
            format!("value='{EMAIL}'\npattern='jane.*'\n{SAID}{ever}"),
            format!("value='x'\n{SAID}{ever}"),
            None,
        ),
    ] {
        let text = format!("[[exception]]\n{first}[[exception]]\n{second}");
        let second_at = first.lines().count() + 2;
        let (own, others) = match useless {
            Some(1) => (2, second_at),
            Some(_) => (second_at + 1, 1),
            None => {
                assert_eq!(twice(&text), [], "{text}");
                continue;
            }
        };
        let warnings = twice(&text);
        let [(line, message)] = &warnings[..] else { panic!("{text}\n{warnings:?}") };
        let others = format!(":{} allows this", others + MAIL.lines().count());
        assert!(*line == own && message.contains(&others), "{text}\n{warnings:?}");
    }
}
