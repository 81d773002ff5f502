//! A policy does one and the same to a request: where `apply` shows it, in a gate, in a plan, and in the policy's own tests.

use std::collections::BTreeMap;

use leafgate_harness::recordings::{self, Recording};
use leafgate_tests::upstream::Upstream;
use leafgate_tree::Format;
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::Bench;

/// Rules of every phase, with one exception that is in force and one that has ended. What is redacted is
/// masked: tests of a policy have keys of their own.
const RULES: &str = r#"
[[detector]]
id = "words"
words = ["should", "folder", "please"]

[[rule]]
id = "words"
match = {}
detect = "own/words"
action = "redact"
with = "mask"

[[rule]]
id = "steady"
match = { role = "system" }
when = "request.messages > 1"
action = "pin"

[[rule]]
id = "polite"
match = { latest = true, kind = "text" }
action = "rewrite"
append = " Thanks."

[[rule]]
id = "cool"
match = {}
when = "request.tools < 100"
action = "rewrite"
options = { temperature = 0 }

[[rule]]
id = "no-edits"
match = {}
action = "filter-tools"
drop = ["Edit", "apply_patch", "str_replace*"]

[[rule]]
id = "gone"
match = { section = "tool-result" }
when = 'leaf.text.contains("No such")'
action = "block"

[[exception]]
rule = "words"
value = "folder"
match = { role = "user" }
reason = "Everybody has some"
by = "platform"
until = "never"

[[exception]]
rule = "words"
value = "please"
reason = "It was allowed for a while"
by = "platform"
until = 2024-01-31
"#;

/// The APIs whose paths say how a body is read.
const APIS: &[(Format, &str)] = &[
    (Format::OpenaiChat, "/v1/chat/completions"),
    (Format::OpenaiResponses, "/v1/responses"),
    (Format::AnthropicMessages, "/v1/messages"),
];

/// The larger ones take long under rules that are compiled without optimisation.
const LARGEST: usize = 40_000;

/// Of the recordings that not every clone has, so many of each API.
const OF_EACH: usize = 8;

/// Requests whose fate is known: an exception, one that has ended, and a block.
fn made() -> Vec<Recording> {
    let chat = |name: &str, messages: Value| Recording {
        name: name.to_owned(),
        body: json!({ "model": "m", "messages": messages }).to_string().into_bytes(),
        format: Format::OpenaiChat,
    };
    vec![
        chat("allowed", json!([{ "role": "user", "content": "A folder, please" }])),
        chat(
            "elsewhere",
            json!([{ "role": "system", "content": "The folder" }, { "role": "user", "content": "Hi" }]),
        ),
        chat(
            "gone",
            json!([
                { "role": "user", "content": "Read" },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": "c", "type": "function", "function": { "name": "read", "arguments": "{}" } }] },
                { "role": "tool", "tool_call_id": "c", "content": "No such file" },
            ]),
        ),
    ]
}

fn requests() -> Vec<Recording> {
    let is_of_an_api = |recording: &Recording| {
        recording.body.len() < LARGEST && APIS.iter().any(|(format, _)| *format == recording.format)
    };
    let mut requests: Vec<_> =
        recordings::examples().into_iter().filter(is_of_an_api).chain(made()).collect();
    for (format, _) in APIS {
        let of_api = recordings::recorded().into_iter().filter(|recording| recording.format == *format);
        requests.extend(of_api.filter(is_of_an_api).take(OF_EACH));
    }
    requests
}

/// What left of a request; nothing where it was blocked.
type Fate = Option<String>;

/// What `apply` writes.
fn applied(bench: &Bench, name: &str, format: Format) -> Fate {
    let ran = bench.run(&["apply", "--policy", "new", "--format", format.name(), name], "");
    match ran.code {
        0 => Some(ran.out),
        4 => None,
        _ => panic!("{name}: {}", ran.shown()),
    }
}

/// What a plan says of all requests of an API, by file.
fn planned(bench: &Bench, format: Format, names: &[String]) -> BTreeMap<String, Option<usize>> {
    let call =
        ["plan", "--today", "none", "--policy", "new", "--json", "--format", format.name(), "--against"];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let ran = bench.run(&[&call[..], &names].concat(), "");
    let plan: Value = ran.json();
    assert_eq!((&plan["requests"], &plan["unread"]), (&names.len().into(), &json!([])), "{}", ran.shown());
    let differing = plan["differing"].as_array().unwrap().iter();
    let fate = |differs: &Value| {
        let blocked = differs["new"]["kind"] == "block";
        assert!(blocked || differs["new"]["kind"] == "forward", "{differs}");
        let bytes = (!blocked).then(|| usize::try_from(differs["bytesNew"].as_u64().unwrap()).unwrap());
        (differs["request"].as_str().unwrap().to_owned(), bytes)
    };
    differing.map(fate).collect()
}

