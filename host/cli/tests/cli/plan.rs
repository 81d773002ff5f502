//! What another policy would do: of files, and of requests that a gate has logged.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Bench, EMAIL, RULES, secret};

/// Lets addresses leave, and stops what is asked to stop.
fn changed() -> String {
    let rules = RULES.replace(r#"detect = ["secrets", "pii/email"]"#, r#"detect = ["secrets"]"#);
    format!(
        "{rules}
[[rule]]
id = \"stop\"
match = {{ role = \"user\" }}
when = 'leaf.text.contains(\"stop\")'
action = \"block\"
reason = \"Stopped\"

[[rule]]
id = \"unused\"
match = {{ tool = \"no_such_tool\" }}
action = \"pause\"
reason = \"Look\"
"
    )
}

/// Requests of every kind: what neither policy changes, what both do, and what only one does.
fn requests() -> Vec<String> {
    let said = [
        "Hello".to_owned(),
        format!("Write to {EMAIL}"),
        format!("The key is {}", secret()),
        "Please stop".to_owned(),
        format!("Stop writing to {EMAIL}, stop it"),
        format!("{EMAIL} has {}", secret()),
    ];
    let body = |said: String| {
        json!({ "model": "gpt-4o", "messages": [
            { "role": "system", "content": "Be brief." }, { "role": "user", "content": said }] })
    };
    said.into_iter().map(|said| body(said).to_string()).collect()
}

fn bench() -> Bench {
    let bench = Bench::with(RULES);
    bench.file("new/rules.toml", &changed());
    for (at, request) in requests().iter().enumerate() {
        bench.file(&format!("{at}.json"), request);
    }
    bench
}

/// The requests that leave otherwise, by what `apply` writes with each policy.
fn differing(bench: &Bench) -> BTreeSet<usize> {
    let sent = |policy: &str, at: usize| {
        let ran = bench.run(&["apply", "--policy", policy, &format!("{at}.json")], "");
        (ran.code, ran.out)
    };
    (0..requests().len()).filter(|&at| sent("policy", at) != sent("new", at)).collect()
}

/// Has a gate send all requests, and gives the digest of what left of each; nothing where it did not.
fn sent(bench: Bench, policy: &str) -> (Bench, Vec<Value>) {
    let gate = Running::start(bench, &["--policy", policy]);
    requests().iter().for_each(|request| drop(gate.chat(request)));
    let bench = gate.stop();
    let newest = ["log", "list", "--json", "--limit", &requests().len().to_string()];
    let list: Vec<Value> = bench.run(&newest, "").json();
    assert_eq!(list.len(), requests().len());
    (bench, list.into_iter().rev().map(|line| line["sent"].clone()).collect())
}

fn named(plan: &Value, number: impl Fn(&str) -> usize) -> BTreeSet<usize> {
    let differing = plan["differing"].as_array().unwrap();
    differing.iter().map(|differs| number(differs["request"].as_str().unwrap())).collect()
}

#[test]
fn a_plan_over_files_names_exactly_those_that_would_leave_otherwise() {
    let bench = bench();
    let files: Vec<String> = (0..requests().len()).map(|at| format!("{at}.json")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let call = |more: &[&str]| {
        let today = ["plan", "--policy", "new", "--today", "policy"];
        bench.run(&[&today[..], more, &["--against"], &files].concat(), "")
    };
    let ran = call(&["--json"]);
    assert_eq!(ran.code, 1, "verdicts change: {}", ran.shown());
    let plan: Value = ran.json();
    let number = |file: &str| file.trim_end_matches(".json").parse().unwrap();
    assert_eq!(named(&plan, number), differing(&bench));
    assert_eq!((&plan["verdictChanges"], &plan["neverMatch"]), (&2.into(), &json!(["unused"])));
    // A generation's name changes with whatever it is made of, the built-in rules too.
    let mut shown = call(&[]).out;
    for (which, stands) in [("today", "TODAY"), ("new", "NEW")] {
        shown = shown.replace(plan[which].as_str().unwrap(), stands);
    }
    insta::assert_snapshot!(shown);
    // Nothing differs between a policy and itself.
    let same =
        bench.run(&[&["plan", "--policy", "new", "--today", "new", "--against"], &files[..]].concat(), "");
    assert_eq!(same.code, 0, "{}", same.shown());
    assert!(same.out.contains("0 would leave otherwise, 0 with another verdict"), "{}", same.out);
}

#[test]
fn a_plan_over_the_log_names_exactly_those_that_would_leave_otherwise() {
    let (bench, today) = sent(bench(), "policy");
    assert!(today.iter().all(|sent| sent.is_string()), "{today:?}");
    let call = ["plan", "--policy", "new", "--today", "policy", "--json"];
    let ran = bench.run(&call, "");
    assert_eq!(ran.code, 1, "{}", ran.shown());
    let plan: Value = ran.json();
    let number = |id: &str| id.trim_start_matches("request ").parse::<usize>().unwrap() - 1;
    let differing = named(&plan, number);
    let lost = |change: &&Value| change["detector"] == "pii/email";
    let lost = plan["changes"].as_array().unwrap().iter().find(lost).unwrap();
    assert_eq!((&lost["rule"], &lost["gained"], &lost["lost"]), (&"secrets".into(), &0.into(), &3.into()));
    assert!(!ran.out.contains(EMAIL) && !ran.out.contains(&secret()), "{}", ran.out);
    // A part of it.
    let ran = bench.run(&[&call[..], &["--limit", "1"]].concat(), "");
    let plan: Value = ran.json();
    assert_eq!((&plan["requests"], named(&plan, number)), (&1.into(), BTreeSet::from([5])));
    assert_eq!(ran.code, 0, "no verdict changes there: {}", ran.shown());
    let ran = bench.run(&["plan", "--policy", "new", "--today", "policy", "--since", "1h"], "");
    assert!(ran.out.contains("The log has bodies as they left"), "{}", ran.shown());
    // What it said is what happens: the same requests are sent under the new policy.
    let (_, new) = sent(bench, "new");
    let otherwise = (0..requests().len()).filter(|&at| today[at] != new[at]).collect();
    assert_eq!(differing, otherwise);
    assert!(!differing.is_empty() && differing.len() < requests().len());
}

/// A rule about an upstream by its name is for the requests that went there, in a plan as in a gate; where
/// a rule sent one there, a policy without that rule lets it go elsewhere.
#[test]
fn a_plan_knows_which_upstream_a_request_was_for() {
    let away = "[[rule]]\nid = \"away\"\nmatch = { role = \"user\" }\nwhen = 'leaf.text.contains(\"house\")'\n\
                action = \"route\"\nto = \"inner\"\n";
    let bench = Bench::with(away);
    // What the upstream is asked for has nothing of its name.
    let stop = "[[rule]]\nid = \"stop\"\nmatch = { upstream = \"far\", endpoint = \"/v1/chat/completions\" }\n\
                action = \"block\"\nreason = \"No\"\n";
    bench.file("stays/rules.toml", &stop.replace("far", "nowhere"));
    bench.file("stops/rules.toml", &format!("{away}\n{stop}"));
    bench.file("config.toml", "[upstreams.far]\nurl = \"echo:\"\n[upstreams.inner]\nurl = \"echo:\"\n");
    let gate = Running::start(bench, &["--policy", "policy", "--config", "config.toml"]);
    let says = |text: &str| json!({ "messages": [{ "role": "user", "content": text }] }).to_string();
    assert_eq!(gate.chat(&says("hello")).status, 200);
    assert_eq!(gate.chat(&says("of the house")).status, 200);
    assert_eq!(gate.post("/u/far/v1/chat/completions", &says("hello")).status, 200);
    let bench = gate.stop();
    for (new, number, today, then) in [("stops", 3, "forward", "block"), ("stays", 2, "route", "forward")] {
        let ran =
            bench.run(&["plan", "--today", "policy", "--policy", new, "--against", "log", "--json"], "");
        let plan: Value = ran.json();
        let differing = plan["differing"].as_array().unwrap();
        assert_eq!(differing.len(), 1, "{new}: {plan}");
        let differs = &differing[0];
        assert_eq!(differs["request"], format!("request {number}"), "{new}: {plan}");
        assert_eq!((&differs["today"]["kind"], &differs["new"]["kind"]), (&today.into(), &then.into()));
    }
}

#[test]
fn what_cannot_be_judged_is_said_and_is_no_success() {
    let bench = bench();
    let ran =
        bench.run(&["plan", "--policy", "new", "--today", "new", "--against", "gone.json", "0.json"], "");
    assert_eq!(ran.code, 2, "{}", ran.shown());
    assert!(
        ran.out.starts_with("1 requests") && ran.err.contains("cannot read gone.json"),
        "{}",
        ran.shown()
    );
    let ran = bench.run(&["plan", "--policy", "gone", "--against", "0.json"], "");
    assert!(ran.code == 2 && ran.err.contains("the new policy does not load"), "{}", ran.shown());
    let ran = bench.run(&["plan", "--policy", "new"], "");
    assert!(ran.code == 2 && ran.err.contains("there is no log yet"), "{}", ran.shown());
}

const LATEST: &str = "[[rule]]\nid = 'no-word'\nmatch = { latest = true }\nwhen = 'leaf.text.contains(\"SECRETWORD\")'\n\
                      action = 'block'\nreason = 'The word stays here'\n";

/// A text as `input` is a Responses request for a gate by its path, and offline by its shape.
#[test]
fn a_gate_a_plan_and_apply_make_the_same_of_a_request_whose_input_is_a_text() {
    let bench = Bench::new();
    bench.file("new/rules.toml", LATEST);
    let body = r#"{"model":"m","input":"SECRETWORD"}"#;
    bench.file("input.json", body);
    let applied = bench.run(&["apply", "--policy", "new", "input.json"], "");
    assert_eq!(applied.code, 4, "{}", applied.err);
    assert!(applied.err.contains("read as openai-responses"), "{}", applied.err);
    let call = ["plan", "--today", "none", "--policy", "new", "--json", "--against", "input.json"];
    let ran = bench.run(&call, "");
    assert_eq!(ran.code, 1, "{}", ran.err);
    let plan: Value = ran.json();
    assert_eq!((&plan["verdictChanges"], &plan["differing"][0]["new"]["kind"]), (&json!(1), &json!("block")));
    assert!(plan["notes"].to_string().contains("read as openai-responses"), "{}", plan["notes"]);
    let named = bench.run(&[&call[..], &["--format", "openai-responses"]].concat(), "");
    assert!(!named.out.contains("read as"), "what is said is no guess: {}", named.out);
    let gate = Running::start(bench, &["--policy", "new"]);
    assert_eq!(gate.post("/v1/responses", body).status, 400);
    gate.stop();
}

/// Gemini and Azure's deployments name the model in the path.
#[test]
fn the_model_of_a_path_is_the_same_to_a_gate_apply_explain_and_a_plan() {
    let bench = Bench::new();
    bench.file(
        "new/rules.toml",
        "[[rule]]\nid = 'no-word'\nmatch = { model = ['*-pro', 'house'], endpoint = '/*' }\n\
         when = 'leaf.text.contains(\"SECRETWORD\")'\naction = 'block'\nreason = 'The word stays here'\n",
    );
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"SECRETWORD"}]}]}"#;
    let azure = r#"{"messages":[{"role":"user","content":"SECRETWORD"}]}"#;
    let to = |model: &str| format!("/v1beta/models/{model}:generateContent");
    let cases = [
        (gemini, to("gemini-2.5-pro"), true),
        (gemini, to("gemini-2.5-flash"), false),
        (azure, "/openai/deployments/house/chat/completions?api-version=2024-10-21".to_owned(), true),
        (azure, "/openai/deployments/other/chat/completions".to_owned(), false),
        (azure, "/v1/chat/completions".to_owned(), false),
    ];
    for (body, path, blocks) in &cases {
        bench.file("body.json", body);
        let apply = bench.run(&["apply", "--policy", "new", "--path", path, "body.json"], "");
        assert_eq!(apply.code, if *blocks { 4 } else { 0 }, "{path}: {}", apply.shown());
        let explain = ["explain", "--policy", "new", "--json", "--path", path, "body.json"];
        let explained: Value = bench.run(&explain, "").json();
        assert_eq!(explained["rules"][0]["applies"], *blocks, "{path}");
        let call = [
            "plan",
            "--today",
            "none",
            "--policy",
            "new",
            "--json",
            "--path",
            path,
            "--against",
            "body.json",
        ];
        let plan: Value = bench.run(&call, "").json();
        assert_eq!(plan["verdictChanges"], i32::from(*blocks), "{path}");
    }
    let unsaid = bench.run(&["apply", "--policy", "new", "body.json"], "");
    assert_eq!(unsaid.code, 0, "nobody says where it goes");
    let wrong = bench.run(&["apply", "--path", "v1/../chat", "body.json"], "");
    assert!(wrong.code == 2 && wrong.err.contains("a path begins with `/`"), "{}", wrong.shown());
    let gate = Running::start(bench, &["--policy", "new"]);
    for (body, path, blocks) in &cases {
        assert_eq!(gate.post(path, body).status == 400, *blocks, "{path}");
    }
    gate.stop();
}

#[test]
fn a_file_that_is_no_json_is_refused_as_a_gate_refuses_it() {
    let bench = Bench::new();
    bench.file("new/rules.toml", LATEST);
    bench.file("text.txt", "not JSON");
    let call = ["plan", "--today", "none", "--policy", "new", "--against", "text.txt"];
    let ran = bench.run(&call, "");
    assert_eq!(ran.code, 2, "{}", ran.out);
    assert!(ran.err.contains("text.txt") && ran.err.contains("--format raw"), "{}", ran.err);
    assert_eq!(bench.run(&[&call[..], &["--format", "raw"]].concat(), "").code, 0);
}
