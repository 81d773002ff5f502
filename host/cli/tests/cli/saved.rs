//! Saved edits of a running gate and on disk: they outlive a kill, several gates share them, and a
//! project's own count only once they are trusted.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Bench, EMAIL, RULES, request};

/// A gate that applies saved edits, and saves them for the workspace.
fn capturing() -> Running {
    let gate = Running::of(RULES);
    gate.json(&["mode", "autoOverride", "--json"]);
    gate.json(&["saved", "set", "--scope", "workspace", "--json"]);
    gate
}

/// Captures another text of the question, and gives what was saved.
fn capture(gate: &Running, text: &str) -> Value {
    let (client, turn) = gate.chat_that_waits(&request());
    let id = turn["id"].as_str().unwrap();
    gate.json(&["pending", "edit", id, "--set", "/messages/1/content", text, "--json"]);
    let resumed = gate.json(&["pending", "resume", id, "--json"]);
    assert_eq!(client.join().unwrap().status, 200);
    resumed["captured"].clone()
}

/// What the question says when it leaves.
fn asked(gate: &Running) -> String {
    let answer = gate.chat(&request());
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body
}

fn workspace_file(bench: &Bench) -> PathBuf {
    let files = fs::read_dir(bench.path().join("data/saved")).unwrap();
    let mut found = files.map(|file| file.unwrap().path());
    found.find(|path| path.file_name().unwrap().to_str().unwrap().starts_with("workspace-")).unwrap()
}

// S0-72, S0-73, S0-76, S0-77
#[test]
fn saved_edits_that_were_acknowledged_outlive_a_kill() {
    let gate = capturing();
    let captured = capture(&gate, &format!("Ask {EMAIL} to be kind"));
    assert_eq!((&captured["scope"], captured["edits"].as_array().unwrap().len()), (&json!("workspace"), 1));
    let id = captured["edits"][0]["id"].as_str().unwrap().to_owned();
    let bench = gate.kill();
    let path = workspace_file(&bench);
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(text.contains("to be kind") && !text.contains(EMAIL) && !text.contains("please"), "{text}");
    // What a killed process was writing changes nothing.
    fs::write(path.with_extension("toml.1"), "version = 1\n[[edit]]\nid = \"half").unwrap();

    let offline = bench.run(&["saved", "list"], "");
    assert!(
        offline.out.contains(&format!("{id}  workspace  set   messages[1].content")),
        "{}",
        offline.shown()
    );
    let gate = Running::start(bench, &["--policy", "policy"]);
    assert!(asked(&gate).contains("to be kind"));
    let list = gate.json(&["saved", "list", "--json"]);
    assert_eq!((&list["auto"], &list["edits"][0]["last"]["outcome"]), (&json!("applying"), &json!("made")));
    let diff = gate.run(&["saved", "diff", &id]).out;
    assert!(
        diff.contains("Edited · Workspace · saved 2") && diff.contains("‹EMAIL›") && !diff.contains(EMAIL),
        "{diff}"
    );
    let shown = gate.run(&["saved", "show", &id]).out;
    assert!(shown.contains("on drift  the turn is sent without it") && !shown.contains(EMAIL), "{shown}");
    for limit in ["2", "5", "9"] {
        let set = gate.json(&["saved", "set", "--preview-limit", limit, "--on-drift", "pause", "--json"]);
        assert_eq!(set["status"]["previewLimit"].to_string(), limit);
    }
    gate.json(&["saved", "remove", &id, "--json"]);
    let gate = Running::start(gate.kill(), &["--policy", "policy"]);
    let list = gate.json(&["saved", "list", "--json"]);
    assert_eq!((&list["edits"], &list["auto"]), (&json!([]), &json!("capturing")));
    let status = &list["status"];
    assert_eq!(
        (&status["previewLimit"], &status["onDrift"], &status["scope"]),
        (&json!(9), &json!("pause"), &json!("workspace"))
    );
    assert_eq!(gate.json_of(&["saved", "show", &id, "--json"], 2)["error"]["code"], "not-found");
}

