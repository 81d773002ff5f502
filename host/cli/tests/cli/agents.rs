//! `agents`: files of teams, and a task for the team of a running gate.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Bench, EMAIL};

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/policies/team");
    fs::read_to_string(folder.join(name)).unwrap()
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.file("team.json", &example("agents.json"));
    bench
}

#[test]
fn a_team_is_checked_and_shown() {
    let bench = bench();
    let checked = bench.run(&["agents", "check", "team.json"], "");
    assert_eq!(
        (checked.code, checked.out.as_str(), checked.err.as_str()),
        (0, "the team is sound: 3 agents, entry coordinator\n", "")
    );
    let shown = bench.run(&["agents", "show", "team.json"], "").out;
    for line in [
        "coordinator  (entry)",
        "  delegates to reviewer, researcher",
        "  tools: none of the client's",
        "  tools: list_files, read_file, search",
        "  delegates to nobody",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
    }
    let one = bench.run(&["agents", "show", "team.json", "coordinator"], "");
    assert!(one.out.contains("## Available Agents for Delegation"), "{}", one.out);
    let none = bench.run(&["agents", "show", "team.json", "nobody"], "");
    assert_eq!(none.code, 2);
    assert!(none.err.contains("agents: coordinator, reviewer, researcher"), "{}", none.err);
}

#[test]
fn what_is_wrong_with_a_team_is_told_by_line() {
    let bench = bench();
    bench.file("wrong.json", "{\n  \"entryAgent\": \"a\",\n  \"agents\": [{ \"name\": \"a b\" }]\n}\n");
    let checked = bench.run(&["agents", "check", "wrong.json"], "");
    assert_eq!((checked.code, checked.out.as_str()), (2, ""));
    assert!(
        checked.err.contains("wrong.json is no team") && checked.err.contains("line 3"),
        "{}",
        checked.err
    );
}

/// A request of such an agent, as the log has it, was a user's words to every command.
// S4-18
#[test]
fn a_prompt_that_a_team_sends_as_a_users_words_is_a_system_prompt_to_every_command() {
    let rules = "[[rule]]\nid = \"no-prompts\"\nmatch = { section = \"system\" }\naction = \"block\"\n";
    let bench = Bench::with(rules);
    let team = example("agents.json").replacen("\"maxDepth\"", "\"systemAs\": \"user\", \"maxDepth\"", 1);
    bench.file("policy/agents.json", &team);
    let prompt = bench.run(&["agents", "show", "policy/agents.json", "coordinator"], "").out;
    let at = prompt.find("You coordinate.").unwrap();
    let agent = json!({ "messages": [{ "role": "user", "content": prompt[at..].trim_end() },
        { "role": "user", "content": "Look." }] });
    bench.file("agent.json", &agent.to_string());
    bench.file(
        "user.json",
        &json!({ "messages": [{ "role": "user", "content": "You coordinate." }] }).to_string(),
    );
    let test = |verdict: &str| {
        format!("[[test]]\nname = \"frame\"\nverdict = \"{verdict}\"\nrequest = {:?}\n", agent.to_string())
    };
    bench.file("policy/tests/frame.toml", &test("block"));
    let policy = ["--policy", "policy"];
    let run = |command: &str, file: &str| bench.run(&[&[command], &policy[..], &[file]].concat(), "");
    assert_eq!((run("apply", "agent.json").code, run("apply", "user.json").code), (4, 0));
    let why = run("explain", "agent.json").out;
    assert!(why.contains("blocks the request"), "{why}");
    let tree: Value = bench.run(&[&["tree", "--json"], &policy[..], &["agent.json"]].concat(), "").json();
    assert_eq!(
        (&tree["sections"][0]["kind"], &tree["sections"][1]["kind"]),
        (&json!("system"), &json!("user"))
    );
    let tests = bench.run(&[&["test"], &policy[..]].concat(), "");
    assert_eq!(tests.code, 0, "{}{}", tests.out, tests.err);
}

