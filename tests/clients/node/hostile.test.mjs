// The official packages against the table of hostile answers: what a rule guards reaches none of them. Each answer is read in every way
// that a package offers. One that the gate refuses, or that a package cannot read, shows nothing.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI from "openai";

import * as stage from "./stage.mjs";

const WORD = "heron-7731";
const TOOL = "Bash";
// What a package calls a tool that an item of Responses is, and that has no name.
const UNNAMED = ["local_shell_call", "apply_patch_call"];
const TOOLS = ["Read", "Write", TOOL];
const SCHEMA = { type: "object", properties: {} };

const asked = (row) => `Write to ${stage.ADDRESS} and give me the hostile answer ${row.name}`;
const user = (row) => [{ role: "user", content: asked(row) }];
const text = (value) => (typeof value === "string" ? value : JSON.stringify(value ?? ""));

/** What a package has found: calls as a tool and its arguments, and texts. */
class Seen {
  calls = [];
  texts = [];
  call(tool, args) {
    this.calls.push([tool, text(args)]);
  }
  text(said) {
    this.texts.push(text(said));
  }
}

/** What came of events before one of them could not be read. */
async function pieces(events, take) {
  try {
    for await (const event of await events) take(event);
  } catch {}
}

function chatMessage(seen, message) {
  seen.text(message.content);
  seen.text(message.refusal);
  if (message.function_call) seen.call(message.function_call.name, message.function_call.arguments);
  for (const call of message.tool_calls ?? []) {
    if (call.function) seen.call(call.function.name, call.function.arguments);
    if (call.custom) seen.call(call.custom.name, call.custom.input);
  }
}

const openai = (row) => new OpenAI({ baseURL: `${stage.ADDRESSES[row.guards]}/v1`, apiKey: "none", maxRetries: 0 });

async function* chat(row) {
  const tools = TOOLS.map((name) => ({ type: "function", function: { name, parameters: SCHEMA } }));
  const request = { model: "m", messages: user(row), tools };
  const client = openai(row);
  const seen = new Seen();
  if (!row.stream) {
    for (const choice of (await client.chat.completions.create(request)).choices) chatMessage(seen, choice.message);
    seen.text(seen.texts.join(""));
    return yield seen;
  }
  const calls = new Map();
  let said = "";
  await pieces(client.chat.completions.create({ ...request, stream: true }), (chunk) => {
    for (const { delta } of chunk.choices ?? []) {
      said += delta?.content ?? "";
      for (const piece of delta?.tool_calls ?? []) {
        const call = calls.get(piece.index) ?? calls.set(piece.index, ["", ""]).get(piece.index);
        call[0] += piece.function?.name ?? "";
        call[1] += piece.function?.arguments ?? "";
      }
    }
  });
  seen.text(said);
  for (const call of calls.values()) seen.call(...call);
  yield seen;
  const helped = new Seen();
  const whole = await client.chat.completions.stream(request).finalChatCompletion();
  for (const choice of whole.choices) chatMessage(helped, choice.message);
  yield helped;
}

function items(seen, output) {
  for (const item of output) {
    if (item.type === "message") for (const part of item.content) seen.text(part.text);
    else if (UNNAMED.includes(item.type)) seen.call(item.type, item.action ?? item.operation);
    else if (item.type === "function_call") seen.call(item.name, item.arguments);
    else if (item.type === "custom_tool_call") seen.call(item.name, item.input);
  }
}

async function* responses(row) {
  const tools = TOOLS.map((name) => ({ type: "function", name, parameters: SCHEMA, strict: false }));
  const request = { model: "m", input: asked(row), tools };
  const client = openai(row);
  const seen = new Seen();
  if (!row.stream) {
    const response = await client.responses.create(request);
    items(seen, response.output);
    seen.text(response.output_text);
    return yield seen;
  }
  let said = "";
  await pieces(client.responses.create({ ...request, stream: true }), (event) => {
    if (event.type === "response.output_item.done") items(seen, [event.item]);
    else if (event.response) items(seen, event.response.output);
    else if (event.type === "response.output_text.delta") said += event.delta;
    else if (event.type === "response.output_text.done") seen.text(event.text);
    else if (event.type === "response.function_call_arguments.done") seen.call(event.name, event.arguments);
  });
  seen.text(said);
  yield seen;
  const helped = new Seen();
  const response = await client.responses.stream(request).finalResponse();
  items(helped, response.output);
  helped.text(response.output_text);
  yield helped;
}

