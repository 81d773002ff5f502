//! Settings: where they come from, and what is wrong with them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use crate::support::Bench;

fn shown(bench: &Bench, args: &[&str], variables: &[(&str, &str)], key: &str) -> String {
    let mut command = bench.command(&[&["config", "show"], args].concat());
    let home = bench.path().join("home");
    let output = command.env("HOME", home).envs(variables.iter().copied()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(key)).unwrap();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_value_says_where_it_is_from() {
    let bench = Bench::new();
    let own = bench.file("home/.config/leafgate/config.toml", "[limits]\nbody = \"1 MiB\"\nidle = \"7s\"\n");
    bench.file("given.toml", "[limits]\nidle = \"8s\"\n");
    let own = own.display();
    let key = "limits.idle";
    assert_eq!(shown(&bench, &[], &[], key), format!("{key} = \"7s\" # {own}:3"));
    let given = ["--config", "given.toml"];
    assert_eq!(shown(&bench, &given, &[], key), format!("{key} = \"8s\" # given.toml:2"));
    let variable = [("LEAFGATE_LIMITS_IDLE", "9s")];
    assert_eq!(
        shown(&bench, &given, &variable, key),
        format!("{key} = \"9s\" # the variable LEAFGATE_LIMITS_IDLE")
    );
    let set = ["--config", "given.toml", "--set", "limits.idle=10s"];
    assert_eq!(shown(&bench, &set, &variable, key), format!("{key} = \"10s\" # --set"));
    assert_eq!(shown(&bench, &given, &[], "limits.body"), format!("limits.body = \"1 MiB\" # {own}:2"));
    assert_eq!(
        shown(&bench, &["--config", "none"], &[], "limits.body"),
        "limits.body = \"32 MiB\" # built in"
    );
    assert_eq!(shown(&bench, &[], &[], "upstream"), "upstream = (not set) # built in");
    let proxy = [("LEAFGATE_PROXY", "http://ann:hunter2@proxy.example:3128")];
    assert!(!shown(&bench, &[], &proxy, "proxy").contains("hunter2"));
}

#[test]
fn what_is_wrong_is_told_like_a_rule() {
    let bench = Bench::new();
    bench.file(
        "config.toml",
        "lissten = \"127.0.0.1:0\"\n[limits]\nbody = \"much\"\n\n[upstreams.a]\nproxi = \"x\"\n",
    );
    insta::assert_snapshot!(bench.run(&["config", "show", "--config", "config.toml"], "").shown());
    let wrong = bench.run(&["run", "--config", "config.toml", "--upstream", "echo:"], "");
    assert_eq!((wrong.code, wrong.out.as_str()), (2, ""));
    let none = bench.run(&["run", "--config", "none"], "");
    assert!(none.code == 2 && none.err.contains("--upstream URL"), "{}", none.shown());
    let set = bench.run(&["run", "--upstream", "echo:", "--set", "limits.bodi=1"], "");
    assert!(set.code == 2 && set.err.contains("did you mean `limits.body`?"), "{}", set.shown());
}

/// A gate that serves until it is dropped, and where.
struct Serving(Child, String);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve(bench: &Bench, args: &[&str]) -> Serving {
    let mut child = bench
        .command(&[&["run"], args].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
    if url.is_empty() {
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        panic!("{said}");
    }
    Serving(child, url.trim().to_owned())
}

#[test]
fn a_gate_is_what_its_file_says() {
    let bench = Bench::new();
    bench.file("own/rules.toml", crate::support::RULES);
    let text = "listen = \"127.0.0.1:0\"\nupstream = \"a\"\npolicy = \"none\"\n[upstreams.a]\nurl = \"echo:\"\n[upstreams.b]\nurl = \"echo:\"\npolicy = \"own\"\n";
    bench.file("config.toml", text);
    let gate = serve(&bench, &["--config", "config.toml"]);
    let ran = bench.run(&["status", "--json"], "");
    let status: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        (&status["listen"], &status["upstream"], &status["policy"]["source"]),
        (&gate.1.as_str().into(), &"echo:".into(), &"none".into())
    );
    assert_eq!(status["upstreams"][1]["prefix"], "/u/b");
    assert!(status["upstreams"][1]["policy"]["source"].as_str().unwrap().ends_with("own"));
    // A change of an upstream's own folder is loaded like any other.
    drop(gate);
    let off = serve(&bench, &["--config", "config.toml", "--set", "enabled=false"]);
    let said = bench.run(&["pending", "list"], "");
    assert!(said.code == 2 && said.err.contains("switched off"), "{}", said.shown());
    assert!(bench.run(&["status"], "").out.contains("switched off"));
    drop(off);
}

#[test]
fn the_schema_knows_what_the_file_knows() {
    let bench = Bench::new();
    let schema: serde_json::Value = serde_json::from_str(&bench.run(&["schema", "config"], "").out).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(
        schema["properties"]["limits"]["properties"]["body"]["description"],
        "Bytes of a request body, as it comes and decoded"
    );
    assert!(schema["properties"]["upstreams"]["additionalProperties"]["properties"]["policy"].is_object());
}

#[test]
fn a_flag_sets_what_is_shown_of_a_request() {
    let bench = Bench::new();
    let key = "metadata-fields";
    assert_eq!(shown(&bench, &[], &[], key), format!("{key} = [\"sessionId\", \"requestId\"] # built in"));
    let set = ["--set", "metadata-fields=model,dirty"];
    assert_eq!(shown(&bench, &set, &[], key), format!("{key} = [\"model\", \"dirty\"] # --set"));
    bench.file("none.toml", "metadata-fields = []\n");
    assert_eq!(shown(&bench, &["--config", "none.toml"], &[], key), format!("{key} = [] # none.toml:1"));
    let wrong =
        bench.run(&["run", "--config", "none", "--upstream", "echo:", "--set", "metadata-fields=modell"], "");
    assert!(wrong.code == 2 && wrong.err.contains("did you mean `model`?"), "{}", wrong.shown());
}

#[test]
fn a_project_sets_nothing() {
    let bench = Bench::new();
    for file in [
        "config.toml",
        "leafgate.toml",
        "leafgate/config.toml",
        ".leafgate/config.toml",
        ".config/leafgate/config.toml",
    ] {
        bench.file(file, "[limits]\nbody = \"1 MiB\"\n");
    }
    assert_eq!(shown(&bench, &[], &[], "limits.body"), "limits.body = \"32 MiB\" # built in");
}
