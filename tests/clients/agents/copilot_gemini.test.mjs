// Copilot CLI and Gemini CLI behind a gate that `leafgate exec` starts: with GitHub's and Google's login, and with a key of one's own.
// The logins are made up, and the hosts of GitHub and Google out of reach: a proxy that nobody runs stands before all but this machine.
//
// LEAFGATE_HOLD says for how many seconds a request is held: 3 unless told, two minutes in the soak, which also has `doctor` try them.

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { PATIENCE, PROMPT, home, received, shell, url, went_through } from "./kit.mjs";

const HOLD = Number(process.env.LEAFGATE_HOLD ?? 3) * 1000;
const SOAK = { skip: process.env.LEAFGATE_HOLD ? false : "a part of the soak" };

const OFFLINE = { HTTPS_PROXY: "http://127.0.0.1:9" };
const GITHUB = { ...OFFLINE, COPILOT_GITHUB_TOKEN: "gho_made-up", COPILOT_AUTO_UPDATE: "false" };
const GOOGLE = { ...OFFLINE, GOOGLE_GENAI_USE_GCA: "true", GOOGLE_CLOUD_ACCESS_TOKEN: "made-up", GEMINI_CLI_TRUST_WORKSPACE: "true" };

const COPILOT = `copilot -p '${PROMPT}' --allow-all-tools`;
const GEMINI = `gemini -p '${PROMPT}'`;

before(async () => {
  await mkdir(join(home, ".gemini"), { recursive: true });
  await writeFile(join(home, ".gemini/settings.json"), JSON.stringify({ security: { auth: { selectedType: "oauth-personal" } } }));
  await mkdir(join(home, "policy"));
  const rule = `[[rule]]\nid = "secrets"\nmatch = {}\ndetect = ["secrets"]\naction = "redact"\nwith = "token"\n
[[rule]]\nid = "look"\nmatch = { role = "user" }\nwhen = 'leaf.text.contains("Repeat this key")'\naction = "pause"\nreason = "Look first"\n`;
  await writeFile(join(home, "policy/rules.toml"), rule);
});

describe("Copilot CLI", { timeout: 6 * PATIENCE }, () => {
  for (const [model, path] of [["claude-sonnet-4.5", "/u/copilot/v1/messages"], ["gpt-5.4", "/u/copilot/responses"]]) {
    test(`asks ${path} through the gate with GitHub's login`, async () => {
      const upstream = { COPILOT_API_URL: `${url}/u/copilot` };
      const ran = await shell(`leafgate exec ${COPILOT} --model ${model} --disable-builtin-mcps`, { ...GITHUB, ...upstream });
      went_through(ran, path);
    });
  }

  for (const [type, wire, base, path] of [
    ["openai", "completions", "/v1", "/v1/chat/completions"],
    ["openai", "responses", "/v1", "/v1/responses"],
    ["anthropic", "", "", "/v1/messages"],
  ]) {
    test(`asks ${path} through the gate with a key of one's own`, async () => {
      const own = { COPILOT_PROVIDER_BASE_URL: url + base, COPILOT_PROVIDER_TYPE: type, COPILOT_PROVIDER_API_KEY: "k", COPILOT_MODEL: "m", COPILOT_OFFLINE: "true" };
      const ran = await shell(`leafgate exec ${COPILOT}`, wire ? { ...own, COPILOT_PROVIDER_WIRE_API: wire } : own);
      went_through(ran, path);
    });
  }

  test("is held, and resumed", async () => {
    const upstream = { COPILOT_API_URL: `${url}/u/copilot` };
    await held(`${COPILOT} --model claude-sonnet-4.5 --disable-builtin-mcps`, { ...GITHUB, ...upstream }, "/u/copilot/v1/messages");
  });

  test("is tried by doctor", SOAK, () => tried("copilot", GITHUB, "/responses"));
});

describe("Gemini CLI", { timeout: 4 * PATIENCE }, () => {
  const ASKED = "/v1internal:streamGenerateContent";

  test("asks through the gate with Google's login", async () => {
    const ran = await shell(`leafgate exec ${GEMINI}`, { ...GOOGLE, CODE_ASSIST_ENDPOINT: url });
    went_through(ran, ASKED);
  });

  test("is held, and resumed", async () => {
    await held(GEMINI, { ...GOOGLE, CODE_ASSIST_ENDPOINT: url }, ASKED);
  });

  test("is tried by doctor", SOAK, () => tried("gemini", GOOGLE, ASKED));
});

/** Has `doctor` try an agent, which must ask a path. */
async function tried(agent, variables, path) {
  const { code, out, err } = await shell(`leafgate doctor ${agent}`, variables, 2 * PATIENCE);
  assert.equal(code, 0, out + err);
  assert.match(out.match(/ asks through the gate: .*/)?.[0] ?? out, new RegExp(`${path}\\b`));
}

/** Runs an agent whose question a rule holds, lets each of its turns go after a while, and checks that it was worth the wait. */
async function held(line, variables, path) {
  const running = shell(`leafgate exec --policy ${join(home, "policy")} ${line}`, variables, PATIENCE + HOLD);
  let ran;
  running.then((end) => (ran = end));
  const resumed = new Set();
  while (!ran) {
    const { code, out } = await shell("leafgate pending list --json", {}, PATIENCE, false);
    const turns = code === 0 ? JSON.parse(out).turns.map(({ id }) => id) : [];
    if (turns.length === 0) continue;
    if (resumed.size === 0) {
      await setTimeout(HOLD);
      const asked = received.filter((request) => request.path.split("?")[0] === path);
      assert.deepEqual(asked, [], "nothing leaves while a person is asked");
    }
    for (const id of turns.filter((id) => !resumed.has(id))) {
      resumed.add(id);
      await shell(`leafgate pending resume ${id}`, {}, PATIENCE, false);
    }
  }
  assert.ok(resumed.size > 0, `no turn waited: ${ran.err}`);
  went_through(ran, path);
}