// S0-70, S0-73
#[test]
fn gates_share_what_is_saved_while_requests_flow_and_another_workspace_has_its_own() {
    let gate = capturing();
    let bench_path = gate.bench.path().to_owned();
    fs::create_dir(bench_path.join("elsewhere")).unwrap();
    let captured = capture(&gate, "Be kind");
    let id = captured["edits"][0]["id"].as_str().unwrap();
    let _second = gate.another(&["--policy", "policy"]);
    let gates: Vec<String> = fs::read_dir(bench_path.join("data/run"))
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| Some(name.strip_prefix("gate-")?.strip_suffix(".json")?.to_owned()))
        .collect();
    assert_eq!(gates.len(), 2);
    let all_say = |text: &str| {
        for port in &gates {
            let list = gate.json(&["saved", "list", "--gate", port, "--json"]);
            assert_eq!((&list["edits"][0]["id"], &list["edits"][0]["text"]), (&json!(id), &json!(text)));
        }
    };
    all_say("Be kind");
    assert!(asked(&gate).contains("Be kind"));
    // On disk, for the folder of another workspace, there is nothing.
    let none = gate.json(&["saved", "list", "--workspace", "elsewhere", "--json"]);
    assert_eq!(none["edits"], json!([]));
    // Changed on disk, by hand or by a command, it is changed for the next request.
    let file = workspace_file(&gate.bench);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("Be kind", "Be wise")).unwrap();
    assert!(asked(&gate).contains("Be wise"));
    all_say("Be wise");
    fs::write(&file, "version = 1\n[[edit]]\nid = \"quoted\"\n").unwrap();
    assert!(asked(&gate).contains("Be wise"), "what was read before is in force");
    let port = gate.port();
    let list = gate.json(&["saved", "list", "--gate", &port, "--json"]);
    let problem = list["problems"][0].as_str().unwrap();
    assert!(
        problem.contains("line 2") && problem.contains("was read before") && !problem.contains("quoted"),
        "{problem}"
    );
    let refused = gate.bench.run(&["run", "--listen", "127.0.0.1:0", "--upstream", "echo:"], "");
    assert!(refused.code == 2 && refused.err.contains("mend the file or remove it"), "{}", refused.shown());
    fs::write(&file, &text).unwrap();
    let removed = gate.json(&["saved", "remove", id, "--workspace", ".", "--json"]);
    assert_eq!(removed["edits"], json!([]));
    assert!(!file.exists());
    assert_eq!(gate.json(&["saved", "list", "--gate", &port, "--json"])["auto"], "capturing");
}

#[test]
fn a_file_that_others_may_touch_is_refused() {
    let gate = capturing();
    capture(&gate, "Be kind");
    let bench = gate.stop();
    let file = workspace_file(&bench);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = bench.run(&["saved", "list"], "");
    assert!(refused.code == 2 && refused.err.contains("chmod 600"), "{}", refused.shown());
}

