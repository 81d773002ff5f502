//! The log that a gate writes: what it shows, that it is whole after any end, and that receipts hold.

use std::time::{Duration, Instant};

use leafgate_tests::http::Client;
use serde_json::Value;

use crate::running::Running;
use crate::support::{Bench, EMAIL, RULES, holding, request, secret};

fn bench() -> Bench {
    Bench::with(RULES)
}

fn start(bench: Bench, args: &[&str]) -> Running {
    Running::start(bench, &[&["--policy", "policy"], args].concat())
}

/// Every byte of every file below the data folder, but for the key.
fn written(bench: &Bench) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut folders = vec![bench.path().join("data")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => bytes.extend(std::fs::read(path).unwrap()),
            }
        }
    }
    bytes
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

// S0-16
#[test]
fn a_log_says_what_was_redacted_where_by_which_detector_and_rule() {
    let gate = start(bench(), &[]);
    assert_eq!(gate.chat(&request()).status, 200);
    assert_eq!(gate.chat(&request()).status, 200);
    // A gate that is stopped before it has seen the end of an answer tells it as broken.
    let deadline = Instant::now() + Duration::from_secs(10);
    let list = || -> Value { gate.json(&["log", "list", "--json"]) };
    while list()[0]["answer"] != "complete" {
        assert!(Instant::now() < deadline, "an answer that came whole is complete");
    }
    let bench = gate.stop();
    let told = bench.run(&["log", "--since", "1h"], "");
    assert_eq!(told.code, 0, "{}", told.shown());
    insta::assert_snapshot!(told.out, @r"
    2 requests; 4 redactions
    times  requests  label   detector              rule     where
        2         2  EMAIL   pii/email             secrets  messages[].content
        2         2  SECRET  secrets/github-token  secrets  messages[].content
    ");
    let lines: Value = bench.run(&["log", "--json"], "").json();
    assert_eq!(lines.as_array().unwrap().len(), 2);
    let list: Value = bench.run(&["log", "list", "--json"], "").json();
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(
        (&list[0]["id"], &list[0]["status"], &list[0]["answer"]),
        (&2.into(), &200.into(), &"complete".into())
    );
    let shown: Value = bench.run(&["log", "show", "1", "--json"], "").json();
    assert_eq!(shown["body"]["messages"][0]["content"], "Be brief. Be polite.");
    assert!(shown["operations"].as_array().unwrap().iter().any(|made| made["rule"] == "polite"));
    let found = bench.run(&["log", "search", "polite"], "");
    assert!(found.out.trim_end().ends_with("Be brief. Be polite."), "{}", found.shown());
    let found: Value = bench.run(&["log", "search", "polite", "--json"], "").json();
    let first = found.as_array().unwrap().last().unwrap();
    assert_eq!((&first["id"], &first["found"]), (&1.into(), &"Be brief. Be polite.".into()));
    for call in [&["log", "diff", "2"][..], &["log", "diff"], &["log", "diff", "1", "2"]] {
        let diff = bench.run(call, "");
        assert!(diff.err.contains("the bodies of request 1 and request 2 are the same"), "{}", diff.shown());
    }
    let diff: Value = bench.run(&["log", "diff", "--json"], "").json();
    assert_eq!(diff, serde_json::json!({ "old": 1, "new": 2, "diff": "" }));
    assert!(bench.run(&["log", "list", "--since", "soon"], "").err.contains("as in 90s or 1h"));
    assert!(bench.run(&["log", "show", "9"], "").err.contains("request 9 is not in the log"));
}

#[test]
fn who_sees_an_answer_finds_its_request_in_the_log() {
    let gate = start(bench(), &[]);
    for seen in 1..=20 {
        assert_eq!(gate.chat(&request()).status, 200);
        let list: Value = gate.json(&["log", "list", "--json"]);
        assert_eq!(list.as_array().unwrap().len(), seen);
    }
    let told = gate.run(&["log"]).out;
    assert!(told.starts_with("20 requests; 40 redactions\n"), "{told}");
}

/// Published examples and what a person types included, and two rules that look for the same find it once.
#[test]
fn every_redaction_has_its_detector_and_every_finding_is_counted_once() {
    let rules = holding("pause").replace("[\"secrets\", \"pii/email\"]", "[\"secrets\", \"pii\"]")
        + "\n[[rule]]\nid = \"counts\"\nmatch = {}\ndetect = [\"secrets\"]\naction = \"redact\"\nmode = \"monitor\"\n";
    let gate = start(Bench::with(&rules), &[]);
    let card = ["4242", "424242424242"].concat();
    let says = format!("please pay with {card} and {}", secret());
    let body = serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": says }] });
    let (client, turn) = gate.chat_that_waits(&body.to_string());
    let id = turn["id"].as_str().unwrap();
    let typed = format!("please write to {EMAIL}");
    assert_eq!(gate.run(&["pending", "edit", id, "--set", "/messages/0/content", &typed]).code, 0);
    assert_eq!(gate.run(&["pending", "edit", id, "--undo"]).code, 0);
    assert_eq!(gate.run(&["pending", "edit", id, "--redo"]).code, 0);
    assert_eq!(gate.run(&["pending", "resume", id]).code, 0);
    assert_eq!(client.join().unwrap().status, 200);
    let lines: Value = gate.json(&["log", "--json"]);
    let mut found: Vec<_> =
        lines.as_array().unwrap().iter().map(|line| line["detector"].as_str().unwrap_or("-")).collect();
    found.sort_unstable();
    let expected = ["pii/email", "pii/payment-card", "secrets/github-token"];
    assert_eq!(found, expected, "{lines}");
    let metrics = gate.admin().metrics().unwrap();
    for detector in expected {
        let line = format!("leafgate_findings_total{{detector=\"{detector}\"}} 1");
        assert!(metrics.lines().any(|counted| counted == line), "{line}: {metrics}");
    }
}

// S0-97, S0-98, S0-135
#[test]
fn what_agents_asked_is_in_a_bound_and_has_the_number_that_the_log_gave_it() {
    let gate = start(bench(), &["--set", "limits.subagents=1"]);
    assert_eq!(gate.chat(&request()).status, 200);
    let mut agent = Client::connect(gate.address()).unwrap();
    for _ in 0..2 {
        let called = [("x-claude-code-agent-id", "a9daf662")];
        agent.post("/v1/chat/completions", &called, request().as_bytes()).unwrap();
    }
    let listed = gate.json(&["subagents", "--json"]);
    assert_eq!((&listed["trimmed"], &listed["requests"][0]["logged"]), (&1.into(), &3.into()), "{listed}");
    let shown = gate.run(&["subagents"]).out;
    assert!(shown.contains("request 3 in the log") && shown.contains("Be brief. Be polite."), "{shown}");
    assert!(!shown.contains(EMAIL), "{shown}");
}

// S0-116
#[test]
fn nothing_secret_is_in_the_log_in_monitor_mode_either() {
    for policy in
        [RULES.to_owned(), RULES.replace("action = \"redact\"", "action = \"redact\"\nmode = \"monitor\"")]
    {
        let bench = Bench::with(&policy);
        let gate = start(bench, &[]);
        assert_eq!(gate.chat(&request()).status, 200);
        let bench = gate.stop();
        let bytes = written(&bench);
        assert!(!holds(&bytes, &secret()) && !holds(&bytes, EMAIL));
        for args in [
            &["log"][..],
            &["log", "show", "1"],
            &["log", "show", "1", "--json"],
            &["log", "list"],
            &["log", "show", "1", "--body"],
            &["receipt", "export"],
        ] {
            let ran = bench.run(args, "");
            assert_eq!(ran.code, 0, "{}", ran.shown());
            assert!(!ran.out.contains(&secret()) && !ran.out.contains(EMAIL), "{}", ran.shown());
        }
    }
}

#[test]
fn a_gate_without_a_log_writes_none() {
    let gate = start(bench(), &["--no-log"]);
    assert_eq!(gate.chat(&request()).status, 200);
    let status = gate.json(&["status", "--json"]);
    assert_eq!(status["store"], Value::Null);
    let told = gate.run(&["log"]);
    assert!(told.code == 2 && told.err.contains("there is no log yet"), "{}", told.shown());
}

#[test]
fn a_receipt_that_was_changed_is_named() {
    let gate = start(bench(), &[]);
    for _ in 0..3 {
        gate.chat(&request());
    }
    let bench = gate.stop();
    let export = bench.run(&["receipt", "export"], "").out;
    let verified = bench.run(&["receipt", "verify", "-"], &export);
    assert_eq!(verified.code, 0, "{}", verified.shown());
    let without: String =
        export.lines().enumerate().filter(|(at, _)| *at != 2).map(|(_, line)| format!("{line}\n")).collect();
    let broken = bench.run(&["receipt", "verify", "-"], &without);
    assert_eq!((broken.code, &*broken.err), (1, "leafgate: -: line 3: receipt 3 follows 1: 2 is missing\n"));
}

/// A chat with a text that no compression makes small.
fn large(number: u32) -> String {
    let text: String =
        (0..6000_u32).map(|n| format!("{:08x}", (number * 6000 + n).wrapping_mul(2_654_435_761))).collect();
    serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
}

#[test]
fn a_full_disk_is_said_and_stops_what_must_be_logged_until_there_is_room() {
    for (args, then) in [(&[][..], "requests go on"), (&["--log-required"], "requests stop")] {
        let required = !args.is_empty();
        let args = [&["--policy", "policy"], args].concat();
        let Some(gate) = Running::start_on_small_disk(bench(), &args, 8 * 1024) else {
            eprintln!("skipped: this system gives no name space with a disk of its own");
            return;
        };
        let (mut kept, mut said) = (0, String::new());
        for number in 0.. {
            let answer = gate.chat(&large(number));
            if answer.status == 200 {
                kept += 1;
            } else {
                assert!(required && answer.body.contains("must log every request"), "{}", answer.body);
            }
            said = gate.run(&["status"]).out;
            if said.contains("CANNOT BE WRITTEN") {
                break;
            }
            assert!(answer.status == 200, "a request was refused, and the status says nothing: {said}");
        }
        assert!(said.contains("the disk is full: make room") && said.contains(then), "{said}");
        assert!(kept > 1, "{kept} were kept before the disk was full");
        match required {
            // There may be room for a few small ones where a large one had none.
            true => while gate.chat(&request()).status == 200 {},
            false => assert_eq!(gate.chat(&request()).status, 200),
        }
        gate.make_room();
        // A write that began before there was room may still fail after one that did not.
        let status = loop {
            let answered = gate.chat(&request()).status == 200;
            assert!(answered || required);
            let status = gate.json(&["status", "--json"]);
            if answered && status["store"]["failing"] == Value::Null {
                break status;
            }
        };
        assert!(status["store"]["missed"].as_u64() > Some(0), "some could not be written");
        let list = gate.run_within(&["log", "list", "--limit", "10000", "--json"]);
        assert_eq!(list.code, 0, "{}", list.err);
        let logged = list.json::<Value>().as_array().unwrap().len();
        assert!(!required || logged > kept, "{logged} of {kept}");
        let receipts = gate.run_within(&["receipt", "export"]).out;
        let verified = gate.run_with(&["receipt", "verify", "-"], &receipts);
        assert!(verified.code == 0 && verified.out.contains("all hold"), "{}", verified.shown());
    }
}

#[test]
fn what_became_of_an_answer_is_in_the_log_and_counted() {
    let bench = Bench::new();
    let rules = "[[detector]]\nid = \"projects\"\nwords = [\"bluebird\"]\n\n[[rule]]\nid = \"answers\"\n\
        on = \"response\"\nmatch = {}\ndetect = [\"own/projects\"]\naction = \"redact\"\nwith = \"mask\"\n";
    bench.file("policy/rules.toml", rules);
    let gate = start(bench, &[]);
    let says = |text: &str| {
        serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": text }] }).to_string()
    };
    let answer = gate.chat(&says("about bluebird"));
    // What `echo:` repeats of the request in a member of its own is no text of the answer.
    assert!(answer.body.contains("about [PROJECTS]"), "{}", answer.body);
    gate.chat(&says("about nothing"));
    let status = gate.json(&["status", "--json"]);
    assert_eq!(status["requests"]["ruled"]["changed"], 1);
    assert_eq!(status["rules"], serde_json::json!([{ "rule": "answers", "requests": 1 }]));
    let told = gate.run(&["status"]).out;
    assert!(told.contains("ruled     answers: 1 changed\n"), "{told}");
    let bench = gate.stop();
    let list: Value = bench.run(&["log", "list", "--json"], "").json();
    assert_eq!(
        (&list[1]["ruled"], &list[1]["ruledBy"]),
        (&"changed".into(), &serde_json::json!(["answers"]))
    );
    assert_eq!((&list[0]["ruled"], &list[0]["ruledBy"]), (&Value::Null, &serde_json::json!([])));
    let shown = bench.run(&["log", "show", "1"], "").out;
    assert!(shown.contains("answer    changed (answers)\n"), "{shown}");
    assert!(!bench.run(&["log", "show", "2"], "").out.contains("answer    "));
    let listed = bench.run(&["log", "list"], "").out;
    assert!(listed.lines().nth(2).unwrap().contains(", changed"), "{listed}");
    // What people say of a rule about answers counts as it does of others.
    assert_eq!(bench.run(&["log", "mark", "1", "right"], "").code, 0);
}

#[test]
fn a_person_reveals_a_token_and_the_log_says_who_and_never_what() {
    let gate = start(bench(), &["--log-required"]);
    assert_eq!(gate.chat(&request()).status, 200);
    let body = gate.run(&["log", "show", "1", "--body"]).out;
    let at = body.find("EMAIL_").unwrap();
    let token = &body[at..at + "EMAIL_".len() + 16];
    let mut call = gate.bench.command(&["reveal", token]);
    call.env("USER", "ann");
    let ran = gate.bench.run_command(call, "");
    assert_eq!((ran.code, &*ran.out), (0, EMAIL), "{}", ran.shown());
    assert_eq!(ran.err, format!("leafgate: that {token} was revealed is logged\n"));
    let json = gate.json(&["reveal", &token.to_lowercase(), "--json"]);
    assert_eq!((&json["value"], &json["token"]), (&EMAIL.into(), &token.into()));
    for (token, says) in
        [("EMAIL_0000000000000000", "no token of this installation"), (EMAIL, "no token of this")]
    {
        let ran = gate.run(&["reveal", token]);
        assert!(ran.code == 2 && ran.out.is_empty() && ran.err.contains(says), "{}", ran.shown());
    }
    let lines: Value = gate.json(&["log", "reveals", "--json"]);
    assert_eq!(lines.as_array().unwrap().len(), 2, "{lines}");
    assert_eq!(lines[1]["token"], token);
    assert!(lines[1]["by"].as_str().unwrap().starts_with("ann (uid "), "{lines}");
    let shown = gate.run(&["log", "reveals", "--since", "1h"]).out;
    assert!(shown.lines().count() == 3 && shown.contains(token), "{shown}");
    // Another gate of the installation makes the same tokens and remembers none of their values.
    let bench = gate.stop();
    let next = start(bench, &[]);
    let expired = next.run(&["reveal", token]);
    assert!(expired.code == 2 && expired.err.contains("it has expired"), "{}", expired.shown());
    let bench = next.stop();
    assert!(!holds(&written(&bench), EMAIL));
}

#[test]
fn what_is_no_number_no_key_and_no_log_is_said_in_plain_words() {
    let bench = bench();
    for args in [&["log", "show", "abc"][..], &["log", "diff", "1", "x"], &["log", "mark", "x", "right"]] {
        let ran = bench.run(args, "");
        assert!(ran.code == 2 && ran.err.contains("give the number of a request"), "{}", ran.shown());
    }
    let ran = bench.run(&["receipt", "verify", "--key", "abc", "receipts.jsonl"], "");
    assert!(ran.code == 2 && ran.err.contains("64 hexadecimal digits"), "{}", ran.shown());
    let file = bench.file("data/log/log.db", &"no database ".repeat(100));
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for args in [&["log", "list"][..], &["run", "--upstream", "echo:", "--listen", "127.0.0.1:0"]] {
        let ran = bench.run(args, "");
        assert!(
            ran.code == 2 && ran.err.contains("log.db") && ran.err.contains("is damaged: move it"),
            "{}",
            ran.shown()
        );
        assert!(!ran.err.contains("not a database"), "{}", ran.err);
    }
}

// S2-30
#[test]
fn exports_are_what_other_programs_read() {
    let gate = start(bench(), &[]);
    gate.chat(&request());
    gate.chat(&request());
    let bench = gate.stop();
    let lines = bench.run(&["log", "export"], "").out;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["body"]["messages"][0]["content"], "Be brief. Be polite.");
    let archive: Value = bench.run(&["log", "export", "--format", "har"], "").json();
    let entry = &archive["log"]["entries"][0];
    assert_eq!((&archive["log"]["version"], &entry["response"]["status"]), (&"1.2".into(), &200.into()));
    assert_eq!(entry["request"]["headers"], serde_json::json!([]));
    // A replay is read again, and a chat would be imported.
    assert_eq!(bench.run(&["log", "export", "replay.json", "--format", "replay"], "").code, 0);
    let raw = bench.run(&["chat", "raw", "replay.json", "--request", "1"], "");
    assert!(raw.code == 0 && raw.out.contains("Be polite."), "{}", raw.shown());
    assert_eq!(bench.run(&["log", "export", "--format", "chat"], "").code, 0);
    // What was there was overwritten without a word.
    let kept = std::fs::read(bench.path().join("chat.json")).unwrap();
    let again = bench.run(&["log", "export", "--format", "chat", "--since", "1h"], "");
    assert!(again.code == 2 && again.err.contains("--force"), "{}", again.shown());
    assert_eq!(std::fs::read(bench.path().join("chat.json")).unwrap(), kept);
    assert_eq!(bench.run(&["log", "export", "--format", "chat", "--force"], "").code, 0);
    let checked = bench.run(&["chat", "check", "chat.json"], "");
    assert!(checked.code == 0 && !checked.out.contains("refuse"), "{}", checked.shown());
    let shown = bench.run(&["chat", "show", "chat.json"], "");
    assert!(shown.code == 0 && shown.out.contains("Write to"), "{}", shown.shown());
}

