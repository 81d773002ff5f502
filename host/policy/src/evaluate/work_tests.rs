//! What redaction does grows with the number of findings, not with its square.

use std::sync::Arc;

use leafgate_contract::NoPlugins;
use leafgate_tree::{Author, Document, Draft, Format, Limits, Replay, Role, SectionId};
use leafgate_vault::{ClientIdentity, InstallationKey, TokenKeys, Vault};

use crate::work;
use crate::{Context, Outside, Part, Policy, PolicySource, Verdict};

const RULES: &str = r#"
    [[rule]]
    id = "mail"
    match = {}
    detect = ["pii/email"]
    action = "redact"
    with = "mask"
    [[rule]]
    id = "cards"
    match = {}
    detect = ["pii/payment-card"]
    action = "redact"
    with = "mask"
"#;

fn vault() -> Vault {
    Vault::new(TokenKeys::derive(&InstallationKey::from_bytes([7; 32]), &ClientIdentity::new("laptop")))
}

fn policy() -> Policy {
    load(RULES)
}

fn load(rules: &str) -> Policy {
    let folder = tempfile::tempdir().unwrap();
    leafgate_harness::rules::write_alone(folder.path(), rules).unwrap();
    Policy::load(&PolicySource::Folder(folder.path().to_owned()), &NoPlugins).unwrap()
}

/// Steps for a megabyte in one leaf that `count` findings are spread over, those of two rules in
/// turn, with tokens of ours between.
fn steps(policy: &Policy, count: usize) -> usize {
    let vault = vault();
    let ours = vault.keys().token("EMAIL", "jane@example.org");
    let room = (1 << 20) / count;
    let mut text = String::with_capacity(1 << 20);
    let card = ["4539 5787", " 6362 1486"].concat();
    for number in 0..count {
        let before = text.len();
        match number % 3 {
            0 => text.push_str("a@example.org"),
            1 => text.push_str(&card),
            _ => text.push_str(ours.as_str()),
        }
        text.push_str(&" ".repeat(room - (text.len() - before)));
    }
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    work::take();
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault);
    let found = count - count / 3;
    assert_eq!(evaluation.draft.redactions().count(), found, "of {count}");
    work::take().steps
}

/// Steps for tool arguments that a person sets as a whole, with `count` addresses in leaves of
/// their own.
fn steps_of_a_review(policy: &Policy, count: usize) -> usize {
    let vault = vault();
    let body = r#"{"messages":[{"role":"assistant","tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}]}"#;
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let mut evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault);
    let arguments = evaluation.draft.document().resolve("/messages/0/tool_calls/0/function/arguments");
    let addresses = vec!["\"a@example.org\""; count].join(",");
    evaluation.draft.set(arguments.unwrap(), &format!("[{addresses}]"), &Author::Person).unwrap();
    work::take();
    let verdict = policy.review(&mut evaluation.draft, &Context::default(), &vault, &evaluation.recall);
    assert!(matches!(verdict, Ok(Verdict::Forward)), "{verdict:?}");
    work::take().steps
}

#[test]
fn four_times_the_findings_in_a_text_that_was_set_as_a_whole_cost_at_most_four_times_the_work() {
    let policy = policy();
    let (few, many) = (steps_of_a_review(&policy, 500), steps_of_a_review(&policy, 2_000));
    assert!(few >= 500, "{few} steps are counted");
    assert!(many <= 4 * few + 64, "{few} steps for 500 findings, {many} for 2,000");
}

#[test]
fn four_times_the_findings_in_one_leaf_cost_at_most_four_times_the_work() {
    let policy = policy();
    let (few, many) = (steps(&policy, 8_000), steps(&policy, 32_000));
    assert!(few >= 8_000, "{few} steps are counted");
    assert!(many <= 4 * few + 64, "{few} steps for 8,000 findings, {many} for 32,000");
}

/// Steps for a message of so many parts that are longer than what is looked at around a border, with
/// as many small ones between any two of them.
fn steps_over_seams(policy: &Policy, long: usize, small: usize) -> usize {
    let part = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let stretch = [vec![part(&"x ".repeat(4200))], vec![part("a"); small]].concat().join(",");
    let parts = vec![stretch; long].join(",");
    let body = format!(r#"{{"messages":[{{"role":"user","content":[{parts}]}}]}}"#);
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    work::take();
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault());
    assert_eq!(evaluation.verdict, Verdict::Forward);
    work::take().steps
}

#[test]
fn twice_the_parts_of_a_message_cost_at_most_twice_the_work() {
    let policy = policy();
    let (few, many) = (steps_over_seams(&policy, 20, 50), steps_over_seams(&policy, 40, 50));
    assert!(few >= 1_000, "{few} steps are counted");
    assert!(many <= 2 * few + 64, "{few} steps for 1,020 parts, {many} for 2,040");
}

/// A conversation of so many messages, each of which says something else in text, parts and arguments.
fn conversation(messages: usize) -> String {
    let message = |number: usize| {
        let text = format!(r#"turn {number}:\n\tall is well, \"so far\" "#).repeat(40);
        match number % 3 {
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            1 => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"text","text":"and {number}"}}]}}"#
            ),
            _ => format!(r#"{{"role":"user","content":"{text} a{number}@example.org"}}"#),
        }
    };
    let messages: Vec<String> = (0..messages).map(message).collect();
    format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","))
}

