// VS Code with Copilot Chat behind the gate, before a model of ours: what its user types, opens and runs arrives redacted, on whatever
// road; what the model says and writes is restored; and a person can hold, edit, refuse and end a turn.
//
// The model makes the calls that a prompt spells out, `CALLS [[TOOL, {…}], …]`, and then repeats the tokens that it was shown.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";

import { Editor, until } from "./editor.mjs";
import { inAnyForm } from "./forms.mjs";
import { BLOCKED, REASON, UPSTREAM, ask, headerOf, left } from "./stage.mjs";

const TOKEN = /[A-Z]+(?:_[A-Z]+)*_[0-9a-z]{16}/g;
const HELD = "Look into prod-db";

// All that an editor may take. A fault ends it with what it has shown by then.
const TIMEOUT = 8 * 60_000;

// What goes past the gate all the same, and so what a version that ignores `leafgate vscode` fails by: who is logged in, whether GitHub is up, on which cloud this is, which extensions there are, what
// a program does; and the list of models that agents inside the editor ask for, whom no setting leads.
const PAST = [
  "GET api.github.com",
  "GET www.githubstatus.com",
  "GET 169.254.169.254",
  "GET api.individual.githubcopilot.com",
  "POST open-vsx.org",
  "POST westus-0.in.applicationinsights.azure.com",
];

/** All that an editor has sent to any host, and all secrets that nothing may have sent. */
let received = [];
const secrets = [];

/** A key that nobody has, put together so that no scanner takes it for one. */
function secret() {
  const body = randomBytes(64).toString("base64").replace(/[^0-9A-Za-z]/g, "").slice(0, 36);
  secrets.push(["gh", "p_", body].join(""));
  return secrets.at(-1);
}

/** What has come since the last call. Nothing of it may hold a secret, in whatever form. */
async function sent() {
  const requests = await left();
  for (const request of requests) {
    const led = headerOf(request)["x-kit-host"] ?? "the gate";
    for (const one of secrets) {
      assert.ok(!inAnyForm(one, JSON.stringify(request), request.body), `a secret went by ${led} to ${request.target}`);
    }
  }
  received.push(...requests);
  return requests;
}

const tokens = (request) => new Set(request.body.match(TOKEN) ?? []);
const calls = (...list) => `CALLS ${JSON.stringify(list)}`;
const runs = (command) => [
  "run_in_terminal",
  { command, explanation: "Shows it", goal: "To see it", mode: "sync", isBackground: false, timeout: 0 },
];
const reads = (filePath) => ["read_file", { filePath, startLine: 1, endLine: 9 }];
const creates = (filePath, content) => ["create_file", { filePath, content }];

/** The tools by which models edit files, each putting lines in the place of a line. */
const EDITS = {
  apply_patch: (path, old, lines) => {
    const change = `-${old}\n${lines.replace(/^/gm, "+")}`;
    return { explanation: "Edits it", input: `*** Begin Patch\n*** Update File: ${path}\n${change}\n*** End Patch` };
  },
  insert_edit_into_file: (filePath, _, lines) => ({ explanation: "Edits it", filePath, code: `${lines}\nSTAGE=test\n` }),
  replace_string_in_file: (filePath, oldString, newString) => ({ filePath, oldString, newString }),
  multi_replace_string_in_file: (filePath, oldString, newString) => ({ explanation: "Edits it", replacements: [{ explanation: "Edits it", filePath, oldString, newString }] }),
};

/** A test in an editor, with a picture of its end. */
function scene(editor, name, play) {
  test(name, async () => {
    const picture = name.replaceAll(/[^\w.]+/g, "-");
    await sent();
    try {
      await play(editor(), picture);
      await editor().picture(picture);
    } catch (error) {
      await editor().picture(`${picture}-failed`);
      throw error;
    } finally {
      await sent();
    }
  });
}

