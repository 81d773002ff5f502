//! Detectors that a policy folder declares, and packs without one of theirs.

use std::fs;

use leafgate_contract::NoPlugins;
use leafgate_policy::{Cause, Policy, PolicySource, Verdict};
use serde_json::json;

use super::support::*;

const TICKET: &str = "[[detector]]\nid='ticket'\nregex='CASE-[0-9]{4,}'\nkeywords=['case-']\nexamples=['see CASE-1234']\ncounter_examples=['CASE-12']\n";

fn redacting(detect: &str) -> String {
    format!("[[rule]]\nid='own'\nmatch={{}}\ndetect={detect}\naction='redact'\nwith='mask'\n")
}

fn masked(rules: &str, text: &str) -> String {
    sent_at(&evaluate(&policy(rules), &chat(text)), "/messages/0/content")
}

#[test]
fn a_pattern_finds_what_its_examples_say() {
    let rules = TICKET.to_owned() + &redacting("['own/ticket']");
    assert_eq!(masked(&rules, "CASE-12 and CASE-98765, case-1234"), "CASE-12 and [TICKET], case-1234");
    let explained = policy(&rules).explain().to_string();
    assert!(explained.contains("detect = [\"own/ticket\"]"), "{explained}");
    assert!(!explained.contains("Plugins") && policy(&rules).plugins().is_empty());
}

#[test]
fn words_are_found_whole_and_in_any_case() {
    let people = "[[detector]]\nid='people'\nlabel='PERSON'\nwords=['Ada Lovelace', 'Zoë', 'C++']\n";
    let rules = people.to_owned() + &redacting("['own']");
    assert_eq!(
        masked(&rules, "ada lovelace, ADA LOVELACE; ZOË's zoë, Zoës; Adalovelace in c++"),
        "[PERSON], [PERSON]; [PERSON]'s [PERSON], Zoës; Adalovelace in [PERSON]"
    );
    let exact = people.replace("words", "case_sensitive=true\nwords") + &redacting("['own']");
    assert_eq!(masked(&exact, "ada lovelace, Ada Lovelace, C++"), "ada lovelace, [PERSON], [PERSON]");
    // Beside one that does not tell cases apart.
    let both = "[[detector]]\nid='any'\nwords='rome'\n".to_owned() + &exact;
    assert_eq!(masked(&both, "ROME, ada lovelace, Zoë"), "[ANY], ada lovelace, [PERSON]");
}