#[test]
fn a_turn_decodes_and_scans_what_is_new_in_it_and_hashes_the_rest_once() {
    // A third of the messages holds something that is replaced: its leaf is decoded for that.
    costs_what_is_new(&policy(), |length| length / 3);
}

#[test]
fn exceptions_cost_a_look_at_the_leaves_in_which_something_is_found() {
    let mut rules = RULES.to_owned();
    for number in 0..500 {
        rules += &format!(
            "[[exception]]\nvalue = \"b{number}@example.org\"\nreason = \"r\"\nby = \"b\"\nuntil = \"never\"\n"
        );
    }
    // What was found there is read to be compared, and read again to be replaced.
    costs_what_is_new(&load(&rules), |length| 2 * length / 3);
}

fn costs_what_is_new(policy: &Policy, replaced: impl Fn(usize) -> usize) {
    let evaluate = |messages: usize| {
        let body = conversation(messages);
        let document = Document::parse(body.clone().into(), Format::OpenaiChat, &Limits::default()).unwrap();
        work::take();
        let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault());
        assert_eq!(evaluation.draft.redactions().count(), messages / 3, "of {messages} messages");
        (body.len(), work::take())
    };
    let (_, first) = evaluate(300);
    let (length, next) = evaluate(301);
    let new = length / 300;
    assert!(first.scanned >= 200_000, "{first:?}");
    assert!(next.scanned <= 4 * new, "{next:?} for a message of {new} bytes");
    assert!(next.decoded <= replaced(length) + 2 * new, "{next:?} after {first:?}");
    assert!(next.hashed <= length + length / 3 + 4 * new, "{next:?} of {length} bytes");
}

/// What is scanned for a request with a text of its own, under a header, below a key.
fn scanned_beside(policy: &Policy, text: &str, key: &str, header: &str) -> (usize, Verdict) {
    let body = format!(r#"{{"messages":[{{"role":"user","content":"{text}"}}],"metadata":{{"{key}":1}}}}"#);
    let document = Document::parse(body.into(), Format::OpenaiChat, &Limits::default()).unwrap();
    let outside = [Outside { part: Part::Header { name: "x-client".into() }, text: header.to_owned() }];
    let context = Context { outside: &outside, ..Context::default() };
    work::take();
    let verdict = policy.evaluate(Arc::new(document), &context, &vault()).verdict;
    (work::take().scanned, verdict)
}

#[test]
fn keys_and_headers_that_requests_repeat_are_scanned_once() {
    let policy = policy();
    let text = |number: usize| format!("turn {number}: ").repeat(20);
    let (header, key) = ("one client of a thousand ".repeat(40), "purpose");
    let (first, verdict) = scanned_beside(&policy, &text(1), key, &header);
    assert_eq!(verdict, Verdict::Forward);
    let (next, _) = scanned_beside(&policy, &text(2), key, &header);
    // Two rules look at each text, and at the role.
    assert!(next <= 2 * text(2).len() + 64, "{next} bytes, {first} at first");
    assert!(first >= next + 2 * header.len(), "{next} bytes, {first} at first");
    let (other, _) = scanned_beside(&policy, &text(3), key, &format!("{header}."));
    assert!(other > header.len(), "a header that was not seen before");
    for _ in 0..2 {
        for (key, header) in [("a@example.org", &*header), (key, "a@example.org")] {
            let (_, verdict) = scanned_beside(&policy, &text(4), key, header);
            assert!(matches!(verdict, Verdict::Block(_)), "{verdict:?}: what is found is found each time");
        }
    }
}

/// Steps for so many recorded edits, each of another part of one message, and as many messages that
/// are put in.
fn steps_of_a_replay(policy: &Policy, count: usize) -> usize {
    let vault = vault();
    let parts = vec![r#"{"type":"text","text":"old"}"#; count].join(",");
    let body = format!(r#"{{"messages":[{{"role":"user","content":[{parts}]}}]}}"#);
    let document =
        || Arc::new(Document::parse(body.clone().into(), Format::OpenaiChat, &Limits::default()).unwrap());
    let mut made = Draft::new(document());
    for part in 0..count {
        let node = made.document().resolve(&format!("/messages/0/content/{part}/text")).unwrap();
        made.set(node, "a@example.org", &Author::Person).unwrap();
        made.insert(SectionId::from_index(0), Role::User, "b@example.org", &Author::Person).unwrap();
    }
    let lines = made.operations(str::to_owned).into_iter().map(|made| serde_json::to_string(&made).unwrap());
    let mut record = Replay::parse(&lines.collect::<Vec<_>>().join("\n")).unwrap();
    work::take();
    let replayed = policy.replay(document(), &Context::default(), &vault, |draft| record.step(draft));
    assert_eq!(record.into_misfits().len(), 0);
    assert_eq!(replayed.draft.redactions().count(), count);
    assert!(replayed.draft.inserted().all(|inserted| inserted.redacted().len() == 1));
    work::take().steps
}

#[test]
fn four_times_the_recorded_edits_cost_at_most_four_times_the_work() {
    let policy = policy();
    let (few, many) = (steps_of_a_replay(&policy, 50), steps_of_a_replay(&policy, 200));
    assert!(few >= 50, "{few} steps are counted");
    assert!(many <= 4 * few + 64, "{few} steps for 50 edits, {many} for 200");
}