#[test]
fn a_rule_that_was_not_wrong_is_promoted_and_acts() {
    let rules = "[[rule]]\nid = \"shout\" # for now\nmatch = { latest = true }\nwhen = 'leaf.text.contains(\"!!\")'\naction = \"block\"\nmode = \"monitor\"\n";
    let bench = Bench::with(rules);
    let says =
        |text: &str| format!(r#"{{"model": "m", "messages": [{{"role": "user", "content": "{text}"}}]}}"#);
    let gate = start(bench, &[]);
    for text in ["Go!!", "Stop!!", "calm"] {
        assert_eq!(gate.chat(&says(text)).status, 200);
    }
    let bench = gate.stop();
    let promote =
        |more: &[&str]| bench.run(&[&["promote", "shout", "--policy", "policy"], more].concat(), "");
    let early = promote(&[]);
    assert_eq!(early.code, 2);
    assert!(
        early.err.contains("rule `shout` matched in 2 requests of the log, and 20 are wanted"),
        "{}",
        early.shown()
    );
    assert!(bench.run(&["log", "mark", "2", "wrong"], "").out.contains("request 2: wrong: shout"));
    let wrong = promote(&["--hits", "1"]);
    assert!(wrong.err.contains("is called wrong in 1 of 2 requests (2)"), "{}", wrong.shown());
    assert_eq!(std::fs::read_to_string(bench.path().join("policy/rules.toml")).unwrap(), rules);
    bench.file("other/rules.toml", &rules.replace("!!", "??"));
    let other = bench.run(&["promote", "shout", "--policy", "other", "--hits", "1"], "");
    assert!(other.code == 2 && other.err.contains("2 more do not count"), "{}", other.shown());
    // An exception forgets the false alarm that it may be about, and no other match.
    let exception =
        "[[exception]]\nvalue = \"a@example.org\"\nreason = \"ours\"\nby = \"me\"\nuntil = \"never\"\n";
    bench.file("policy/exceptions.toml", exception);
    let excepted = promote(&["--hits", "2"]);
    assert!(excepted.err.contains("matched in 1 requests of the log"), "{}", excepted.shown());
    assert_eq!(bench.run(&["log", "mark", "2", "right", "--rule", "shout"], "").code, 0);
    let unmatched = bench.run(&["log", "mark", "3", "right"], "");
    assert!(unmatched.err.contains("no rule matched in request 3"), "{}", unmatched.shown());
    let promoted = promote(&["--hits", "2"]);
    assert_eq!(promoted.code, 0, "{}", promoted.shown());
    assert!(
        promoted.out.contains("acts from now on: it matched in 2 requests, and 1 are called right"),
        "{}",
        promoted.out
    );
    let written = std::fs::read_to_string(bench.path().join("policy/rules.toml")).unwrap();
    assert_eq!(written, rules.replace("mode = \"monitor\"\n", ""));
    assert_eq!(bench.run(&["apply", "--policy", "policy"], &says("Go!!")).code, 4);
    assert!(promote(&[]).err.contains("rule `shout` acts already"));
}

/// Which upstream a request went to is known by its name, whether its client asked it by that or a
/// rule sent it there, and nowhere stands a key of its address.
#[test]
fn a_log_names_the_upstream_and_no_key_of_its_address() {
    let key = ["k3y0", &"4f9a1c7e".repeat(4)].concat();
    let bench = Bench::new();
    bench.file(
        "policy/rules.toml",
        "[[rule]]\nid = \"away\"\nmatch = { role = \"user\" }\nwhen = 'leaf.text.contains(\"house\")'\n\
         action = \"route\"\nto = \"inner\"\n",
    );
    bench.file(
        "config.toml",
        &format!(
            "[upstreams.far]\nurl = \"http://127.0.0.1:9/{key}/v9\"\n[upstreams.inner]\nurl = \"echo:\"\n"
        ),
    );
    let gate = start(bench, &["--config", "config.toml"]);
    let says = |text: &str| format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    assert_eq!(gate.chat(&says("hello")).status, 200);
    assert_eq!(gate.chat(&says("of the house")).status, 200);
    let refused = gate.post("/u/far/v1/chat/completions", &says("hello"));
    assert_eq!(refused.status, 502);
    assert!(refused.body.contains("http://127.0.0.1:9/…/v9") && !refused.body.contains(&key));
    let doctor = gate.run(&["doctor"]);
    assert!(
        doctor.out.contains("it cannot reach http://127.0.0.1:9/…/v9: nothing listens"),
        "{}",
        doctor.shown()
    );
    assert!(!holds(doctor.out.as_bytes(), &key));
    let tables = gate.json(&["status", "--json", "--gate", &gate.url]);
    assert_eq!(tables["rules"][0]["requests"], 1, "{tables}");
    let bench = gate.stop();
    let shown = |id: &str| bench.run(&["log", "show", id], "").out;
    let to = |id: &str| shown(id).lines().find(|line| line.starts_with("to ")).unwrap().to_owned();
    assert_eq!(to("1"), "to        POST /v1/chat/completions at echo:");
    assert_eq!(to("2"), "to        POST /v1/chat/completions at inner (echo:)");
    assert_eq!(to("3"), "to        POST /u/far/v1/chat/completions at far (http://127.0.0.1:9/…/v9)");
    let list = bench.run(&["log", "list"], "").out;
    let ends: Vec<bool> =
        list.lines().skip(1).map(|line| line.ends_with("  far") || line.ends_with("  inner")).collect();
    assert_eq!(ends, [true, true, false], "{list}");
    let jsonl = bench.run(&["log", "export"], "").out;
    let names: Vec<Value> = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["upstreamName"].clone())
        .collect();
    assert_eq!(names, [Value::Null, "inner".into(), "far".into()]);
    assert!(!holds(&written(&bench), &key));
    let har: Value = bench.run(&["log", "export", "--format", "har"], "").json();
    let url = &har["log"]["entries"][2]["request"]["url"];
    assert_eq!(url, "http://127.0.0.1:9/…/v9/v1/chat/completions");
    for args in [
        &["log", "export"][..],
        &["log", "export", "--format", "har"],
        &["log", "export", "--format", "replay"],
        &["log", "show", "3", "--json"],
        &["log", "list", "--json"],
        &["receipt", "export"],
    ] {
        let ran = bench.run(args, "");
        assert!(ran.code == 0 && !ran.out.contains(&key) && !ran.err.contains(&key), "{}", ran.shown());
    }
}

