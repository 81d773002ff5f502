//! A gate that runs while its policy changes and a person decides: hot reload, `status`, `pending`,
//! `review --plain`.

use leafgate_tests::plugins;
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Bench, EMAIL, RULES, holding, request, secret};

#[test]
fn a_rule_changed_on_disk_is_live_on_the_next_request() {
    let gate = Running::of(RULES);
    let mut events = gate.events();
    let first = gate.chat(&request());
    assert!(first.body.contains("Be brief. Be polite."), "{}", first.body);

    gate.bench.file("policy/rules.toml", &RULES.replace("Be polite", "Be kind"));
    let loaded = events.next("policy").unwrap();
    assert_eq!((&loaded["policy"]["loads"], &loaded["policy"]["refused"]), (&json!(2), &Value::Null));
    let second = gate.chat(&request());
    assert!(second.body.contains("Be brief. Be kind."), "{}", second.body);
    assert_eq!(loaded["policy"]["generation"], second.generation());
    assert_ne!(first.generation(), second.generation());

    gate.bench.file("policy/rules.toml", "[[rule]]\nid = \"a\"\nacton = \"pause\"\n");
    let refused = events.next("policy").unwrap();
    assert_eq!(refused["policy"]["failedLoads"], 1);
    let status = gate.run(&["status"]);
    assert_eq!(status.code, 0);
    assert!(status.out.contains("policy/rules.toml:3:1") && status.out.contains("acton"), "{}", status.out);
    let status = gate.json(&["status", "--json"]);
    assert_eq!(status["policy"], refused["policy"]);
    assert_eq!(status["requests"]["forwarded"], 2);
    assert_eq!(gate.chat(&request()).generation(), second.generation(), "the last good policy serves");

    gate.bench.file("policy/rules.toml", RULES);
    assert_eq!(events.next("policy").unwrap()["policy"]["refused"], Value::Null);
    assert_eq!(gate.chat(&request()).generation(), first.generation());
}

#[test]
fn a_plugin_dropped_in_is_live_on_the_next_request() {
    let gate = Running::of(RULES);
    let mut events = gate.events();
    let before = gate.chat(&request());
    assert_eq!(before.status, 200);
    std::fs::create_dir(gate.bench.path().join("policy/plugins")).unwrap();
    plugins::hostile("traps", &gate.bench.path().join("policy/plugins/traps.wasm")).unwrap();
    gate.bench.file(
        "policy/traps.toml",
        "[plugins.traps]\nfile = \"plugins/traps.wasm\"\n\n\
         [[rule]]\nid = \"trapping\"\nmatch = {}\ndetect = [\"plugin:traps\"]\naction = \"redact\"\nwith = \"mask\"\n",
    );
    // The component alone changes nothing; the rule that names it does.
    let mut policy = events.next("policy").unwrap();
    while policy["policy"]["refused"].is_null() && policy["policy"]["generation"] == before.generation() {
        policy = events.next("policy").unwrap();
    }
    assert_eq!(policy["policy"]["refused"], Value::Null);
    let after = gate.chat(&request());
    assert_eq!(after.status, 400, "a guard that fails blocks: {}", after.body);
    assert_eq!(after.generation(), policy["policy"]["generation"]);
}

// S0-55, S0-112
#[test]
fn a_paused_request_is_edited_undone_and_resumed() {
    let gate = Running::of(&holding("pause"));
    assert_eq!(gate.json(&["pending", "list", "--json"]), json!({ "turns": [] }));
    let (client, turn) = gate.chat_that_waits(&request());
    let turn = turn["id"].as_str().unwrap();

    let list = gate.run(&["pending", "list"]);
    assert!(list.out.contains("no-projects: Ask first"), "{}", list.out);
    let shown = gate.run(&["pending", "show", turn]).out;
    assert!(shown.contains("/messages/1/content") && shown.contains("key user-1"), "{shown}");
    assert!(!shown.contains(EMAIL) && !shown.contains(&secret()), "{shown}");
    let seen = gate.json(&["pending", "show", turn, "--json"]);

    let words = format!("Write to bob@mail.example.org about \u{1b}[2J {}", secret());
    let edited = gate.json(&["pending", "edit", turn, "--json", "--set", "/messages/1/content", &words]);
    assert_ne!(edited["digest"], seen["digest"]);
    let diff = gate.run(&["pending", "diff", turn]).out;
    assert!(diff.contains("person"), "{diff}");
    assert!(!diff.contains("bob@") && !diff.contains(&secret()), "redacted before it is shown: {diff}");
    assert!(!diff.contains('\u{1b}') && diff.contains("\\u{1b}[2J"), "{diff}");

    let undone = gate.json(&["pending", "edit", turn, "--undo", "--json"]);
    assert_eq!(undone["digest"], seen["digest"]);
    let again = gate.run(&["pending", "edit", turn, "--undo"]);
    assert_eq!(again.code, 0, "a rule's edit can be undone too: {}", again.err);
    gate.json(&["pending", "edit", turn, "--redo", "--json"]);

    gate.bench.file("text.txt", "Please call me.\n");
    let edited =
        gate.json(&["pending", "edit", turn, "--json", "--set-file", "/messages/1/content", "text.txt"]);
    let stale =
        gate.json_of(&["pending", "resume", turn, "--json", "--digest", seen["digest"].as_str().unwrap()], 2);
    assert_eq!(stale["error"]["code"], "stale");
    let resumed = gate.run(&["pending", "resume", turn, "--digest", edited["digest"].as_str().unwrap()]);
    assert_eq!((resumed.code, resumed.err.as_str()), (0, ""));
    let answer = client.join().unwrap();
    assert_eq!(answer.status, 200);
    assert!(answer.body.contains("Please call me.") && !answer.body.contains(EMAIL), "{}", answer.body);
    let over = gate.run(&["pending", "resume", turn]);
    assert_eq!(over.code, 2);
    assert!(over.err.contains("is over"), "{}", over.err);
}

