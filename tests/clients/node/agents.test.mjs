// A team of agents behind the base URL: a client runs the tool of an agent two levels down, as its package would run any.

import assert from "node:assert/strict";
import { test } from "node:test";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

import * as stage from "./stage.mjs";

const NOTE = "NOTE-4711";
const QUESTION = { role: "user", content: "What does notes.txt say?" };
const SAID = `The file says ${NOTE}.`;
const PARAMETERS = { type: "object", properties: { path: { type: "string" } }, required: ["path"] };

function readFile(args) {
  assert.deepEqual(args, { path: "notes.txt" });
  return `${NOTE} stands here.`;
}

const openai = new OpenAI({ baseURL: `${stage.TEAM}/agents/v1`, apiKey: "none" });
const anthropic = new Anthropic({ baseURL: `${stage.TEAM}/agents`, apiKey: "none" });

const CHATS = {
  whole: async (asked) => (await openai.chat.completions.create(asked)).choices[0].message,
  streamed: async (asked) => (await openai.chat.completions.stream(asked).finalChatCompletion()).choices[0].message,
};

for (const [way, ask] of Object.entries(CHATS)) {
  test(`a chat runs the tool of a delegated agent, ${way}`, async () => {
    const asked = { model: "sample", tools: [{ type: "function", function: { name: "read_file", parameters: PARAMETERS } }] };
    const { tool_calls: [call] } = await ask({ ...asked, messages: [QUESTION] });
    const called = { id: call.id, type: "function", function: { name: call.function.name, arguments: call.function.arguments } };
    const result = { role: "tool", tool_call_id: call.id, content: readFile(JSON.parse(call.function.arguments)) };
    const messages = [QUESTION, { role: "assistant", content: null, tool_calls: [called] }, result];
    assert.equal((await ask({ ...asked, messages })).content, SAID);
  });
}

const RESPONSES = {
  whole: (asked) => openai.responses.create(asked),
  streamed: (asked) => openai.responses.stream(asked).finalResponse(),
};

for (const [way, ask] of Object.entries(RESPONSES)) {
  test(`Responses run the tool of a delegated agent, ${way}`, async () => {
    const asked = { model: "sample", tools: [{ type: "function", name: "read_file", parameters: PARAMETERS, strict: false }] };
    const call = (await ask({ ...asked, input: [QUESTION] })).output.find((item) => item.type === "function_call");
    const called = { type: "function_call", call_id: call.call_id, name: call.name, arguments: call.arguments };
    const output = readFile(JSON.parse(call.arguments));
    const input = [QUESTION, called, { type: "function_call_output", call_id: call.call_id, output }];
    assert.equal((await ask({ ...asked, input })).output_text, SAID);
  });
}

const MESSAGES = {
  whole: (asked) => anthropic.messages.create(asked),
  streamed: (asked) => anthropic.messages.stream(asked).finalMessage(),
};

for (const [way, ask] of Object.entries(MESSAGES)) {
  test(`Messages run the tool of a delegated agent, ${way}`, async () => {
    const asked = { model: "sample", max_tokens: 64, tools: [{ name: "read_file", input_schema: PARAMETERS }] };
    const call = (await ask({ ...asked, messages: [QUESTION] })).content.find((block) => block.type === "tool_use");
    const called = { type: "tool_use", id: call.id, name: call.name, input: call.input };
    const result = { type: "tool_result", tool_use_id: call.id, content: readFile(call.input) };
    const messages = [QUESTION, { role: "assistant", content: [called] }, { role: "user", content: [result] }];
    const said = (await ask({ ...asked, messages })).content.filter((block) => block.type === "text");
    assert.equal(said.map((block) => block.text).join(""), SAID);
  });
}
