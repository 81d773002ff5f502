// Claude Code and Codex, as npm has them, behind a gate: paused by a mode, resumed, cancelled, given up with the mode; with what they ask
// beside a turn, and with agents of their own.
//
// Each runs once for a question, in folders of its own, and knows nothing but the gate's address and a key that is none.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import * as stage from "./stage.mjs";

const { LEAFGATE_AGENTS } = process.env;
const CODEX = join(LEAFGATE_AGENTS, "@openai/codex/bin/codex.js");
const CLAUDE = join(LEAFGATE_AGENTS, "@anthropic-ai", `claude-code-${process.platform}-${process.arch}`, "claude");

// What an agent may take for one question. Only a fault reaches it.
const PATIENCE = 120_000;

// Models of the stage: one answers, the other has an agent do the work first.
const TALKS = "talks";
const DELEGATES = "delegates";
const DONE = /All done\./;

/**
 * A client: how it is started, what it asks, whether it asks for a title beside its first turn, and of how many turns a question
 * consists for which it starts an agent: one for each call, and one for the answer.
 */
const CLIENTS = [
  {
    name: "Claude Code",
    path: "/v1/messages",
    titles: true,
    turns: 2,
    start: (folder, model, question) => ({
      command: CLAUDE,
      arguments: ["-p", question, "--model", model, "--dangerously-skip-permissions"],
      environment: {
        ANTHROPIC_BASE_URL: stage.LIVELY,
        ANTHROPIC_API_KEY: "no-key",
        // It lets nobody skip permissions as root but in a sandbox.
        IS_SANDBOX: "1",
        DISABLE_AUTOUPDATER: "1",
      },
    }),
  },
  {
    name: "Codex",
    path: "/v1/responses",
    titles: false,
    turns: 3,
    start: (folder, model, question) => {
      const home = join(folder, "codex");
      mkdirSync(home);
      const config = `model = "${model}"
model_provider = "gate"
[model_providers.gate]
name = "gate"
base_url = "${stage.LIVELY}/v1"
wire_api = "responses"
supports_websockets = false
env_key = "OPENAI_API_KEY"
`;
      writeFileSync(join(home, "config.toml"), config);
      return {
        command: process.execPath,
        arguments: [CODEX, "exec", "--skip-git-repo-check", question],
        environment: { CODEX_HOME: home, OPENAI_API_KEY: "no-key" },
      };
    },
  },
];

let running = [];

beforeEach(async () => {
  await stage.left();
  await stage.ask("lively", "mode", "interceptAlways");
});

afterEach(async () => {
  await stage.ask("lively", "mode", "off");
  for (const { child, folder } of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
  running = [];
});

/** Has a client ask a question; `ended` is all that it prints, and its status. */
function ask(client, model, question) {
  const folder = mkdtempSync(join(tmpdir(), "leafgate-agent-"));
  const work = join(folder, "work");
  mkdirSync(work);
  const call = client.start(folder, model, question);
  const environment = { PATH: process.env.PATH, HOME: folder, TERM: "dumb", ...call.environment };
  const child = spawn(call.command, call.arguments, {
    cwd: work,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE,
    killSignal: "SIGKILL",
  });
  running.push({ child, folder });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece) => (printed += piece));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (status) => resolve({ printed, status }));
  });
}

/** A question that nobody asked before. */
const question = (words) => `${words}, case ${randomUUID()}`;

/** Checks that what paused is a turn of the person, by the mode, and nothing that the client asks for itself. */
function isTurn(turn) {
  assert.deepEqual([turn.class, turn.mode, turn.holds], ["main", "interceptAlways", []]);
}

const paused = async () => {
  const turn = await stage.ask("lively", "paused");
  isTurn(turn);
  return turn.id;
};

/** The requests of a client's own API that have left, by what they ask: a turn offers tools. */
async function leftOf(client) {
  const left = (await stage.left()).filter(({ target }) => target.split("?")[0] === client.path);
  const bodies = left.map(({ body }) => JSON.parse(body));
  return { turns: bodies.filter(({ tools }) => tools?.length), sides: bodies.filter(({ tools }) => !tools?.length) };
}

for (const client of CLIENTS) {
  test(`a turn that is resumed gets its answer: ${client.name}`, async () => {
    const asked = question("Say something");
    const answer = ask(client, TALKS, asked);
    const turn = await paused();
    assert.deepEqual((await leftOf(client)).turns, [], "the turn waits");
    await stage.ask("lively", "resume", turn);
    const { printed, status } = await answer;
    assert.match(printed, DONE);
    assert.equal(status, 0, printed);
    const { turns, sides } = await leftOf(client);
    assert.equal(turns.length, 1, "one call of the model");
    assert.ok(JSON.stringify(turns[0]).includes(asked));
    assert.equal(sides.length > 0, client.titles, "what it asks beside the turn never waited");
  });

  test(`a turn that is cancelled says why, and is not sent in another manner: ${client.name}`, async () => {
    const answer = ask(client, TALKS, question("Say nothing"));
    await stage.ask("lively", "cancel", await paused());
    const { printed, status } = await answer;
    assert.match(printed, /canceled before sending/);
    assert.notEqual(status, 0, printed);
    assert.deepEqual((await leftOf(client)).turns, []);
    assert.equal((await stage.ask("lively", "pending")).turns.length, 0, "nobody is asked again");
  });

  test(`a turn that waits by a mode is given up with it: ${client.name}`, async () => {
    const answer = ask(client, TALKS, question("Wait for me"));
    await paused();
    await stage.ask("lively", "mode", "off");
    const { printed, status } = await answer;
    assert.match(printed, /Prompt Interception Mode was disabled/);
    assert.notEqual(status, 0, printed);
    assert.deepEqual((await leftOf(client)).turns, []);
  });

  test(`an agent that a turn starts does not wait, and the turn goes on behind it: ${client.name}`, async () => {
    const before = (await stage.ask("lively", "subagents")).seen;
    const answer = ask(client, DELEGATES, question("DELEGATE the work"));
    for (let turn = 0; turn < client.turns; turn += 1) await stage.ask("lively", "resume", await paused());
    const { printed, status } = await answer;
    assert.match(printed, DONE);
    assert.equal(status, 0, printed);
    const { requests, seen } = await stage.ask("lively", "subagents");
    assert.ok(seen > before, "the agent's requests are in the monitor");
    assert.ok(requests.every(({ verdict }) => verdict === "sent"));
  });
}