// S0-41
#[test]
fn a_cancelled_request_is_answered_and_a_deleted_section_comes_back() {
    let gate = Running::of(&holding("pause"));
    let (client, turn) = gate.chat_that_waits(&request());
    let turn = turn["id"].as_str().unwrap();
    let seen = gate.json(&["pending", "show", turn, "--json"]);
    let deleted = gate.json(&["pending", "edit", turn, "--json", "--delete", "user-1"]);
    assert_ne!(deleted["digest"], seen["digest"]);
    let restored = gate.json(&["pending", "edit", turn, "--json", "--restore", "user-1"]);
    assert_eq!(restored["digest"], seen["digest"]);
    assert_eq!(gate.run(&["pending", "edit", turn, "--delete", "nothing-9"]).code, 2);
    assert_eq!(gate.run(&["pending", "edit", turn]).code, 2, "an edit must be named");
    assert_eq!(gate.run(&["pending", "show", "99"]).code, 2);
    assert_eq!(gate.run(&["pending", "show", "../status"]).code, 2);
    assert_eq!(gate.run(&["pending", "cancel", turn]).code, 0);
    assert_eq!(client.join().unwrap().status, 400);
}

#[test]
fn a_turn_is_reviewed_line_by_line() {
    let gate = Running::of(&holding("pause"));
    let (client, turn) = gate.chat_that_waits(&request());
    let turn = turn["id"].as_str().unwrap();
    let unknown = gate.run(&["review", "--plain", "99"]);
    assert_eq!((unknown.code, unknown.out.as_str()), (2, ""), "{}", unknown.err);
    assert!(gate.run(&["review"]).err.contains("--plain"), "no screen without a terminal");
    let ran = gate.run_with(&["review", "--plain", turn], "resume\n");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("no-projects") && !ran.out.contains(&secret()), "{}", ran.out);
    assert_eq!(client.join().unwrap().status, 200);
}

#[test]
fn a_gate_is_found_while_it_runs() {
    let bench = Bench::new();
    let ran = bench.run(&["status"], "");
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("no gate runs"), "{}", ran.err);
    let first = Running::start(bench, &[]);
    let port = first.port();
    let second = first.another(&[]);
    let several = first.run(&["pending", "list"]);
    assert_eq!(several.code, 2);
    assert!(several.err.contains("--gate") && several.err.contains(&first.url), "{}", several.err);
    let both = first.run(&["status"]);
    assert_eq!((both.code, both.out.matches("before echo:").count()), (0, 2), "{}", both.shown());
    let both = first.json(&["status", "--json"]);
    assert!(both.as_array().unwrap().iter().any(|status| status["listen"] == first.url), "{both}");
    let status = first.json(&["status", "--json", "--gate", &port]);
    assert_eq!((&status["listen"], &status["policy"]["source"]), (&json!(first.url), &json!("default")));
    second.kill();
    assert_eq!(first.json(&["status", "--json"])["listen"], first.url, "a killed gate is not in the way");
    let bench = first.stop();
    assert!(bench.run(&["status"], "").err.contains("no gate runs"));
    assert!(!bench.path().join(format!("data/run/gate-{port}.json")).exists());
}

