// Claude Code and Codex behind a gate that `leafgate exec` starts, before a model of ours: what they say arrives redacted, what the
// model says is restored, and nothing leads past the gate.
//
// LEAFGATE_BIN is the program, LEAFGATE_README the file whose command is run, LEAFGATE_AGENTS the folder that npm has installed into.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import zlib from "node:zlib";

const { LEAFGATE_BIN, LEAFGATE_README, LEAFGATE_AGENTS } = process.env;

// In parts, so that no secret scanner takes this file for a leak.
const SECRET = ["gh", "p_", "q7W2eR5tY8uI1oP4aS6dF9gH0jK3lZxCvB", "nM"].join("");
const PROMPT = `Repeat this key once and do nothing else: ${SECRET}`;
const TOKEN = /[A-Z]+(?:_[A-Z]+)*_[0-9a-z]{16}/;
const PATIENCE = 120_000;

/** What has come to the model: method, path, headers and the decoded body of each request. */
let received = [];
let model;
let url;
let home;

/** A stream of named events. */
const events = (list) => list.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join("");

/** A message that says a text, as a stream. */
function message(text) {
  const usage = { input_tokens: 5, output_tokens: 5 };
  const start = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, stop_sequence: null, usage };
  return events([
    { type: "message_start", message: start },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage },
    { type: "message_stop" },
  ]);
}

/** The same as a response. */
function response(text) {
  const content = [{ type: "output_text", text, annotations: [] }];
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content };
  const details = { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10, ...details };
  const whole = { id: "resp_1", object: "response", status: "completed", output: [item], usage };
  return events([
    { type: "response.created", response: { ...whole, status: "in_progress", output: [] } },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ]);
}

/** What Codex asks before its first question. Its origin is not where it then asks: that is the provider's base URL. */
const ACCOUNTS = {
  accounts: [{ id: "a", structure: "personal", plan_type: "plus", workspace_backend_origin: "https://127.0.0.1:9", account_routing_override: "us" }],
  account_ordering: ["a"],
  default_account_id: "a",
};

/** Repeats the token that stands in the request, as a model would. */
function answer({ path, body }) {
  const text = `The key is ${body.match(TOKEN)?.[0] ?? "nowhere"}.`;
  if (path.includes("count_tokens")) return ["application/json", JSON.stringify({ input_tokens: 10 })];
  if (path.includes("/messages")) return ["text/event-stream", message(text)];
  if (path.endsWith("/accounts/check")) return ["application/json", JSON.stringify(ACCOUNTS)];
  if (path.includes("/responses")) return ["text/event-stream", response(text)];
  return ["application/json", JSON.stringify({ data: [], models: [] })];
}

function decoded(bytes, coding) {
  if (coding === "gzip") return zlib.gunzipSync(bytes);
  // Node has it from 22.15 on. What holds a secret comes decoded anyway.
  return coding === "zstd" && zlib.zstdDecompressSync ? zlib.zstdDecompressSync(bytes) : bytes;
}

before(async () => {
  model = createServer(async (request, reply) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = decoded(Buffer.concat(parts), request.headers["content-encoding"]).toString();
    const { method, url: path, headers } = request;
    received.push({ method, path, headers, body });
    const [type, text] = answer({ path, body });
    // Keep-alive sockets would keep the test alive.
    reply.writeHead(200, { "content-type": type, connection: "close" }).end(text);
  });
  model.on("upgrade", (request, socket) => {
    received.push({ method: "UPGRADE", path: request.url, headers: request.headers, body: "" });
    socket.destroy();
  });
  await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${model.address().port}`;
  home = await mkdtemp(join(tmpdir(), "leafgate-agents-"));
  await mkdir(join(home, "work"));
  // By the names that a user's shell finds them by.
  await mkdir(join(home, "bin"));
  const platform = `${process.platform}-${process.arch}`;
  await symlink(join(LEAFGATE_AGENTS, "@anthropic-ai", `claude-code-${platform}`, "claude"), join(home, "bin/claude"));
  await symlink(join(LEAFGATE_AGENTS, "@openai/codex/bin/codex.js"), join(home, "bin/codex"));
  await symlink(LEAFGATE_BIN, join(home, "bin/leafgate"));
});

after(async () => {
  model.close();
  await rm(home, { recursive: true, force: true });
});

/** Runs a command line as a user's shell would, with a home of its own. */
function shell(line, variables = {}) {
  received = [];
  const env = {
    PATH: [join(home, "bin"), dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter),
    HOME: home,
    LEAFGATE_DATA_DIR: join(home, "data"),
    // Claude Code otherwise refuses to run for root, and asks other hosts than its model.
    IS_SANDBOX: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    ...variables,
  };
  const options = { cwd: join(home, "work"), env, timeout: PATIENCE };
  return new Promise((done) => {
    const child = execFile("sh", ["-c", line], options, (error, out, err) => {
      done({ code: error ? error.code : 0, out, err });
    });
    child.stdin.end();
  });
}

/** What every run must show: the model saw a token, the person the value, and the gate is gone. */
function went_through(ran, path) {
  assert.equal(ran.code, 0, ran.err + ran.out);
  const asked = received.filter((request) => request.method === "POST" && request.path.split("?")[0] === path);
  assert.ok(asked.some((request) => TOKEN.test(request.body)), `${path}: ${received.map((r) => r.path)}\n${ran.err}`);
  for (const request of received) assert.ok(!request.body.includes(SECRET), request.path);
  assert.match(ran.out, new RegExp(`The key is ${SECRET}`));
}

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