#[test]
fn a_detector_looks_under_its_keys_and_checks_digits() {
    let rules = "[[detector]]\nid='pin'\nlabel='PIN'\nregex='\\b[0-9]{4}\\b'\nkeys=['pin', '*_pin']\nexamples='1234'\n\
                 [[detector]]\nid='member'\nlabel='MEMBER'\nregex='number (?<value>[0-9]{8})'\nkeywords='number'\nchecks='luhn'\n\
                 examples='number 12345674'\ncounter_examples='number 12345678'\n"
        .to_owned()
        + &redacting("['own/pin', 'own/member']");
    let arguments =
        json!({ "door_pin": "4711", "year": "2026", "text": "number 12345674 but number 12345678" });
    let evaluation = evaluate(&policy(&rules), &tool_chat(&arguments, "ok 1234"));
    let sent = sent_at(&evaluation, "/messages/1/tool_calls/0/function/arguments");
    assert_eq!(sent, r#"{"door_pin":"[PIN]","text":"number [MEMBER] but number 12345678","year":"2026"}"#);
    assert_eq!(sent_at(&evaluation, "/messages/2/content"), "ok 1234");
    assert_eq!(evaluation.report.rules[0].findings["PIN"], 1);
}

#[test]
fn a_long_list_of_words_stands_in_a_file_of_its_own() {
    let names: String = (0..100_000).map(|number| format!("name{number:06}\n")).collect();
    let detector =
        "[[detector]]\nid='names'\nlabel='NAME'\nwords_file='lists/names.txt'\nexamples='name000007'\n";
    let folder = folder(&(detector.to_owned() + &redacting("['own/names']")), &Fakes::default());
    fs::create_dir(folder.path().join("lists")).unwrap();
    let file = folder.path().join("lists/names.txt");
    fs::write(&file, format!("# all of them\n\n{names}")).unwrap();
    let first = load_folder(folder.path(), &Fakes::default()).unwrap();
    let sent = sent_at(&evaluate(&first, &chat("name099999, NAME000000, name1")), "/messages/0/content");
    assert_eq!(sent, "[NAME], [NAME], name1");
    fs::write(&file, format!("{names}one more\n")).unwrap();
    let second = load_folder(folder.path(), &Fakes::default()).unwrap();
    assert_ne!(first.digest(), second.digest(), "the words decide what the policy does");
    fs::remove_file(&file).unwrap();
    assert!(
        load_folder(folder.path(), &Fakes::default()).unwrap_err().to_string().contains("cannot be read")
    );
}

#[test]
fn own_detectors_are_held_redacted_and_excepted_like_others() {
    let rules = TICKET.to_owned()
        + "[[rule]]\nid='own'\nmatch={}\ndetect=['own/ticket', 'pii/email']\naction='redact'\n\
           [[rule]]\nid='stop'\nmatch={}\nwhen='leaf.findings.exists(f, f.detector == \"own/ticket\")'\naction='pause'\n\
           [[exception]]\nvalue='CASE-0000'\nreason='r'\nby='b'\nuntil='never'\n";
    let policy = policy(&rules);
    let evaluation = evaluate(&policy, &chat(&format!("CASE-0000, CASE-1111 {EMAIL}")));
    assert!(matches!(evaluation.verdict, Verdict::Pause(_)));
    let text = sent_at(&evaluation, "/messages/0/content");
    assert!(text.starts_with("CASE-0000, TICKET_") && text.contains("EMAIL_"), "{text}");
    assert_forward(&evaluate(&policy, &chat("CASE-0000")));
    let mut in_key = chat("hello");
    in_key["metadata"] = json!({ "CASE-2222": "x" });
    assert_eq!(block(&evaluate(&policy, &in_key)).cause, Cause::Unredactable);
    // A person's text is searched by them too.
    let waiting = evaluate(&policy, &chat("hello"));
    let mut draft = waiting.draft.clone();
    let content = draft.document().resolve("/messages/0/content").unwrap();
    draft.set(content, "see CASE-3333", &leafgate_tree::Author::Person).unwrap();
    let context = leafgate_policy::Context { session: "s1", ..leafgate_policy::Context::default() };
    policy.review(&mut draft, &context, &vault(), &waiting.recall).unwrap();
    assert!(!String::from_utf8_lossy(&draft.render()).contains("CASE-3333"));
}

#[test]
fn a_pack_is_used_without_one_of_its_detectors() {
    let secret = secret();
    let found = |detect: &str| {
        let policy = policy(&redacting(detect));
        let evaluation = evaluate(&policy, &chat(&format!("{secret} and {EMAIL}")));
        let text = sent_at(&evaluation, "/messages/0/content");
        (text.contains(&secret), text.contains(EMAIL))
    };
    assert_eq!(found("['secrets', 'pii/email']"), (false, false));
    assert_eq!(found("['secrets', 'pii', '!pii/email']"), (false, true));
    assert_eq!(found("['secrets', 'pii/email', '!secrets']"), (true, false));
    let explained = policy(&redacting("['pii', '!pii/email']")).explain().to_string();
    assert!(explained.contains("detect = [\"pii\", \"!pii/email\"]"), "{explained}");
}

#[test]
fn the_memory_of_a_set_is_its_own() {
    let rules = TICKET.to_owned()
        + "[[detector]]\nid='other'\nwords=['CASE']\n"
        + &redacting("['own/ticket']")
        + "[[rule]]\nid='two'\nmatch={ role='system' }\ndetect=['own']\naction='redact'\nwith='mask'\n";
    let policy = policy(&rules);
    let text = "CASE-1234 is a CASE of its own, which is longer than what is not remembered";
    for _ in 0..2 {
        let body = json!({ "messages": [{ "role": "user", "content": text }, { "role": "system", "content": text }] });
        let evaluation = evaluate(&policy, &body);
        assert_eq!(sent_at(&evaluation, "/messages/0/content").matches("[OTHER]").count(), 0);
        assert_eq!(sent_at(&evaluation, "/messages/1/content").matches("[OTHER]").count(), 1);
    }
}

#[test]
fn what_is_wrong_with_detectors_is_said_at_its_place() {
    let rules = format!(
        "
[[detector]]
regex = 'x+'

[[detector]]
id = 'Case Number'
words = 'x1'

[[detector]]
id = 'empty'

[[detector]]
id = 'bad'
regex = '(x'
examples = 'x'
label = 'bad label'
confidence = 'sure'
checks = ['lun']
word = 'x'

[[detector]]
id = 'lazy'
regex = 'x*'
keywords = ['x']
examples = ['x']

[[detector]]
id = 'wrong'
regex = 'CASE-[0-9]+'
keywords = ['tick']
examples = ['CASE-1', 'tick CASE-1']
counter_examples = ['tick CASE-2']

[[detector]]
id = 'unproven'
regex = 'CASE-[0-9]+'

[[detector]]
id = 'called'
words = ['case', 'c']
keywords = ['case']
words_file = '../names.txt'

[[detector]]
id = 'twice'
words = 'one'

[[detector]]
id = 'twice'
words = 'two'
{}",
        redacting("['own/twise', 'own/wrong', '!secrets/jwt', 'pii', '!pii']")
    );
    let folder = folder(&rules, &Fakes::default());
    let error = Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap_err();
    snapshot!(error.to_string().replace(&folder.path().display().to_string(), "policy"));
}

#[test]
fn a_person_is_one_other_person_however_the_name_is_written() {
    let policy = policy(
        "[[detector]]\nid = 'staff'\nnames = ['Ann Miller']\n\n[[rule]]\nid = 'r'\nmatch = {}\n\
         detect = ['own/staff']\naction = 'redact'\nwith = 'surrogate'\n",
    );
    let evaluation =
        evaluate(&policy, &chat("Ann Miller met A. Miller; Miller, Ann and MS MILLER. An Ann, a miller."));
    let said = sent_at(&evaluation, "/messages/0/content");
    let person = said.split(" met ").next().unwrap();
    let (first, last) = person.split_once(' ').unwrap();
    let expected = format!(
        "{person} met {}. {last}; {last}, {first} and MS {}. An Ann, a miller.",
        &first[..1],
        last.to_uppercase()
    );
    assert_eq!(said, expected);
    assert_eq!(evaluation.report.rules[0].findings["PERSON"], 4);
}

#[test]
fn a_slow_pattern_is_warned_of() {
    let rule = "[[rule]]\nid = 'r'\nmatch = {}\ndetect = 'own/slow'\naction = 'redact'\n";
    let detector = "[[detector]]\nid = 'slow'\nregex = '\\w{1,15}x'\nexamples = ['ax']\n\n";
    let warnings = policy(&format!("{detector}{rule}")).warnings().to_vec();
    assert!(warnings.iter().any(|warning| warning.message.contains("this pattern is slow")), "{warnings:?}");
}
