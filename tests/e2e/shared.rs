//! The one gate that all programs of a person share, as `exec` starts it, joins it and leaves it.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use leafgate_tests::gate;
use leafgate_tests::http::Client;
use leafgate_tests::standing::Standing;
use leafgate_tests::upstream::Upstream;

use crate::exec::{Started, leafgate, says, script, secret, sends};
use crate::setup::holds;

/// The gate ends as soon as nobody needs it.
const AT_ONCE: &str = "[standing]\ngrace = \"1ms\"\n";

/// A person whose providers are this upstream, with further settings.
fn person(upstream: &Upstream, settings: &str) -> Standing {
    let url = upstream.url();
    let named = ["anthropic", "openai"].map(|name| format!("[upstreams.{name}]\nurl = {url:?}\n")).concat();
    Standing::of(&format!("{settings}{named}")).unwrap()
}

fn call(person: &Standing, arguments: &[&str]) -> Command {
    let mut command = leafgate(person.data(), arguments);
    command.env("XDG_CONFIG_HOME", person.data());
    command
}

fn start(person: &Standing, arguments: &[&str]) -> Started {
    Started::of(call(person, &[&["exec"], arguments].concat()))
}

/// Asks what a program asks by its base URL, with a secret in it.
fn ask(program: &Started) -> u16 {
    asks(program, &secret())
}

fn asks(program: &Started, text: &str) -> u16 {
    let path = program.openai.split_once(&program.address().to_string()).unwrap().1;
    let mut client = Client::connect(program.address()).unwrap();
    client.post(&format!("{path}/chat/completions"), &[], says(text).as_bytes()).unwrap().status()
}

fn runtime_files(person: &Standing) -> Vec<PathBuf> {
    fs::read_dir(person.data().join("run")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Returns once the one gate that runs has ended; called before its last program ends.
fn end_of_gate(person: &Standing) -> impl FnOnce() {
    let files = runtime_files(person);
    assert_eq!(files.len(), 1, "one gate: {files:?}");
    let file = File::open(&files[0]).unwrap();
    move || file.lock_shared().unwrap()
}

fn gate_process(person: &Standing) -> String {
    let text = fs::read_to_string(&runtime_files(person)[0]).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["pid"].to_string()
}

fn kill(process: &str) {
    assert!(Command::new("kill").args(["-KILL", process]).status().unwrap().success());
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn programs_share_one_gate_that_outlives_the_first_and_ends_after_the_last() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, AT_ONCE);
    let (first, second) = (start(&person, &[]), start(&person, &[]));
    let address = first.address();
    assert_eq!(second.address(), address);
    assert_eq!((ask(&first), ask(&second)), (200, 200));
    let left = upstream.take();
    assert!(left.len() == 2 && left.iter().all(|request| !holds(&request.body, &secret())));
    assert_eq!(first.end(7), Some(7));
    assert_eq!(ask(&second), 200, "the second needs it yet");
    let ended = end_of_gate(&person);
    assert_eq!(second.end(0), Some(0));
    ended();
    assert!(Client::connect(address).is_err());
    let later = start(&person, &[]);
    assert_eq!(later.address(), address, "it is at its place again");
    assert_eq!(later.end(0), Some(0));
}

#[test]
fn a_gate_of_its_own_is_no_other_programs() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "");
    let shared = start(&person, &[]);
    for option in [&["--own"][..], &["--policy", "default"], &["--set", "log=warn"], &["--config", "none"]] {
        let own = start(&person, option);
        let address = own.address();
        assert_ne!(address, shared.address(), "{option:?}");
        assert_eq!(own.end(0), Some(0));
        assert!(Client::connect(address).is_err(), "it has ended with its program");
    }
    assert_eq!(ask(&shared), 200);
    assert_eq!(shared.end(0), Some(0));
}

#[test]
fn what_a_folder_or_the_environment_adds_is_not_passed_over() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "[known]\nfiles = [\".env*\"]\n");
    let project = tempfile::tempdir().unwrap();
    let exec = |variable: (&str, &str)| {
        let mut command = call(&person, &["exec", "true"]);
        said(&command.current_dir(project.path()).env(variable.0, variable.1).output().unwrap())
    };
    assert!(!exec(("LEAFGATE_LOG", "info")).contains("of its own"));
    assert!(exec(("LEAFGATE_POLICY", "none")).contains("LEAFGATE_POLICY"));
    assert!(
        exec(("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")).contains("does not lead to http://127.0.0.1:9")
    );
    fs::write(project.path().join(".env"), "A_SECRET=kfhfgtKAQWYm85EZ\n").unwrap();
    assert!(exec(("LEAFGATE_LOG", "info")).contains("`known.files` names files of this folder"));
}

