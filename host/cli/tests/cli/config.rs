//! Settings: where they come from, and what is wrong with them.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use crate::running::Running;
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

// S0-103
#[test]
fn a_command_sets_what_a_running_gate_shows_of_requests() {
    let gate = Running::start(Bench::new(), &["--policy", "none"]);
    assert_eq!(gate.run(&["pending", "fields"]).out, "sessionId\nrequestId\n");
    assert_eq!(gate.run(&["pending", "fields", "model,dirty", "intent"]).out, "model\ndirty\nintent\n");
    assert_eq!(
        gate.json(&["pending", "fields", "--json"])["fields"],
        serde_json::json!(["model", "dirty", "intent"])
    );
    assert_eq!(gate.json(&["pending", "fields", "--none", "--json"])["fields"], serde_json::json!([]));
    let wrong = gate.run(&["pending", "fields", "modell"]);
    assert!(wrong.code == 2 && wrong.err.contains("model"), "{}", wrong.shown());
}

// S0-107
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

#[test]
fn no_secret_of_the_configuration_is_shown() {
    let bench = Bench::new();
    let secret = crate::support::secret();
    bench.file(
        "config.toml",
        &format!(
            "upstream = \"https://a.example?key={secret}\"\nnotify-command = \"TOKEN={secret} notify\"\nmodels = [\"{secret} = 7\"]\n\
             traces = \"http://127.0.0.1:4318/{secret}\"\nproxy = \"http://ann:{secret}@proxy.example\"\n\
             [known]\ncommand = \"vault read {secret}\"\n[upstreams.a]\nurl = \"https://a.example/{secret}/v2\"\n"
        ),
    );
    for more in [&[][..], &["--json"]] {
        let ran = bench.run(&[&["config", "show", "--config", "config.toml"], more].concat(), "");
        assert!(
            ran.out.contains("upstreams.a.url") && ran.out.contains("https://a.example"),
            "{}",
            ran.shown()
        );
        assert!(!ran.out.contains(&secret) && !ran.err.contains(&secret), "{}", ran.shown());
    }
}

#[test]
fn the_first_line_of_a_gate_shows_no_key_of_its_upstream() {
    let bench = Bench::new();
    let secret = crate::support::secret();
    let upstream = format!("http://127.0.0.1:9/{secret}/openai");
    let mut gate = bench
        .command(&["run", "--listen", "127.0.0.1:0", "--policy", "none", "--upstream", &upstream])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(gate.stderr.take().unwrap())
        .lines()
        .map_while(Result::ok)
        .find(|line| line.contains("before"));
    let status = bench.run(&["status"], "");
    gate.kill().unwrap();
    gate.wait().unwrap();
    for said in [said.unwrap(), status.out] {
        assert!(said.contains("http://127.0.0.1:9/…/openai") && !said.contains(&secret), "{said}");
    }
}

#[test]
fn what_a_gate_would_refuse_is_refused_when_it_is_shown() {
    let bench = Bench::new();
    bench.file("config.toml", "upstream = \"echo:\"\nlisten = \"x\"\n[store]\nrequired = true\n");
    let ran = bench.run(&["config", "show", "--config", "config.toml"], "");
    assert!(ran.code == 2 && ran.out.contains("listen"), "{}", ran.shown());
    assert!(ran.err.contains("the setting `listen` is wrong (config.toml:2)"), "{}", ran.err);
    let ran = bench.run(&["run", "--config", "config.toml", "--set", "listen=127.0.0.1:0", "--no-log"], "");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.shown());
    assert!(ran.err.contains("config.toml:4") && ran.err.contains("--no-log"), "{}", ran.err);
    let mut slip = bench.command(&["run", "--upstream", "echo:"]);
    slip.env("LEAFGATE_POLCY", "strict");
    let ran = bench.run_command(slip, "");
    assert!(ran.code == 2 && ran.err.contains("did you mean `LEAFGATE_POLICY`?"), "{}", ran.shown());
    bench.file(
        "policy/rules.toml",
        "[[rule]]\nid = \"away\"\nmatch = {}\naction = \"route\"\nto = \"nowhere\"\n",
    );
    let ran = bench.run(&["run", "--upstream", "echo:", "--policy", "policy", "--listen", "127.0.0.1:0"], "");
    assert_eq!(ran.err.matches("routes to the upstream").count(), 1, "{}", ran.shown());
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

// S0-13
#[test]
fn a_gate_is_what_its_file_says() {
    let bench = Bench::new();
    bench.file("house/rules.toml", crate::support::RULES);
    let text = "listen = \"127.0.0.1:0\"\nupstream = \"a\"\npolicy = \"none\"\n[upstreams.a]\nurl = \"echo:\"\n[upstreams.b]\nurl = \"echo:\"\npolicy = \"house\"\n";
    bench.file("config.toml", text);
    let gate = serve(&bench, &["--config", "config.toml"]);
    let ran = bench.run(&["status", "--json"], "");
    let status: serde_json::Value = ran.json();
    assert_eq!(
        (&status["listen"], &status["upstream"], &status["policy"]["source"]),
        (&gate.1.as_str().into(), &"echo:".into(), &"none".into())
    );
    assert_eq!(status["upstreams"][1]["prefix"], "/u/b");
    assert!(status["upstreams"][1]["policy"]["source"].as_str().unwrap().ends_with("house"));
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
    let schema: serde_json::Value = bench.run(&["schema", "config"], "").json();
    assert_eq!(schema["additionalProperties"], false);
    let body = &schema["properties"]["limits"]["properties"]["body"];
    assert!(body["description"].as_str().unwrap().starts_with("Bytes of a request body"), "{body}");
    assert_eq!(body["oneOf"][0]["minimum"], 1024);
    assert!(schema["properties"]["upstreams"]["additionalProperties"]["properties"]["policy"].is_object());
}

// S0-103
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

// S0-107
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

#[test]
fn an_upstream_with_a_password_is_refused_without_it() {
    let word = ["k3yw", "0rdOfAnn"].concat();
    let url = format!("http://ann:{word}@host.example");
    for args in [&["run", "--upstream", &url][..], &["exec", "--upstream", &url, "--", "true"]] {
        let ran = Bench::new().run(args, "");
        assert!(
            ran.code == 2 && ran.err.contains("must not hold a user name or password"),
            "{}",
            ran.shown()
        );
        assert!(!ran.err.contains(&word) && ran.out.is_empty(), "{}", ran.shown());
    }
}