/** What each model must show. */
function scenes(editor, model) {
  const at = (what, play) => scene(editor, `${model.name}: ${what}`, play);
  const turns = async () => (await sent()).filter(({ target }) => target.split("?")[0] === model.path);

  /** Asks something that a rule holds, in a conversation that has its title; returns the turn that waits. */
  async function held(editor, greeting) {
    await editor.begin(model);
    await editor.say(`${greeting}. ${calls()}`);
    await editor.answer();
    await sent();
    await editor.say(`${HELD}. ${calls()}`);
    return (await ask("standing", "paused")).id;
  }

  at("what is typed, opened and printed leaves as tokens and is shown again", async (editor) => {
    const [typed, opened, printed] = [secret(), secret(), secret()];
    await editor.write("settings.ini", `key = ${opened}\n`);
    await editor.write("printed.txt", `key = ${printed}\n`);
    await editor.begin(model);
    await editor.gives("settings.ini");
    await editor.say(`My key is ${typed}. ${calls(runs("cat printed.txt"))}`);
    const answer = await editor.answer();
    for (const one of [typed, opened, printed]) assert.ok(answer.includes(one), answer);
    // What goes on from a response by its name says only what is new.
    const asked = await turns();
    assert.equal(new Set(asked.flatMap((turn) => [...tokens(turn)])).size, 3, "a token for each");
    assert.equal(asked.some((turn) => JSON.parse(turn.body).previous_response_id), model.goesOn ?? false);
    // In the same conversation, since it shows what is summed up.
    await editor.say("/compact");
    assert.match(await editor.answer(), /Compacted/);
    const [summed] = await turns();
    assert.ok(tokens(summed).size > 0, "the summary shows none");
  });

  for (const tool of model.edits) {
    at(`${tool} writes a value back into its file, and into no other`, async (editor) => {
      const value = secret();
      const [own, other, made] = [".env", `${model.id}-${tool}.ini`, `${model.id}-${tool}.txt`];
      await editor.write(own, `API_KEY=${value}\nSTAGE=test\n`);
      await editor.write(other, "API_KEY=none\nSTAGE=test\n");
      await editor.begin(model);
      const edits = (name, old) => [tool, EDITS[tool](editor.path(name), `API_KEY=${old}`, "API_KEY=TOKEN\nCOPY=TOKEN")];
      const list = [reads(editor.path(own)), edits(own, "TOKEN"), edits(other, "none"), creates(editor.path(made), "TOKEN\n")];
      await editor.say(`Keep a copy. ${calls(...list)}`);
      assert.ok((await editor.answer()).includes(value));
      const edited = `API_KEY=${value}\nCOPY=${value}\nSTAGE=test\n`;
      assert.equal(await editor.read(own, (text) => text === edited), edited);
      assert.match(await editor.read(other, (text) => text.includes("COPY")), /^API_KEY=([A-Z_]+_[0-9a-z]{16})\nCOPY=\1\nSTAGE=test\n$/);
      assert.match(await editor.read(made, (text) => text.length > 0), /^[A-Z_]+_[0-9a-z]{16}\n$/);
    });
  }

  at("a held turn is edited in the prompt, resumed and answered", async (editor, picture) => {
    await held(editor, "Good morning");
    assert.equal((await turns()).length, 0, "something left while it waited");
    await editor.picture(`${picture}-waits`);
    await ask("standing", "edit", "prod-db", "staging");
    assert.match(await editor.answer(), /All done/);
    const [turn] = await turns();
    assert.ok(turn.body.includes("Look into staging") && !turn.body.includes("prod-db"));
  });

  at("a block shows its reason", async (editor) => {
    await editor.begin(model);
    await editor.say(BLOCKED);
    assert.ok((await editor.answer()).includes(REASON));
    await editor.scrollTo(REASON);
    assert.equal((await turns()).length, 0, "something left");
  });

  at("a cancel in the editor ends the turn", async (editor) => {
    const id = await held(editor, "Good evening");
    await editor.cancel();
    assert.equal((await ask("standing", "until", "disconnected")).id, id);
    assert.equal((await ask("standing", "until", "cancelled")).id, id);
    assert.equal((await turns()).length, 0, "something left");
  });
}