// S0-70
#[test]
fn a_projects_own_edits_count_once_they_are_trusted_and_as_they_were_then() {
    let gate = capturing();
    let id = capture(&gate, "Be kind")["edits"][0]["id"].as_str().unwrap().to_owned();
    let text = fs::read_to_string(workspace_file(&gate.bench)).unwrap();
    gate.json(&["saved", "remove", &id, "--json"]);
    let file = gate.bench.file(".leafgate/saved.toml", &text);
    let problems = |gate: &Running| {
        let list = gate.json(&["saved", "list", "--json"]);
        let told = list["problems"].as_array().cloned().unwrap_or_default();
        told.iter().map(|problem| problem.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
    };
    assert!(problems(&gate).contains("is not trusted"), "{}", problems(&gate));
    assert_eq!(gate.json(&["saved", "list", "--json"])["auto"], "capturing", "nothing counts");

    let trusted = gate.run(&["trust", "."]);
    assert!(
        trusted.code == 0 && trusted.out.contains("1 saved edit") && trusted.out.contains("Be kind"),
        "{}",
        trusted.shown()
    );
    // What is told of the next turn is what happens to it.
    let mode = gate.json(&["mode", "--json"]);
    assert_eq!(mode["auto"], "applying", "{mode}");
    assert!(mode["text"].as_str().unwrap().starts_with("Saved edits are applied"), "{mode}");
    assert!(asked(&gate).contains("Be kind"));
    let list = gate.json(&["saved", "list", "--json"]);
    assert_eq!((&list["edits"][0]["scope"], problems(&gate).as_str()), (&json!("project"), ""));
    assert_eq!(gate.json_of(&["saved", "remove", &id, "--json"], 2)["error"]["code"], "refused-edit");

    fs::write(&file, text.replace("Be kind", "Be wise")).unwrap();
    assert!(problems(&gate).contains("has changed since it was trusted"), "{}", problems(&gate));
    assert_eq!(gate.json(&["saved", "list", "--json"])["edits"], json!([]));
    let listed = gate.json(&["trust", "--list", "--json"]);
    assert_eq!((&listed[0]["counts"], listed.as_array().unwrap().len()), (&json!(false), 1));
    gate.json(&["trust", ".", "--json"]);
    assert!(asked(&gate).contains("Be wise"));
    assert_eq!(gate.run(&["trust", ".", "--remove"]).code, 0);
    assert!(problems(&gate).contains("is not trusted"));
    assert_eq!(gate.run(&["trust", ".", "--remove"]).code, 2);
    fs::write(&file, "version = 1\n[[edit]]\ntext = \"quoted\"\n").unwrap();
    let refused = gate.run(&["trust", "."]);
    assert!(
        refused.code == 2 && refused.err.contains("line 2") && !refused.err.contains("quoted"),
        "{}",
        refused.shown()
    );
}

#[test]
fn a_file_for_others_has_a_key_of_its_own_and_is_applied_offline() {
    let gate = capturing();
    let (client, turn) = gate.chat_that_waits(&request());
    let id = turn["id"].as_str().unwrap();
    gate.json(&["pending", "edit", id, "--set", "/messages/1/content", "Be kind", "--json"]);
    let mine = gate.json(&["saved", "capture", id, "--scope", "global", "--json"]);
    fs::create_dir(gate.bench.path().join(".leafgate")).unwrap();
    let export = ["saved", "capture", id, "--on-drift", "pause", "--export", ".leafgate/saved.toml"];
    let told = gate.run(&export);
    assert_eq!((told.code, told.out.as_str()), (0, "1 edit saved: in the file.\n"), "{}", told.shown());
    let again = gate.run(&export);
    assert!(again.code == 2 && again.err.contains("cannot write the new file"), "{}", again.shown());
    gate.run(&["pending", "cancel", id]);
    client.join().unwrap();
    let bench = gate.stop();
    let text = fs::read_to_string(bench.path().join(".leafgate/saved.toml")).unwrap();
    assert!(text.contains("key = \"") && text.contains("Be kind") && !text.contains(EMAIL), "{text}");
    let guard = mine["edits"][0]["replaces"].as_str().unwrap();
    assert!(!text.contains(guard), "the digests of two keys tell nothing about each other");

    // Another installation that trusts the file.
    let other = Bench::new();
    other.file("data/key", &format!("{}\n", "08".repeat(32)));
    other.file("policy/rules.toml", RULES);
    other.file(".leafgate/saved.toml", &text);
    let apply = |args: &[&str]| other.run(&[&["apply", "--policy", "policy"], args].concat(), &request());
    let untrusted = apply(&["--saved"]);
    assert!(
        !untrusted.out.contains("Be kind") && untrusted.err.contains("is not trusted"),
        "{}",
        untrusted.shown()
    );
    assert_eq!(other.run(&["trust", "."], "").code, 0);
    let applied = apply(&["--saved"]);
    assert!(applied.code == 0 && applied.out.contains("\"Be kind\""), "{}", applied.shown());
    assert!(!apply(&[]).out.contains("Be kind"), "only where it is asked for");
    let diff = apply(&["--saved", "--diff"]).out;
    assert!(diff.contains("saved edit "), "{diff}");
    let json: Value = apply(&["--saved", "--json"]).json();
    assert_eq!(
        (&json["saved"][0]["outcome"], &json["saved"][0]["scope"]),
        (&json!("made"), &json!("project"))
    );
    let drifted = other.run(&["apply", "--policy", "policy", "--saved"], &request().replace("please", "now"));
    assert_eq!((drifted.code, drifted.out.as_str()), (3, ""), "{}", drifted.shown());
    assert!(
        drifted.err.contains("held by rule `(saved edits)`")
            && drifted.err.contains("another text stands there"),
        "{}",
        drifted.err
    );
}
