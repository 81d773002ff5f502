// A model of ours, a home of its own with the agents in it, and what a run behind a gate must show.
//
// LEAFGATE_BIN is the program, LEAFGATE_AGENTS the folder that npm has installed into.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after } from "node:test";
import zlib from "node:zlib";

const { LEAFGATE_BIN, LEAFGATE_AGENTS } = process.env;

// In parts, so that no secret scanner takes this file for a leak.
export const SECRET = ["gh", "p_", "q7W2eR5tY8uI1oP4aS6dF9gH0jK3lZxCvB", "nM"].join("");
export const PROMPT = `Repeat this key once and do nothing else: ${SECRET}`;
export const TOKEN = /[A-Z]+(?:_[A-Z]+)*_[0-9a-z]{16}/;
export const PATIENCE = 120_000;

/** What has come to the model: method, path, headers and the decoded body of each request. */
export let received = [];

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

/** The same as a chat completion. */
function completion(text) {
  const chunk = (delta, finish_reason) => ({ id: "1", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
  const chunks = [chunk({ role: "assistant", content: text }, null), chunk({}, "stop")];
  return [...chunks.map((data) => `data: ${JSON.stringify(data)}\n\n`), "data: [DONE]\n\n"].join("");
}

/** The models that Copilot lists: by its endpoints an agent chooses how it asks each. */
const MODELS = [["claude-sonnet-4.5", "/v1/messages"], ["gpt-5.4", "/responses"]].map(([id, endpoint]) => ({
  id,
  name: id,
  object: "model",
  vendor: "v",
  version: id,
  preview: false,
  model_picker_enabled: true,
  capabilities: {
    family: id,
    object: "model_capabilities",
    type: "chat",
    tokenizer: "o200k_base",
    limits: { max_prompt_tokens: 100000, max_output_tokens: 16000, max_context_window_tokens: 128000 },
    supports: { streaming: true, tool_calls: true, parallel_tool_calls: true },
  },
  supported_endpoints: [endpoint],
  policy: { state: "enabled", terms: "" },
  billing: { is_premium: false, multiplier: 1 },
}));

/** Gemini where a person is logged in with Google: its answers in a wrapper, and what is asked beside them. */
function code_assist(path, text) {
  const json = (value) => ["application/json", JSON.stringify(value)];
  const said = (text) => ({ response: { candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, finishReason: "STOP" }] } });
  if (path.includes(":streamGenerateContent")) return ["text/event-stream", `data: ${JSON.stringify(said(text))}\n\n`];
  // It asks which model to ask.
  if (path.includes(":generateContent")) return json(said(JSON.stringify({ reasoning: "simple", model_choice: "flash" })));
  if (path.includes(":countTokens")) return json({ totalTokens: 5 });
  if (path.includes(":loadCodeAssist")) return json({ currentTier: { id: "free-tier", name: "x" }, cloudaicompanionProject: "p" });
  return json({});
}

/** Repeats the token that stands in the request, as a model would. */
function answer({ method, path, body }) {
  const text = `The key is ${body.match(TOKEN)?.[0] ?? "nowhere"}.`;
  if (path.includes("/v1internal:")) return code_assist(path, text);
  if (method === "GET" && path.endsWith("/copilot/models")) return ["application/json", JSON.stringify({ data: MODELS })];
  if (path.includes("/chat/completions")) return ["text/event-stream", completion(text)];
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

const model = createServer(async (request, reply) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = decoded(Buffer.concat(parts), request.headers["content-encoding"]).toString();
  const { method, url: path, headers } = request;
  received.push({ method, path, headers, body });
  const [type, text] = answer({ method, path, body });
  // Keep-alive sockets would keep the test alive.
  reply.writeHead(200, { "content-type": type, connection: "close" }).end(text);
});
model.on("upgrade", (request, socket) => {
  received.push({ method: "UPGRADE", path: request.url, headers: request.headers, body: "" });
  socket.destroy();
});
await new Promise((listening) => model.listen(0, "127.0.0.1", listening));
export const url = `http://127.0.0.1:${model.address().port}`;

export const home = await mkdtemp(join(tmpdir(), "leafgate-agents-"));
await mkdir(join(home, "work"));
// By the names that a user's shell finds them by.
await mkdir(join(home, "bin"));
const platform = `${process.platform}-${process.arch}`;
await symlink(join(LEAFGATE_AGENTS, "@anthropic-ai", `claude-code-${platform}`, "claude"), join(home, "bin/claude"));
await symlink(join(LEAFGATE_AGENTS, "@openai/codex/bin/codex.js"), join(home, "bin/codex"));
for (const agent of ["copilot", "gemini"]) await symlink(join(LEAFGATE_AGENTS, ".bin", agent), join(home, "bin", agent));
await symlink(LEAFGATE_BIN, join(home, "bin/leafgate"));

after(async () => {
  model.close();
  // What an agent has started may write for a moment longer.
  await rm(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 });
});

/** Runs a command line as a user's shell would, with a home of its own. What came to the model before is forgotten, if it begins `anew`. */
export function shell(line, variables = {}, timeout = PATIENCE, anew = true) {
  if (anew) received = [];
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
  const options = { cwd: join(home, "work"), env, timeout };
  return new Promise((done) => {
    const child = execFile("sh", ["-c", line], options, (error, out, err) => {
      done({ code: error ? error.code : 0, out, err });
    });
    child.stdin.end();
  });
}

/** What every run must show: the model saw a token, the person the value, and the gate is gone. */
export function went_through(ran, path) {
  assert.equal(ran.code, 0, ran.err + ran.out);
  const asked = received.filter((request) => request.method === "POST" && request.path.split("?")[0] === path);
  assert.ok(asked.some((request) => TOKEN.test(request.body)), `${path}: ${received.map((r) => r.path)}\n${ran.err}`);
  for (const request of received) assert.ok(!request.body.includes(SECRET), request.path);
  assert.match(ran.out, new RegExp(`The key is ${SECRET}`));
}