// S4-01
#[test]
fn a_folder_means_its_team_and_who_looks_in_vain_is_told_for_what() {
    let bench = bench();
    bench.file("policy/agents.json", &example("agents.json"));
    bench.file("empty/rules.toml", "");
    let found = bench.run(&["agents", "check", "policy"], "");
    assert_eq!((found.code, found.err.as_str()), (0, ""), "{}", found.out);
    assert!(bench.run(&["agents", "show", "policy", "reviewer"], "").out.contains("reviewer"));
    for (named, parts) in [
        ("empty", ["empty has no team", "`agents.json`, which is not there", "name the team's file"]),
        (
            "none.json",
            ["none.json cannot be read", "name a team's file", "a policy folder with `agents.json`"],
        ),
    ] {
        let missed = bench.run(&["agents", "check", named], "");
        assert_eq!((missed.code, missed.out.as_str()), (2, ""), "{named}");
        assert!(parts.iter().all(|part| missed.err.contains(part)), "{named}: {}", missed.err);
    }
    bench.file("bare/agents.json", "{\"entryAgent\": \"a\", \"agents\": []}");
    let bare = bench.run(&["agents", "check", "bare"], "");
    assert!(bare.err.contains("the team has no agents: requests pass as they come"), "{}", bare.err);
}

// S4-25
#[test]
fn an_exported_team_is_the_same_team() {
    let bench = bench();
    let exported = bench.run(&["agents", "export", "team.json"], "");
    assert_eq!(exported.code, 0, "{}", exported.err);
    bench.file("again.json", &exported.out);
    assert_eq!(bench.run(&["agents", "export", "again.json"], "").out, exported.out);
    assert_eq!(exported.json::<Value>()["leafgate"]["maxDepth"], json!(2));
}

/// The built-in endpoint says the request that it got, so the answer is what the entry was asked.
#[test]
fn a_task_goes_to_the_team_of_a_running_gate() {
    let bench = Bench::with(&example("rules.toml"));
    bench.file("policy/agents.json", &example("agents.json"));
    let gate = Running::start(bench, &["--policy", "policy"]);
    let task = format!("Write to {EMAIL}.");
    let ran = gate.run(&["agents", "run", &task, "--model", "m"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let asked: Value = ran.json();
    let messages = asked["messages"].as_array().unwrap();
    assert!(messages[0]["content"].as_str().unwrap().starts_with("You coordinate."), "{asked}");
    // What left as a token comes back in the answer.
    assert_eq!(messages.last().unwrap()["content"], *task, "{asked}");
    let unknown = gate.run(&["agents", "run", "Go.", "--model", "m", "--agent", "nobody"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("its agents are: coordinator"), "{}", unknown.err);
    let status = gate.run(&["status"]);
    assert!(status.out.contains("3 behind /agents/v1, beginning at coordinator"), "{}", status.out);
    gate.bench.file("policy/agents.json", "{");
    let status = gate.run(&["status"]);
    assert!(status.out.contains("the last good team serves"), "{}", status.out);
    let unnamed = gate.run(&["agents", "run", "Go."]);
    assert!(unnamed.err.contains("names no model"), "{}", unnamed.err);
}

/// A file that somebody named is meant: without it `/agents/v1` serves nobody, which the start says.
#[test]
fn a_start_says_that_the_file_of_its_team_is_not_there() {
    let gate = Running::start(Bench::new(), &["--policy", "none"]);
    // The port is taken, so that this one ends.
    let listen = format!("127.0.0.1:{}", gate.port());
    let second = ["run", "--policy", "none", "--upstream", "echo:", "--listen", &listen, "--agents"];
    let ran = gate.run(&[&second[..], &["gone.json"]].concat());
    assert!(ran.code == 2 && ran.err.contains("file that `agents` names is not there"), "{}", ran.shown());
    gate.bench.file("team.json", &example("agents.json"));
    let ran = gate.run(&[&second[..], &["team.json"]].concat());
    assert!(ran.code == 2 && !ran.err.contains("not there"), "{}", ran.shown());
}