/** What holds of all that came: each of these roads was taken, and whatever a version does anew past the gate is to be looked at. */
function nothingPast(editor, roads) {
  test("nothing that a model reads goes past the gate", async () => {
    await sent();
    const past = received.filter((request) => headerOf(request)["x-kit-host"]);
    const hosts = new Set(past.map((request) => `${request.method} ${headerOf(request)["x-kit-host"]}`));
    assert.deepEqual([...hosts].filter((host) => !PAST.includes(host)), []);
    const taken = received.filter((request) => !past.includes(request)).map((request) => `${request.target} ${headerOf(request)["x-interaction-type"]}`);
    assert.deepEqual(roads.filter((road) => !taken.some((one) => one.startsWith(road))), []);
  });

  test("its settings lead to the gate, and are given back as they were", async () => {
    await editor().lead("status");
    await editor().lead("off");
    assert.deepEqual(await editor().files(), editor().before);
  });
}

describe("VS Code, signed in", { timeout: TIMEOUT }, () => {
  let editor;
  const vendor = "copilot";
  const models = [
    { vendor, id: "gpt-4.1", name: "GPT-4.1", path: "/chat/completions", edits: ["insert_edit_into_file", "apply_patch"] },
    { vendor, id: "gpt-5.4", name: "GPT-5.4", path: "/responses", edits: ["apply_patch"] },
    { vendor, id: "claude-sonnet-4.5", name: "Claude Sonnet 4.5", path: "/v1/messages", edits: ["replace_string_in_file", "multi_replace_string_in_file"] },
  ];
  const auto = { vendor, id: "auto", name: "Auto" };

  before(async () => {
    received = [];
    editor = await Editor.start({ models: [...models, auto] });
    await editor.open({ signedIn: true });
    // Asked before it knows who it works for, the editor would ask its user to sign in. With the first word Copilot Chat wakes up.
    await until("the login", async () => (await sent()).some(({ target }) => target === "/copilot_internal/user"));
    await editor.say(`Good morning. ${calls()}`);
    await editor.answer();
  });
  after(() => editor?.stop());

  for (const model of models) scenes(() => editor, model);

  scene(() => editor, "Auto: the prompt that chooses a model holds tokens", async () => {
    const typed = secret();
    await editor.begin(auto);
    await editor.say(`My key is ${typed}. ${calls()}`);
    assert.ok((await editor.answer()).includes(typed));
    assert.ok((await sent()).some((request) => request.target === "/auto" && tokens(request).size === 1));
  });

  // What completes a text is not restored: a token is offered.
  scene(() => editor, "what is offered while one types is asked with tokens", async (editor) => {
    await editor.write("keys.py", `KEY = "${secret()}"\n\n`);
    await editor.shows("keys.py");
    await editor.type("COPY = ");
    await editor.offers(/^[A-Z_]+_[0-9a-z]{16}$/);
  });

  nothingPast(() => editor, [
    "/auto",
    "/chat/completions conversation-background",
    "/v1/messages conversation-compaction",
    "/proxy/v1/engines/",
    "/proxy/chat/completions",
  ]);
});

describe("VS Code with a key of one's own, signed out", { timeout: TIMEOUT }, () => {
  let editor;
  const models = [
    ["chat-completions", "/v1/chat/completions"],
    ["responses", "/v1/responses"],
    ["messages", "/v1/messages"],
  ].map(([api, path]) => {
    const edits = ["replace_string_in_file"];
    return { vendor: "customendpoint", id: `own-${api}`, name: `own ${api}`, path, edits, goesOn: api === "responses" };
  });
  const own = models.map(({ vendor, id, name, path }) => {
    const limits = { maxInputTokens: 128_000, maxOutputTokens: 16_000 };
    const model = { id, name, url: UPSTREAM + path, toolCalling: true, vision: false, ...limits };
    return { vendor, name, apiKey: "none", apiType: id.slice(4), models: [{ ...model, requestHeaders: { authorization: "Bearer own" } }] };
  });

  before(async () => {
    received = [];
    editor = await Editor.start({ settings: { "chat.allowAnonymousAccess": true }, own, models });
    await editor.open({ signedIn: false });
    await editor.say(`Good morning. ${calls()}`);
    await editor.answer();
  });
  after(() => editor?.stop());

  for (const model of models) scenes(() => editor, model);

  nothingPast(() => editor, ["/chat/completions conversation-background"]);
});
