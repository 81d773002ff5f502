// Coding agents against the hostile answers of their APIs, through a gate that lets no shell be called: none of them runs what it hides.
//
// What an agent has taken for a call, or run, stands in its next request. So each is asked for one answer after the other, and what the
// model then gets holds nothing of what the answers hide.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { createInterface } from "node:readline";

const { LEAFGATE_AGENTS } = process.env;
const STAGE = JSON.parse(process.env.LEAFGATE_STAGE);
const WORD = "heron-7731";
const PATIENCE = 240_000;
// So many programs at a time.
const ABREAST = 3;

let home;
let rows;

const ask = async (call) => (await fetch(`${STAGE.control}/${call}`)).json();
const asks = (row) => `Give me the hostile answer ${row.name}`;

before(async () => {
  home = await mkdtemp(join(tmpdir(), "leafgate-hostile-"));
  await mkdir(join(home, ".codex"));
  rows = (await ask("hostile")).filter((row) => row.stream && row.guards === "calls");
  await ask("left");
});

after(() => rm(home, { recursive: true, force: true }));

function start(program, args, variables) {
  const env = { PATH: [dirname(process.execPath), "/usr/bin", "/bin"].join(":"), HOME: home, ...variables };
  return spawn(program, args, { cwd: home, env, stdio: ["pipe", "pipe", "ignore"], timeout: PATIENCE });
}

/** The rows whose hidden call an agent has told the model of. */
async function told(of) {
  const bodies = (await ask("left")).map((request) => request.body);
  return of.filter((row) => bodies.some((body) => body.includes(`${WORD}--${row.name}.`))).map((row) => row.name);
}

test("Claude Code runs nothing that an answer hides", { timeout: PATIENCE }, async () => {
  const platform = `claude-code-${process.platform}-${process.arch}`;
  const child = start(
    join(LEAFGATE_AGENTS, "@anthropic-ai", platform, "claude"),
    ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--allowedTools", "Bash,Read"],
    {
      ANTHROPIC_BASE_URL: STAGE.calls,
      ANTHROPIC_API_KEY: "sk-test",
      ANTHROPIC_MODEL: "talks",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CODE_MAX_RETRIES: "0",
      DISABLE_AUTOUPDATER: "1",
      IS_SANDBOX: "1",
    },
  );
  const own = rows.filter((row) => row.api === "messages");
  const left = [...own];
  const next = () => {
    const row = left.shift();
    if (!row) return child.stdin.end();
    child.stdin.write(`${JSON.stringify({ type: "user", message: { role: "user", content: asks(row) } })}\n`);
  };
  next();
  let results = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    if (JSON.parse(line).type !== "result") continue;
    results += 1;
    next();
  }
  assert.equal(results, own.length);
  assert.deepEqual(await told(own), []);
});

test("Codex runs nothing that an answer hides", { timeout: PATIENCE }, async () => {
  const provider = `model = "talks"\nmodel_provider = "kit"\n[model_providers.kit]\nname = "kit"\nbase_url = "${STAGE.calls}/v1"\nwire_api = "responses"\n`;
  const once = `supports_websockets = false\nenv_key = "KIT_KEY"\nrequest_max_retries = 0\nstream_max_retries = 0\n`;
  await writeFile(join(home, ".codex/config.toml"), provider + once);
  const codex = join(LEAFGATE_AGENTS, "@openai/codex/bin/codex.js");
  const own = rows.filter((row) => row.api === "responses");
  const left = [...own];
  const work = async () => {
    for (let row = left.shift(); row; row = left.shift()) {
      const child = start(process.execPath, [codex, "exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", asks(row)], { KIT_KEY: "sk-test" });
      child.stdin.end();
      child.stdout.resume();
      await new Promise((ended) => child.on("close", ended));
    }
  };
  await Promise.all(Array.from({ length: ABREAST }, work));
  assert.deepEqual(await told(own), []);
});