function blocks(seen, content) {
  for (const block of content) {
    if (block.type === "text") seen.text(block.text);
    if (block.type === "tool_use") seen.call(block.name, block.input);
  }
  seen.text(content.map((block) => (block.type === "text" ? block.text : "")).join(""));
}

async function* messages(row) {
  const tools = TOOLS.map((name) => ({ name, input_schema: SCHEMA }));
  const request = { model: "m", max_tokens: 64, messages: user(row), tools };
  const client = new Anthropic({ baseURL: stage.ADDRESSES[row.guards], apiKey: "none", maxRetries: 0 });
  const seen = new Seen();
  if (!row.stream) {
    blocks(seen, (await client.messages.create(request)).content);
    return yield seen;
  }
  const calls = new Map();
  let said = "";
  await pieces(client.messages.create({ ...request, stream: true }), (event) => {
    if (event.type === "message_start") blocks(seen, event.message.content);
    else if (event.type === "content_block_start") {
      blocks(seen, [event.content_block]);
      said += event.content_block.text ?? "";
      calls.set(event.index, [event.content_block.name, ""]);
    } else if (event.delta?.type === "text_delta") said += event.delta.text;
    else if (event.delta?.type === "input_json_delta" && calls.has(event.index)) calls.get(event.index)[1] += event.delta.partial_json;
  });
  seen.text(said);
  for (const call of calls.values()) seen.call(...call);
  yield seen;
  const helped = new Seen();
  blocks(helped, (await client.messages.stream(request).finalMessage()).content);
  yield helped;
}

async function* gemini(row) {
  const client = new GoogleGenAI({ apiKey: "none", httpOptions: { baseUrl: stage.ADDRESSES[row.guards] } });
  const tools = [{ functionDeclarations: TOOLS.map((name) => ({ name, parametersJsonSchema: SCHEMA })) }];
  const request = { model: "m", contents: asked(row), config: { tools } };
  const seen = new Seen();
  let said = "";
  const take = (piece) => {
    for (const call of piece.functionCalls ?? []) seen.call(call.name, call.args);
    for (const candidate of piece.candidates ?? []) {
      for (const part of candidate.content?.parts ?? []) {
        if (part.functionCall) seen.call(part.functionCall.name, part.functionCall);
        said += part.text ?? "";
      }
    }
  };
  if (row.stream) await pieces(client.models.generateContentStream(request), take);
  else take(await client.models.generateContent(request));
  seen.text(said);
  yield seen;
}

const APIS = { chat, responses, messages, gemini };

/** What of that which a row guards has been seen. */
function fault(row, seen) {
  if (row.guards === "calls") return seen.calls.filter(([tool, args]) => [TOOL, ...UNNAMED].includes(tool) || args.includes(WORD));
  if (row.guards === "texts") return seen.texts.filter((said) => said.includes(WORD));
  const linked = (said) => said.split(/\s/).some((word) => word.includes("://") && word.includes(stage.ADDRESS));
  return [...seen.texts.filter(linked), ...seen.calls.filter(([, args]) => args.includes(stage.ADDRESS))];
}

test("what is guarded reaches no package", async () => {
  const faults = [];
  for (const row of (await stage.ask("hostile")).filter(({ api }) => api in APIS)) {
    try {
      for await (const seen of APIS[row.api](row)) {
        const found = fault(row, seen);
        if (found.length) faults.push(`${row.name} (${row.what}): ${JSON.stringify(found)}`);
      }
    } catch {
      // Whatever it is: nothing was seen.
    }
  }
  assert.ok(faults.length === 0, `${faults.length} faults\n${faults.join("\n")}`);
});