#[test]
fn without_an_admin_api_there_is_nothing_to_find() {
    let gate = Running::start(Bench::new(), &["--no-admin"]);
    assert_eq!(gate.run(&["status"]).code, 2);
    assert_eq!(gate.chat(&request()).status, 200);
    let refused = gate.run(&["run", "--upstream", "echo:", "--admin-listen", "0.0.0.0:0"]);
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("127.0.0.1"), "{}", refused.err);
}

// S0-52, S0-64, S0-112
#[test]
fn a_mode_that_was_acknowledged_outlives_a_kill() {
    let bench = Bench::new();
    let gate = Running::start(bench, &["--policy", "none"]);
    let shown = gate.run(&["mode"]);
    assert!(shown.out.starts_with("Send normally (off)\nTurns are sent."), "{}", shown.out);
    for mode in ["interceptAlways", "autoOverride", "interceptAlways"] {
        assert_eq!(gate.json(&["mode", mode, "--json"])["lasting"], mode);
    }
    let once = gate.json(&["mode", "interceptOnce", "--json"]);
    assert_eq!((&once["label"], &once["lasting"]), (&json!("Pause next turn"), &json!("interceptAlways")));
    let gate = Running::start(gate.kill(), &["--policy", "none"]);
    let mode = gate.json(&["mode", "--json"]);
    assert_eq!(mode["mode"], "interceptAlways", "a single pause is for its own run");
    assert_eq!(gate.json(&["status", "--json"])["mode"], mode);
    let status = gate.run(&["status"]).out;
    assert!(
        status.contains("mode      Pause & review every turn: Every turn of any conversation pauses"),
        "{status}"
    );
    assert_eq!(gate.run(&["mode", "sometimes"]).code, 2);
}

// S0-28, S0-88, S0-111, S0-131
#[test]
fn a_mode_pauses_a_turn_that_no_rule_holds_and_its_conversation_is_listed() {
    let gate = Running::of(RULES);
    let empty = gate.run(&["pending", "list"]);
    assert!(empty.err.contains("Prompt interception is off"), "{}", empty.err);
    gate.json(&["mode", "interceptOnce", "--json"]);
    let (client, turn) = gate.chat_that_waits(&request());
    assert_eq!((&turn["mode"], &turn["class"]), (&json!("interceptOnce"), &json!("main")));
    let id = turn["id"].as_str().unwrap();
    let status = gate.run(&["status"]).out;
    assert!(status.contains(" (request paused): "), "{status}");
    assert!(gate.run(&["pending", "list"]).out.contains("Pause next turn"));
    let shown = gate.run(&["pending", "show", id]).out;
    assert!(shown.contains("Paused by mode: Pause next turn") && !shown.contains(EMAIL), "{shown}");
    // At the call and at its result.
    let called = r#"read_file called with {"limit":20,"path":"/srv/.env"}"#;
    assert_eq!(shown.matches(called).count(), 2, "{shown}");
    let label = turn["label"].as_str().unwrap();
    let listed = gate.run(&["sessions", "list"]).out;
    assert!(
        listed.starts_with(&format!("* {label}  “Write to EMAIL_")) && !listed.contains(EMAIL),
        "{listed}"
    );
    assert!(listed.contains("  1 turn, the last ") && listed.contains(", 1 waiting"), "{listed}");
    let end = label.rsplit('…').next().unwrap();
    let selected = gate.json(&["sessions", "select", end, "--json"]);
    assert_eq!((&selected["follow"], &selected["sessions"][0]["active"]), (&json!(false), &json!(true)));
    assert_eq!(gate.json(&["sessions", "follow", "on", "--json"])["follow"], true);
    assert_eq!(gate.json_of(&["sessions", "select", "nothing", "--json"], 2)["error"]["code"], "not-found");
    gate.json(&["sessions", "close", end, "--json"]);
    let answer = client.join().unwrap();
    assert!(answer.status == 400 && answer.body.contains("Chat context changed"), "{}", answer.body);
    assert_eq!(gate.json(&["sessions", "list", "--json"])["sessions"], json!([]));
}

/// A status is pasted into tickets: a key in the path of an upstream is in none of its forms.
#[test]
fn a_status_has_no_key_of_an_upstream() {
    let key = ["k3y0", &"4f9a1c7e".repeat(4)].concat();
    let bench = Bench::new();
    bench.file("config.toml", &format!("[upstreams.far]\nurl = \"http://127.0.0.1:9/{key}\"\n"));
    let gate = Running::start(bench, &["--policy", "none", "--config", "config.toml"]);
    for call in [&["status"][..], &["status", "--json"]] {
        let ran = gate.run(call);
        assert!(ran.out.contains("http://127.0.0.1:9/") && !ran.out.contains(&key), "{}", ran.shown());
    }
}