#[test]
fn a_program_that_is_killed_lets_the_gate_go() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, AT_ONCE);
    let program = start(&person, &[]);
    let ended = end_of_gate(&person);
    kill(&program.process.id().to_string());
    ended();
}

#[test]
fn a_person_sees_what_waits_of_all_programs_at_once() {
    let upstream = Upstream::start().unwrap();
    let rules = "[[rule]]\nid = \"ask\"\nmatch = {}\naction = \"pause\"\nreason = \"Ask\"\n";
    let folder = crate::setup::policy(rules);
    let person = person(&upstream, &format!("policy = {:?}\n", folder.path()));
    let (first, second) = (start(&person, &[]), start(&person, &[]));
    let admin = person.admin().unwrap();
    let mut events = admin.events().unwrap();
    std::thread::scope(|scope| {
        let asking = [(&first, "Good morning"), (&second, "Good evening")];
        let asking = asking.map(|(program, text)| scope.spawn(move || asks(program, text)));
        let turns = [events.paused().unwrap(), events.paused().unwrap()];
        let listed = person.run(&["pending", "list", "--json"]).unwrap();
        let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
        assert_eq!(listed["turns"].as_array().unwrap().len(), 2, "{listed}");
        for turn in turns {
            admin.cancel(&turn).unwrap();
        }
        assert_eq!(asking.map(|program| program.join().unwrap()), [400, 400]);
    });
}

#[test]
fn other_settings_are_refused_while_programs_are_behind_it_and_begin_after_them() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "");
    let first = start(&person, &[]);
    let file = person.data().join("leafgate/config.toml");
    let settings = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("log = \"warn\"\n{settings}")).unwrap();
    let refused = call(&person, &["exec", "true"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("for the settings as they are now") && said(&refused).contains("--own"));
    assert_eq!(first.end(0), Some(0));
    let anew = call(&person, &["exec", "true"]).output().unwrap();
    assert!(anew.status.success() && said(&anew).contains("is started anew"), "{}", said(&anew));
}

#[test]
fn a_gate_of_another_build_is_told_of_and_replaced_once_nobody_is_behind_it() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "");
    let first = start(&person, &[]);
    let newer = person.data().join("newer");
    fs::copy(gate::binary().unwrap(), &newer).unwrap();
    let exec = || {
        let mut command = Command::new(&newer);
        let call = call(&person, &["exec", "true"]);
        command.args(call.get_args()).env_clear();
        command.envs(call.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.output().unwrap()
    };
    let told = exec();
    assert!(told.status.success() && said(&told).contains("another build"), "{}", said(&told));
    let ended = end_of_gate(&person);
    assert_eq!(first.end(0), Some(0));
    assert!(said(&exec()).contains("is started anew"));
    ended();
}

#[test]
fn a_gate_is_not_ended_under_a_program_unless_somebody_insists() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "");
    let program = start(&person, &[]);
    let error = format!("{:#}", person.run(&["stop"]).unwrap_err());
    assert!(error.contains("--force"), "{error}");
    assert_eq!(ask(&program), 200);
    person.run(&["stop", "--force"]).unwrap();
    assert!(Client::connect(program.address()).is_err());
}

#[test]
fn what_is_wanted_to_stand_outlives_its_programs() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, AT_ONCE);
    let program = start(&person, &[]);
    person.run(&["start"]).unwrap();
    let process = gate_process(&person);
    assert_eq!(program.end(0), Some(0));
    // Each waits for the lock that a gate takes to end itself.
    for _ in 0..3 {
        person.run(&["start"]).unwrap();
    }
    assert_eq!(gate_process(&person), process, "it is the same");
}

/// The gate counts what all programs ask: what one asks past it shows in its own connections.
#[test]
fn a_program_past_the_gate_is_told_of_while_another_one_asks_through_it() {
    let upstream = Upstream::start().unwrap();
    let person = person(&upstream, "");
    let model = upstream.url().strip_prefix("http://").unwrap().parse().unwrap();
    let through = start(&person, &[]);
    let program = script(person.data(), "agent", &sends(10, model));
    let mut past = call(&person, &["exec", "--", &program]);
    let mut past = past.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut errors = std::io::BufReader::new(past.stderr.take().unwrap());
    assert_eq!(ask(&through), 200);
    let said = crate::exec::said_until(&mut errors, "nothing has come by");
    assert!(said.contains("WARNING") && said.contains(&program), "{said}");
    assert_eq!(ask(&through), 200);
    drop(past.stdin.take());
    let said = crate::exec::said_until(&mut errors, "nothing came by the gate");
    assert!(said.contains("nothing came by the gate"), "{said}");
    past.wait().unwrap();
}