/// Writes the rules and all requests, and says what `apply` makes of each.
fn applied_to_all(bench: &Bench, rules: &str, requests: &[Recording]) -> Vec<Fate> {
    bench.file("new/rules.toml", rules);
    let one = |(at, Recording { body, format, .. }): (usize, &Recording)| {
        let name = name(at);
        bench.file(&name, std::str::from_utf8(body).unwrap());
        applied(bench, &name, *format)
    };
    requests.iter().enumerate().map(one).collect()
}

fn name(at: usize) -> String {
    format!("new/tests/{at}.json")
}

/// Holds a gate of the same installation to what `apply` wrote.
fn a_gate_does(bench: Bench, requests: &[Recording], fates: &[Fate]) {
    let upstream = Upstream::start().unwrap();
    bench.file("config.toml", &format!("[upstreams.far]\nurl = \"{}\"\n", upstream.url()));
    let gate = Running::start(bench, &["--policy", "new", "--config", "config.toml"]);
    for (recording, fate) in requests.iter().zip(fates) {
        let (_, path) = APIS.iter().find(|(format, _)| *format == recording.format).unwrap();
        let body = std::str::from_utf8(&recording.body).unwrap();
        let status = gate.post(&format!("/u/far{path}"), body).status;
        assert_eq!(status, if fate.is_some() { 200 } else { 400 }, "{recording:?}");
        let left = upstream.take().pop().map(|request| String::from_utf8(request.body).unwrap());
        assert!(left == *fate, "{recording:?}: other bytes in a gate");
    }
    gate.stop();
}

#[test]
fn invariant_1_untouched_is_identical_offline_and_in_a_gate() {
    let (bench, requests) = (Bench::new(), requests());
    let fates = applied_to_all(&bench, &format!("mode = \"monitor\"\n{RULES}"), &requests);
    for (recording, fate) in requests.iter().zip(&fates) {
        assert!(fate.as_ref().is_some_and(|sent| *sent.as_bytes() == recording.body), "{recording:?}");
    }
    a_gate_does(bench, &requests, &fates);
}

#[test]
fn tokens_of_what_packs_find_are_the_same_offline_and_in_a_gate() {
    let (bench, requests) = (Bench::new(), requests());
    let rules = RULES.replace("\"own/words\"", "[\"own/words\", \"secrets\", \"pii\"]");
    let fates = applied_to_all(&bench, &rules.replace("with = \"mask\"\n", ""), &requests);
    assert!(fates.iter().flatten().any(|sent| sent.contains("WORDS_")));
    a_gate_does(bench, &requests, &fates);
}

#[test]
fn a_policy_with_tests_and_exceptions_does_the_same_offline_in_a_gate_in_a_plan_and_in_its_tests() {
    let (bench, requests) = (Bench::new(), requests());
    let fates = applied_to_all(&bench, RULES, &requests);
    let mut tests = String::new();
    for (at, (Recording { name: called, format, .. }, fate)) in requests.iter().zip(&fates).enumerate() {
        let expected = match fate {
            None => "verdict = \"block\"\nheld_by = \"gone\"\n".to_owned(),
            Some(sent) => {
                bench.file(&format!("new/tests/{at}.sent"), sent);
                format!("verdict = \"forward\"\nbytes = \"{at}.sent\"\n")
            }
        };
        let format = format.name();
        tests += &format!(
            "[[test]]\nname = \"{at} {called}\"\nfile = \"{at}.json\"\nformat = \"{format}\"\n{expected}\n"
        );
    }
    for (format, _) in APIS {
        let of_api = |at: &usize| requests[*at].format == *format;
        let names: Vec<String> = (0..requests.len()).filter(of_api).map(name).collect();
        let planned = planned(&bench, *format, &names);
        for at in (0..requests.len()).filter(of_api) {
            let (fate, recording) = (&fates[at], &requests[at]);
            let bytes = fate.as_ref().map(String::len);
            let same = planned.get(&name(at)).copied().unwrap_or(Some(recording.body.len()));
            assert_eq!(same, bytes, "{recording:?} in a plan");
        }
    }
    bench.file("new/tests/all.toml", &tests);
    let tested = bench.run(&["test", "--policy", "new"], "");
    assert_eq!(tested.code, 0, "{}", tested.shown());
    a_gate_does(bench, &requests, &fates);
    let changed = requests
        .iter()
        .zip(&fates)
        .filter(|(recording, fate)| fate.as_ref().is_some_and(|sent| *sent.as_bytes() != recording.body));
    let (changed, blocked) = (changed.count(), fates.iter().filter(|fate| fate.is_none()).count());
    assert!(changed > 5 && blocked > 0, "{changed} changed, {blocked} blocked of {}", requests.len());
    let sent = |called: &str| {
        let made = requests.iter().position(|recording| recording.name == called).unwrap();
        fates[made].as_deref().unwrap()
    };
    assert!(sent("allowed").contains("A folder, [WORDS]"));
    assert!(!sent("elsewhere").contains("folder"));
}
