//! Values that a person named: found wherever they stand, whatever the rules of a policy look for,
//! and nothing else is.

use std::sync::Arc;
use std::time::SystemTime;

use leafgate_contract::NoPlugins;
use leafgate_detect::{KnownKey, KnownValues};
use leafgate_harness::recordings;
use leafgate_policy::{Context, Policy, PolicySource, Verdict};
use leafgate_tree::{Access, Document, Limits};
use leafgate_verify::encoding::{SampleKind, TextEncoding, encodings};
use leafgate_verify::walk::{PositionKind, Replacement, WalkPlace, positions, rewrite};
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
    Policy::load_knowing(source, None, &NoPlugins, SystemTime::UNIX_EPOCH, Some(known)).unwrap()
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
    // What spells it is as well known, and replaced; what has signs between is decoded, and held.
    let hex: String = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sent_at(&evaluate(&policy, &chat(&hex)), "/messages/0/content"), token("KNOWN", &hex));
    let pairs = VALUE.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":");
    assert!(told(&evaluate(&policy, &chat(&pairs))).contains("hexadecimal"));
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

const FORMATS: [&str; 6] =
    ["openai-chat", "openai-responses", "anthropic-messages", "gemini", "code-assist", "copilot"];

#[test]
fn a_hundred_known_values_raise_no_alarm_in_any_recording() {
    let policy = load(&PolicySource::Default, known(&generated()));
    let read = |folder: &&str| recordings::read(folder, ".request.json");
    let files: Vec<_> = FORMATS.iter().flat_map(read).collect();
    assert!(files.len() >= 9, "{} recordings: fewer than every clone has", files.len());
    for recordings::File { name, body, .. } in &files {
        let body = bytes::Bytes::from(body.clone());
        let document = Arc::new(Document::detect(body.clone(), &Limits::default()).unwrap());
        let evaluation = policy.evaluate(document, &Context::default(), &vault());
        assert_forward(&evaluation);
        assert_eq!(evaluation.draft.render(), body, "{name}");
    }
}

/// A request with a spelled value at one of its positions.
struct Planted {
    body: String,
    /// Bytes that the body shares with the recording: before the value, and behind it.
    before: usize,
    behind: usize,
}

/// Plants a value behind the text at one position, or in the place of what is no text.
fn planted(body: &str, position: usize, spelled: &str) -> Option<Planted> {
    let mut at = 0;
    let mut visit = |place: &WalkPlace<'_>| {
        let is_here = at == position;
        at += 1;
        let text = match place.position.what {
            PositionKind::Document => return None,
            PositionKind::Text => format!("{}\n{spelled}\n", place.text),
            _ => spelled.to_owned(),
        };
        is_here.then_some(Replacement::Text(text))
    };
    let planted = rewrite(body, &mut visit).unwrap();
    let (before, behind) = shared(body, &planted);
    (planted != body).then_some(Planted { body: planted, before, behind })
}

/// How many bytes two bodies share at their beginnings and at their ends.
fn shared(one: &str, other: &str) -> (usize, usize) {
    let same = |(a, b): &(u8, u8)| a == b;
    let before = one.bytes().zip(other.bytes()).take_while(same).count();
    let most = one.len().min(other.len()) - before;
    let behind = one.bytes().rev().zip(other.bytes().rev()).take(most).take_while(same).count();
    (before, behind)
}

/// Returns true if and only if the value stands where nothing is decoded: in what the model's
/// provider signed or encrypted, and behind the bytes of media.
fn is_sealed(document: &Document, spelled: &str) -> bool {
    let mut sealed =
        document.leaves().filter(|leaf| matches!(leaf.access(), Access::Frozen | Access::Opaque));
    sealed.any(|leaf| leaf.text().expose().contains(spelled))
}

/// Returns whether the request left, and panics where anything of the value left with it, or where
/// anything else was changed. `None` where the value stands in what nobody decodes.
fn leaves_without(policy: &Policy, planted: &Planted, encoding: &TextEncoding, value: &str) -> Option<bool> {
    let body = bytes::Bytes::from(planted.body.clone());
    // What the gate cannot read does not leave.
    let Ok(document) = Document::detect(body, &Limits::default()) else { return Some(false) };
    if is_sealed(&document, &encoding.encode(value)) {
        return None;
    }
    let evaluation = policy.evaluate(Arc::new(document), &Context::default(), &vault());
    if !matches!(evaluation.verdict, Verdict::Forward) {
        return Some(false);
    }
    let sent = evaluation.draft.render();
    assert!(!encoding.is_left(value, &sent), "{value:?} leaves as {}: {}", encoding.name, planted.body);
    let (before, behind) = shared(&planted.body, std::str::from_utf8(&sent).unwrap());
    assert!(
        before >= planted.before && behind >= planted.behind,
        "{} changes more than the value: {}",
        encoding.name,
        planted.body
    );
    Some(true)
}

#[test]
fn invariant_3_known_values_are_contained_in_every_encoding_and_at_every_position() {
    /// Of all positions and encodings, so many are tried where nobody asks for all of them.
    const TRIED: usize = 400;
    /// In larger recordings nothing stands that smaller ones do not have.
    const LARGE: usize = 48 << 10;
    /// Shares no factor with any number of positions, so that they are met in a mixed order.
    const STRIDE: usize = 7919;
    /// Of shorter values two lines of eight characters are left, and two short words may be anything.
    const LEAST_IN_LINES: usize = 15;
    let is_whole = std::env::var_os("LEAFGATE_SOAK").is_some();
    let policy = load(&PolicySource::Default, known(&generated()));
    let values = generated();
    let read = |folder: &&str| recordings::read(folder, ".request.json");
    let bodies: Vec<String> = FORMATS
        .iter()
        .flat_map(read)
        .filter(|file| is_whole || file.body.len() <= LARGE)
        .map(|file| String::from_utf8(file.body).unwrap())
        .collect();
    let places: Vec<(&str, usize)> = bodies
        .iter()
        .flat_map(|body| (0..positions(body).unwrap().len()).map(|at| (body.as_str(), at)))
        .collect();
    let read_by_gate: Vec<_> = encodings()
        .iter()
        .filter(|known| known.promised && known.kinds.contains(&SampleKind::Token))
        .collect();
    let all = places.len() * read_by_gate.len();
    let (mut contained, mut left) = (0, 0);
    for n in 0..if is_whole { all } else { TRIED } {
        let (encoding, value) = (read_by_gate[n % read_by_gate.len()], &values[n % values.len()]);
        if encoding.name == "base64 in lines of 8" && value.len() < LEAST_IN_LINES {
            continue;
        }
        let place = if is_whole { n / read_by_gate.len() } else { n * STRIDE % places.len() };
        let (body, position) = places[place];
        let planted = planted(body, position, &encoding.encode(value));
        if let Some(has_left) = planted.and_then(|it| leaves_without(&policy, &it, encoding, value)) {
            contained += 1;
            left += usize::from(has_left);
        }
    }
    println!("{contained} planted values contained, {left} of them in requests that left");
    // Keys, ids and what is encoded as a block cannot be replaced, so most requests are held.
    assert!(contained > TRIED / 2 && left > contained / 20, "{contained} planted, {left} left");
}
