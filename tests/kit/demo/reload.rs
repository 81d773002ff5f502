//! Fourth act: the policy changes on disk while the gate runs. Events say when a change is live; nothing here waits by the clock.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use leafgate_tests::admin::{Admin, Events};
use leafgate_tests::gate::Gate;
use leafgate_tests::{plugins, sample};

use super::stage::{Stage, line};

/// A name that no pattern knows; the plugin does.
const NAME: &str = "Marlene Okafor";

pub(crate) fn play(stage: &mut Stage) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path();
    rule(folder, "Be brief.")?;
    let gate = stage.gate(folder)?;
    let admin = Admin::of(&gate)?;
    let mut events = admin.events()?;
    stage.heading("A rule is edited on disk; the next request sees it");
    let first = asked(stage, &gate, "Be brief.")?;
    rule(folder, "Be brief and polite.")?;
    let second = live(&mut events, &first)?;
    let judged = asked(stage, &gate, "Be brief and polite.")?;
    stage.check(judged == second, "the answer names the generation")?;
    line(&format!("generation {first} served, {second} serves; the gate was not restarted"));

    broken(stage, folder, &gate, &admin, &mut events, &second)?;
    plugin(stage, folder, &gate, &mut events, &second)
}

/// A rule that nobody can read is refused, and the last good policy serves.
fn broken(
    stage: &mut Stage,
    folder: &Path,
    gate: &Gate,
    admin: &Admin,
    events: &mut Events,
    serving: &str,
) -> Result<()> {
    stage.heading("A rule is broken on disk; the last good policy serves, and the status says why");
    let text = fs::read_to_string(folder.join("rules.toml"))?;
    fs::write(folder.join("rules.toml"), text.replace("append", "apend"))?;
    events.until(|event| event["event"] == "policy" && event["policy"]["refused"].is_string())?;
    let status = admin.get("/v1/status")?;
    let diagnostic = status["policy"]["refused"].as_str().context("the status names no refusal")?;
    // The folder of this run has a name that says nothing.
    diagnostic.replace(&format!("{}/", folder.display()), "").lines().for_each(line);
    stage.check(
        diagnostic.contains("rules.toml:5") && diagnostic.contains("apend"),
        "the diagnostic names file, line and word",
    )?;
    stage.check(status["policy"]["generation"] == serving, "the status names the generation that serves")?;
    let judged = asked(stage, gate, "Be brief and polite.")?;
    stage.check(judged == serving, "the last good policy serves")
}

/// A plugin and the rule that asks it.
fn plugin(stage: &mut Stage, folder: &Path, gate: &Gate, events: &mut Events, serving: &str) -> Result<()> {
    stage.heading("The rule is mended and a plugin dropped in; it sees the next request");
    let [redact_names, ..] = plugins::BUNDLED;
    let built = plugins::build()?.into_iter().next().context("no plugin was built")?;
    fs::create_dir_all(folder.join("plugins"))?;
    fs::copy(built, folder.join(format!("plugins/{redact_names}.wasm")))?;
    fs::write(
        folder.join("names.toml"),
        format!(
            "[plugins.{redact_names}]\nfile = \"plugins/{redact_names}.wasm\"\nconfig = {{ names = [\"{NAME}\"] }}\n\n\
             [[rule]]\nid = \"names\"\nmatch = {{}}\ndetect = [\"plugin:{redact_names}\"]\naction = \"redact\"\n"
        ),
    )?;
    rule(folder, "Be polite.")?;
    let third = live_with_plugin(stage, gate, events, serving)?;
    line(&format!("generation {third} serves, with the plugin {redact_names}"));
    Ok(())
}

/// The three files are three changes, and the folder may be read between them; the last generation is the one that redacts.
fn live_with_plugin(stage: &mut Stage, gate: &Gate, events: &mut Events, serving: &str) -> Result<String> {
    let mut serving = serving.to_owned();
    loop {
        serving = live(events, &serving)?;
        let answer = gate.client()?.chat(&sample::chat(&format!("Write to {NAME}, please.")))?;
        let left = stage.tap.take().pop().context("nothing left")?;
        let left = String::from_utf8(left.body)?;
        if left.contains("Be polite.") && !left.contains(NAME) {
            line(&format!("left: {left}"));
            let named = answer.header("leafgate-generation").unwrap_or_default();
            stage.check(named == serving, "the answer names the generation")?;
            stage.check(left.contains("NAME_"), "a token stands for the name")?;
            stage.check(answer.said()?.contains(NAME), "the client reads the real name")?;
            return Ok(serving);
        }
    }
}

/// The policy: one rule with one text.
fn rule(folder: &Path, text: &str) -> Result<()> {
    let rule = format!(
        "[[rule]]\nid = \"manners\"\nmatch = {{ role = \"user\" }}\naction = \"rewrite\"\nappend = \" {text}\"\n"
    );
    Ok(fs::write(folder.join("rules.toml"), rule)?)
}

/// Waits until another generation serves, and names it.
fn live(events: &mut Events, before: &str) -> Result<String> {
    let event = events.until(|event| {
        let policy = &event["policy"];
        event["event"] == "policy" && policy["refused"].is_null() && policy["generation"] != before
    })?;
    Ok(event["policy"]["generation"].as_str().context("a generation without a name")?.to_owned())
}

/// Asks, checks what left, and returns the generation that judged it.
fn asked(stage: &mut Stage, gate: &Gate, manners: &str) -> Result<String> {
    let answer = gate.client()?.chat(&sample::chat("What is new?"))?;
    stage.check(answer.status() == 200, "the request is answered")?;
    let left = String::from_utf8(stage.tap.take().pop().context("nothing left")?.body)?;
    line(&format!("left: {left}"));
    stage.check(left.contains(&format!("What is new? {manners}")), "what left has the rule's text")?;
    Ok(answer.header("leafgate-generation").context("the answer names no generation")?.to_owned())
}
