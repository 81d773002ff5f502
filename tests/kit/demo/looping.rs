//! Second act: a plugin that never returns, its request, and the next one.

use std::time::{Duration, Instant};

use anyhow::Result;
use leafgate_tests::sample;
use serde_json::json;

use super::stage::{Stage, line};
use crate::plugins::looping_policy;

/// Longer than the deadline of a call on a small request, with much to spare for a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) fn play(stage: &mut Stage) -> Result<()> {
    stage.heading("Another policy asks a plugin that loops for ever");
    line(
        "examples/hostile-plugins/loops-for-ever.wat is asked about every page that the agent fetched. It never returns.",
    );
    let gate = stage.gate(&looping_policy())?;
    let start = Instant::now();
    let answer = gate.client()?.chat(&fetched_page())?;
    let elapsed = start.elapsed();
    let (code, message) = answer.refusal()?;
    line(&format!(
        "after {} ms the client reads {}: {message}",
        elapsed.as_millis(),
        answer.start.trim_start_matches("HTTP/1.1 ")
    ));
    stage.check(answer.status() == 400 && code == "leafgate_blocked", "the request is blocked")?;
    stage.check(answer.header("x-should-retry") == Some("false"), "and SDKs are told not to try again")?;
    stage.check(message.contains("ask-the-looping-plugin"), "the answer names the rule")?;
    stage.check(elapsed < PATIENCE, "the plugin was stopped by its deadline")?;
    stage.check(stage.tap.take().is_empty(), "nothing left")?;
    let log = gate.wait_for_log(|log| log.contains("leafgate_blocked"))?;
    let logged = log.lines().find(|line| line.contains("leafgate_blocked")).unwrap_or_default();
    let held = logged
        .split_once("held=")
        .map_or(logged, |(_, rest)| rest.split("edits=").next().unwrap_or_default());
    line(&format!("the operator reads in the log: {held}"));
    stage.check(
        held.contains("`loops`") && held.contains("deadline"),
        "the log names the plugin and its fault",
    )?;

    stage.heading("The next request does not notice");
    let body = sample::chat("Are you still there?");
    let start = Instant::now();
    let answer = gate.client()?.chat(&body)?;
    line(&format!(
        "{} after {} ms",
        answer.start.trim_start_matches("HTTP/1.1 "),
        start.elapsed().as_millis()
    ));
    stage.check(answer.status() == 200, "the next request passes")?;
    let left = stage.tap.take();
    stage.check(left.len() == 1 && left[0].body == body, "byte for byte")
}

/// A request with the result of a tool that the looping plugin is asked about.
fn fetched_page() -> Vec<u8> {
    let call = json!({ "id": "call_1", "type": "function", "function": { "name": "fetch_page", "arguments": "{\"url\": \"https://example.org\"}" } });
    sample::messages(
        "gpt-sample",
        &json!([
            { "role": "user", "content": "What does the page say?" },
            { "role": "assistant", "content": null, "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_1", "content": "A page." },
        ]),
    )
}