#[test]
fn an_export_of_nothing_leaves_the_file_that_is_there() {
    let gate = start(bench(), &[]);
    assert_eq!(gate.chat(&request()).status, 200);
    let bench = gate.stop();
    let listed = bench.run(&["log", "list"], "").out;
    let shown = listed.lines().nth(1).unwrap().split_whitespace().nth(3).unwrap();
    let made = bench.run(&["log", "export", "--format", "chat", "--session", shown], "");
    assert!(made.code == 0 && made.err == "1 request in chat.json\n", "{}", made.shown());
    let read = || std::fs::read_to_string(bench.path().join("chat.json")).unwrap();
    let before = read();
    let none = bench.run(&["log", "export", "--format", "chat", "--session", "nobody"], "");
    assert!(none.code == 2 && none.err.contains("chat.json is not written"), "{}", none.shown());
    assert_eq!(read(), before);
    // What is no text does not hold; what cannot be read is another matter.
    assert_eq!(bench.run(&["receipt", "export", "all.jsonl"], "").code, 0);
    let mut bytes = std::fs::read(bench.path().join("all.jsonl")).unwrap();
    let last = bytes.len() - 20;
    bytes[last] = 0xff;
    std::fs::write(bench.path().join("all.jsonl"), bytes).unwrap();
    let noise = bench.run(&["receipt", "verify", "all.jsonl"], "");
    assert!(noise.code == 1 && noise.err.contains("line 3 is no receipt"), "{}", noise.shown());
    let folder = bench.run(&["receipt", "verify", "data"], "");
    assert!(folder.code == 2 && folder.err.contains("cannot read data"), "{}", folder.shown());
}
