//! `known`: values are named, counted and forgotten, contained wherever they are planted, and nothing
//! of them is written.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::running::Running;
use crate::support::{Bench, request};

/// Known by no form and no name.
const VALUE: &str = "bq7xm2kd9vwt4hzr8pcy";
const OTHER: &str = "zk4wq8nv2jx6tm9dbr3f";

/// Every byte below a folder.
fn all_below(folder: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all.extend(all_below(&path)),
            false => all.extend(fs::read(path).unwrap()),
        }
    }
    all
}

fn holds(all: &[u8], value: &str) -> bool {
    value.as_bytes().windows(6).any(|part| all.windows(6).any(|window| window == part))
}

#[test]
fn values_are_added_listed_and_removed_and_nothing_of_them_is_kept() {
    let bench = Bench::new();
    let added = bench.run(&["known", "add", "--name", "db"], &format!("{VALUE}\n\n{OTHER}\n"));
    assert_eq!(added.code, 0, "{}", added.err);
    let ids: Vec<&str> = added.out.lines().collect();
    assert_eq!(ids.len(), 2);
    let again = bench.run(&["known", "add"], VALUE);
    assert!(again.err.contains("0 added, 1 known before"), "{}", again.err);
    let listed = bench.run(&["known", "list", "--json"], "");
    let list: Value = listed.json();
    assert_eq!(list["added"].as_array().unwrap().len(), 2);
    assert_eq!((&list["added"][0]["id"], &list["added"][0]["name"]), (&ids[0].into(), &"db".into()));
    let text = format!("a {VALUE} b");
    let found = bench.run(&["scan", "-"], &text);
    assert!(found.out.contains("KNOWN secrets/known"), "{}", found.out);
    let kept = all_below(&bench.path().join("data"));
    for ran in [&added, &again, &listed, &found] {
        assert!(!holds(ran.shown().as_bytes(), VALUE) && !holds(&kept, VALUE) && !holds(&kept, OTHER));
    }
    let gone = bench.run(&["known", "remove", "no-such"], "");
    assert!(gone.code == 2 && gone.err.contains("`leafgate known list` shows all"), "{}", gone.err);
    assert_eq!(bench.run(&["known", "remove", ids[0]], "").code, 0);
    assert_eq!(bench.run(&["scan", "-"], &text).code, 0);
    assert_eq!(bench.run(&["scan", "-"], OTHER).code, 1);
    // Nobody can be asked here.
    for input in ["", "yes\n"] {
        let asked = bench.run(&["known", "remove", "--all"], input);
        assert!(asked.code == 2 && asked.err.contains("`--yes`"), "{}", asked.shown());
        assert_eq!(bench.run(&["scan", "-"], OTHER).code, 1, "nothing was removed");
    }
    assert_eq!(bench.run(&["known", "remove", "--all", "--yes"], "").code, 0);
    assert_eq!(bench.run(&["scan", "-"], OTHER).code, 0);
}

#[test]
fn a_value_that_cannot_be_looked_for_is_refused_with_its_line() {
    let bench = Bench::new();
    let refused = bench.run(&["known", "add"], &format!("{VALUE}\nshort\n"));
    assert_eq!(refused.code, 2);
    assert!(refused.err.contains("line 2") && refused.err.contains("shorter than 8"), "{}", refused.err);
    assert!(!refused.err.contains("short\n") && !refused.err.contains(VALUE));
    assert_eq!(bench.run(&["scan", "-"], VALUE).code, 0, "nothing was added");
    assert_eq!(bench.run(&["known", "add"], "\n").code, 2);
}

#[test]
fn files_and_a_command_are_read_by_every_command() {
    let bench = Bench::new();
    bench.file(".env", &format!("NODE_ENV=production\nDB_PASSWORD={VALUE}\nPIN_TOKEN=abc\n"));
    let with = |args: &[&str], input: &str| {
        let mut command = bench.command(args);
        command
            .env("LEAFGATE_KNOWN_FILES", ".env*,gone")
            .env("LEAFGATE_KNOWN_COMMAND", format!("echo {OTHER}"));
        bench.run_command(command, input)
    };
    let listed = with(&["known", "list"], "");
    let lines: Vec<&str> = listed.out.lines().map(str::trim_start).collect();
    assert!(lines.iter().any(|line| line.starts_with("1  ") && line.ends_with(".env")), "{}", listed.out);
    assert!(lines.contains(&"-  gone: matches no file"), "{}", listed.out);
    assert!(lines.contains(&"1  known.command"), "{}", listed.out);
    for value in [VALUE, OTHER] {
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"is {value} it"}}]}}"#);
        let applied = with(&["apply", "--format", "openai-chat"], &body);
        assert!(applied.out.contains("KNOWN_") && !applied.out.contains(value), "{}", applied.shown());
        let shown = with(&["tree", "--format", "openai-chat", "-"], &body);
        assert!(!holds(shown.shown().as_bytes(), value), "{}", shown.shown());
    }
    let mut broken = bench.command(&["apply"]);
    broken.env("LEAFGATE_KNOWN_COMMAND", "exit 3");
    let broken = bench.run_command(broken, &request());
    assert_eq!((broken.code, broken.out.as_str()), (2, ""));
    assert!(broken.err.contains("known.command") && broken.err.contains("exit status: 3"), "{}", broken.err);
}

#[test]
fn files_that_git_ignores_are_offered_and_not_taken() {
    let bench = Bench::new();
    bench.file(".env.local", &format!("API_TOKEN={VALUE}\n"));
    bench.file("notes.env", "MODE=fast\n");
    bench.file(".gitignore", "*.local\nnotes.env\ndata\n");
    // Worse than one that git ignores.
    bench.file("app/.env", &format!("DB_PASSWORD={OTHER}\n"));
    bench.file("app/settings.toml", &format!("password = \"{OTHER}\"\n"));
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(bench.path()).status();
    assert!(git.unwrap().success());
    let mut suggest = bench.command(&["known", "suggest"]);
    suggest.env("PATH", std::env::var_os("PATH").unwrap());
    let suggested = bench.run_command(suggest, "");
    assert_eq!(
        suggested.out, "values  file\n     1  app/.env  (git does not ignore it)\n     1  .env.local\n",
        "{}",
        suggested.err
    );
    assert!(
        suggested.err.contains("files = [\"app/.env\", \".env.local\"]")
            && !suggested.shown().contains(VALUE)
    );
    assert_eq!(bench.run(&["scan", "-"], VALUE).code, 0, "offered, not taken");
}

#[test]
fn a_running_gate_learns_of_values_as_they_are_named() {
    let gate = Running::start(Bench::new(), &[]);
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"is {VALUE} it"}}]}}"#);
    let first = gate.chat(&body);
    assert!(!first.body.contains("KNOWN_"));
    let added = gate.run_with(&["known", "add"], VALUE);
    assert_eq!(added.code, 0, "{}", added.err);
    // The generation is another one as soon as the values serve.
    let began = std::time::Instant::now();
    let second = loop {
        let answer = gate.chat(&body);
        if answer.generation() != first.generation() {
            break answer;
        }
        assert!(began.elapsed().as_secs() < 60, "the gate did not learn of the value");
    };
    assert!(second.body.contains("KNOWN_"), "what was sent stands in the answer: {}", second.body);
}
