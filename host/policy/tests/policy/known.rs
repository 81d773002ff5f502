//! Values that a person named: found wherever they stand, whatever the rules of a policy look for,
//! and nothing else is.

use std::sync::Arc;
use std::time::SystemTime;

use leafgate_detect::{KnownKey, KnownValues};
use leafgate_harness::recordings;
use leafgate_policy::plugin::NoPlugins;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Document, Limits};
use serde_json::json;

use super::support::*;

/// Known by no form and no name.
const VALUE: &str = "bq7xm2kd9vwt4hzr8pcy";

const EMAILS: &str =
    "[[rule]]\nid = \"mail\"\nmatch = { role = \"system\" }\ndetect = [\"pii/email\"]\naction = \"redact\"\n";

fn known<S: AsRef<str>>(values: &[S]) -> Arc<KnownValues> {
    let key = KnownKey::new(&[3; 32]);
    let values: Vec<_> = values.iter().map(|value| key.value(value.as_ref()).unwrap()).collect();
    Arc::new(KnownValues::new(key, &values))
}

fn load(source: &PolicySource, known: Arc<KnownValues>) -> Policy {
    Policy::load_knowing(source, &NoPlugins, SystemTime::UNIX_EPOCH, Some(known)).unwrap()
}

fn knowing(rules: &str) -> Policy {
    let folder = folder(rules, &Fakes::default());
    load(&PolicySource::Folder(folder.path().to_owned()), known(&[VALUE]))
}

fn ids(policy: &Policy) -> Vec<String> {
    policy.rules().map(ToString::to_string).collect()
}

#[test]
fn a_policy_finds_known_values_although_no_rule_names_them() {
    let policy = knowing(EMAILS);
    assert_eq!(ids(&policy), ["mail", "known-values"]);
    let evaluation = evaluate(&policy, &chat(&format!("it is {VALUE}.")));
    assert_forward(&evaluation);
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("it is {}.", token("KNOWN", VALUE)));
    let none = load(&PolicySource::None, known(&[VALUE]));
    assert_eq!(ids(&none), [""; 0], "a policy that was asked to look at nothing does");
    let nothing = load(&PolicySource::Default, known::<&str>(&[]));
    assert_eq!(ids(&nothing), ["default-secrets"]);
}

#[test]
fn a_rule_that_names_the_detector_says_what_becomes_of_its_findings() {
    let rule = |detect: &str| {
        format!(
            "[[rule]]\nid = \"own\"\nmatch = {{}}\ndetect = {detect}\naction = \"redact\"\nwith = \"mask\"\n"
        )
    };
    let masked = knowing(&rule("[\"secrets/known\"]"));
    assert_eq!(ids(&masked), ["own"]);
    let evaluation = evaluate(&masked, &chat(VALUE));
    assert!(!sent_at(&evaluation, "/messages/0/content").contains("KNOWN_"));
    assert_ne!(sent_at(&evaluation, "/messages/0/content"), VALUE);
    let without = knowing(&rule("[\"secrets\", \"!secrets/known\"]"));
    assert_eq!(sent_at(&evaluate(&without, &chat(VALUE)), "/messages/0/content"), VALUE);
    let by_pack = knowing(&rule("[\"secrets\"]"));
    assert_eq!(ids(&by_pack), ["own", "known-values"]);
    assert!(!sent_at(&evaluate(&by_pack, &chat(VALUE)), "/messages/0/content").contains("KNOWN_"));
}

#[test]
fn a_known_value_in_parts_in_encodings_and_in_names_is_contained() {
    let policy = knowing(EMAILS);
    let parts = json!({"messages": [{"role": "user", "content": [
        {"type": "text", "text": &VALUE[..6]}, {"type": "text", "text": &VALUE[6..]}]}]});
    let evaluation = evaluate(&policy, &parts);
    assert_forward(&evaluation);
    assert_eq!(sent_at(&evaluation, "/messages/0/content/0/text"), token("KNOWN", VALUE));
    let piece = &VALUE[4..16];
    let evaluation = evaluate(&policy, &chat(&format!("…{piece}…")));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), format!("…{}…", token("KNOWN", piece)));
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert!(told(&evaluate(&policy, &chat(&hex))).contains("hexadecimal"));
    let percent: String = VALUE.bytes().map(|byte| format!("%{byte:02X}")).collect();
    // Its token stands for it as it was spelled, so an answer gives back what came.
    let evaluation = evaluate(&policy, &chat(&percent));
    assert_eq!(sent_at(&evaluation, "/messages/0/content"), token("KNOWN", &percent));
    let key = json!({"messages": [{"role": "user", "content": "x"}], "metadata": {VALUE: "y"}});
    assert!(!matches!(evaluate(&policy, &key).verdict, Verdict::Forward));
    // An id cannot be edited, so it holds the request.
    let id = json!({"messages": [{"role": "tool", "tool_call_id": format!("call_{VALUE}"), "content": "x"}]});
    assert!(!matches!(evaluate(&policy, &id).verdict, Verdict::Forward));
}

#[test]
fn what_is_known_decides_the_generation_and_tells_nothing() {
    let digest = |values: &[&str]| load(&PolicySource::Default, known(values)).digest();
    assert_eq!(digest(&[VALUE]), digest(&[VALUE]));
    assert_ne!(digest(&[VALUE]), digest(&["another-value-7f3k"]));
    assert!(!format!("{:?}", load(&PolicySource::Default, known(&[VALUE]))).contains(&VALUE[..6]));
}

/// Values as password managers make them.
fn generated() -> Vec<String> {
    let alphabet: Vec<char> = ('a'..='z').chain('A'..='Z').chain('0'..='9').chain("!-_#".chars()).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    (0..100).map(|n| (0..12 + n % 30).map(|_| alphabet[next() % alphabet.len()]).collect()).collect()
}

#[test]
fn a_hundred_known_values_raise_no_alarm_in_any_recording() {
    let policy = load(&PolicySource::Default, known(&generated()));
    let read = |folder: &&str| recordings::read(folder, ".request.json");
    let formats = ["openai-chat", "openai-responses", "anthropic-messages", "gemini"];
    let files: Vec<_> = formats.iter().flat_map(read).collect();
    assert!(files.len() >= 9, "{} recordings: fewer than every clone has", files.len());
    for recordings::File { name, body, .. } in &files {
        let body = bytes::Bytes::from(body.clone());
        let document = Arc::new(Document::detect(body.clone(), &Limits::default()).unwrap());
        let evaluation = policy.evaluate(document, &Context::default(), &vault());
        assert_forward(&evaluation);
        assert_eq!(evaluation.draft.render(), body, "{name}");
    }
}
