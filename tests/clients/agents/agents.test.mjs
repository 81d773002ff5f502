// Claude Code and Codex behind a gate that `leafgate exec` starts, before a model of ours: what they say arrives redacted, what the
// model says is restored, and nothing leads past the gate.
//
// LEAFGATE_README is the file whose command is run.

import assert from "node:assert/strict";
import { mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, test } from "node:test";

import { PATIENCE, PROMPT, SECRET, home, received, shell, url, went_through } from "./kit.mjs";

const { LEAFGATE_README } = process.env;

async function codex_home(auth, config = "") {
  const folder = join(home, ".codex");
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder);
  await writeFile(join(folder, "config.toml"), config);
  if (auth) await writeFile(join(folder, "auth.json"), JSON.stringify(auth), { mode: 0o600 });
  return folder;
}

/** What a login with ChatGPT leaves behind, signed by nobody. */
function chatgpt() {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { email: "ann@example.org", exp: 4102444800, "https://api.openai.com/auth": { chatgpt_plan_type: "plus", chatgpt_account_id: "a" } };
  const token = [part({ alg: "none" }), part(claims), "x"].join(".");
  const tokens = { id_token: token, access_token: token, refresh_token: "r", account_id: "a" };
  return { auth_mode: "chatgpt", OPENAI_API_KEY: null, tokens, last_refresh: new Date().toISOString() };
}

const CODEX = `codex exec --skip-git-repo-check --sandbox read-only '${PROMPT}'`;

describe("leafgate exec", { timeout: 10 * PATIENCE }, () => {
  test("commands of the README put Claude Code behind a gate and show what was redacted in the last hour", async () => {
    const readme = await readFile(LEAFGATE_README, "utf8");
    const command = readme.match(/^leafgate exec claude\b/m)?.[0];
    const log = readme.match(/^leafgate log --since 1h\b/m)?.[0];
    assert.ok(command && log, "the README shows both");
    const ran = await shell(`${command} -p '${PROMPT}'`, { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-test" });
    went_through(ran, "/v1/messages");
    assert.deepEqual((await readdir(join(home, "data/run"))).filter((name) => name.endsWith(".json")), []);
    const told = await shell(log);
    assert.equal(told.code, 0, told.err);
    assert.match(told.out, /^[1-9][0-9]* requests; [1-9][0-9]* redactions$/m);
    assert.match(told.out, / SECRET +secrets\/github-token +default-secrets +messages\[\]\.content/m);
    assert.ok(!told.out.includes(SECRET), told.out);
  });

  // S3-28
  for (const [agent, api, path, variables] of [
    [`claude -p '${PROMPT}'`, "openai-chat", "/v1/chat/completions", { ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "sk-test" }],
    [CODEX, "anthropic-messages", "/v1/messages", { OPENAI_BASE_URL: `${url}/v1` }],
  ]) {
    test(`${agent.split(" ")[0]} asks a model that speaks ${api}`, async () => {
      await codex_home({ OPENAI_API_KEY: "sk-test", tokens: null });
      const config = join(home, "adapted.toml");
      await writeFile(config, `upstream = "model"\n[upstreams.model]\nurl = "${url}"\napi = "${api}"\n`);
      const ran = await shell(`leafgate exec --config ${config} ${agent}`, variables);
      went_through(ran, path);
      const { headers } = received.find((request) => request.method === "POST" && request.path === path);
      assert.equal(headers[api === "openai-chat" ? "authorization" : "x-api-key"]?.replace("Bearer ", ""), "sk-test");
    });
  }

  test("settings of Claude Code that lead past the gate are refused before it starts", async () => {
    const settings = join(home, "work/.claude");
    await mkdir(settings);
    await writeFile(join(settings, "settings.json"), JSON.stringify({ env: { ANTHROPIC_BASE_URL: url } }));
    const ran = await shell(`leafgate exec claude -p hi`, { ANTHROPIC_API_KEY: "sk-test" });
    await rm(settings, { recursive: true });
    assert.equal(ran.code, 2, ran.err);
    assert.match(ran.err, /settings\.json, line 1: ANTHROPIC_BASE_URL/);
    assert.deepEqual(received, []);
  });

  test("Codex with a key asks through the gate, without a WebSocket", async () => {
    await codex_home({ OPENAI_API_KEY: "sk-test", tokens: null });
    const ran = await shell(`leafgate exec ${CODEX}`, { OPENAI_BASE_URL: `${url}/v1` });
    went_through(ran, "/v1/responses");
    assert.ok(received.every((request) => request.method !== "UPGRADE"));
    assert.equal(received.find((request) => request.method === "POST").headers.authorization, "Bearer sk-test");
  });

  test("Codex with a subscription asks its own paths through the gate, and keeps its history", async () => {
    const folder = await codex_home(chatgpt(), `chatgpt_base_url = "${url}/backend-api/"\n`);
    const ran = await shell(`leafgate exec --upstream ${url} ${CODEX}`);
    went_through(ran, "/backend-api/codex/responses");
    assert.ok((await readdir(folder)).includes("sessions"), "what the run added is the user's");
    assert.deepEqual(await readdir(join(home, "data/codex")), [], "nothing is left behind");
  });

  test("confined, Claude Code and Codex ask through the gate, and the model is reached by no other way", { skip: process.platform !== "linux" }, async () => {
    await codex_home({ OPENAI_API_KEY: "sk-test", tokens: null });
    const past = `node -e 'fetch(process.argv[1]).then(() => process.exit(1), () => process.exit(0))' ${url}/past`;
    for (const [client, path] of [[`claude -p '${PROMPT}'`, "/v1/messages"], [CODEX, "/v1/responses"]]) {
      const script = `${client} && ${past}`;
      const ran = await shell(`leafgate exec --only --upstream ${url} -- sh -c "$SCRIPT"`, { SCRIPT: script, ANTHROPIC_API_KEY: "sk-test" });
      went_through(ran, path);
      assert.match(ran.err, /--only: it runs under/);
      assert.ok(received.every((request) => request.path !== "/past"));
    }
  });

  test("any program finds every API behind the gate, and its exit code is the answer", async () => {
    await codex_home(null);
    const script = `${CODEX} || exit 9; exit 7`;
    const ran = await shell(`leafgate exec --upstream ${url} -- sh -c "$SCRIPT"`, { SCRIPT: script, OPENAI_API_KEY: "sk-test" });
    assert.equal(ran.code, 7, ran.err);
    went_through({ ...ran, code: 0 }, "/v1/responses");
  });
});

describe("a team behind /agents", { timeout: 4 * PATIENCE }, () => {
  // The team's model is the stage's: a coordinator has a reviewer have a researcher read the file that the question names.
  const { team: TEAM } = JSON.parse(process.env.LEAFGATE_STAGE);
  const NOTE = "NOTE-4711";
  let question;

  before(async () => {
    const file = join(home, "work/notes.txt");
    await writeFile(file, `${NOTE} stands here.\n`);
    question = `What does ${file} say?`;
  });

  test("Claude Code runs the tool of an agent two levels down", async () => {
    const ran = await shell(`claude -p '${question}' --allowedTools Read`, { ANTHROPIC_BASE_URL: `${TEAM}/agents`, ANTHROPIC_API_KEY: "sk-test" });
    assert.equal(ran.code, 0, ran.err + ran.out);
    assert.match(ran.out, new RegExp(`The file says ${NOTE}`));
  });

  test("Codex runs the tool of an agent two levels down", async () => {
    await codex_home(
      { OPENAI_API_KEY: "sk-test", tokens: null },
      `model = "sample"\nmodel_provider = "team"\n[model_providers.team]\nname = "team"\nbase_url = "${TEAM}/agents/v1"\nwire_api = "responses"\nsupports_websockets = false\nenv_key = "KIT_KEY"\n`,
    );
    const ran = await shell(`codex exec --skip-git-repo-check --sandbox danger-full-access '${question}'`, { KIT_KEY: "sk-test" });
    assert.equal(ran.code, 0, ran.err + ran.out);
    assert.match(ran.out, new RegExp(`The file says ${NOTE}`));
  });
});
