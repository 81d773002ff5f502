// What only the `openai` package does: tools in both of its APIs, their stream helpers, embeddings, completions.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { AzureOpenAI } from "openai";

import { CHAT } from "./speak.mjs";
import * as stage from "./stage.mjs";

const READ_FILE = {
  name: "read_file",
  description: "Returns a file.",
  parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
};
const QUESTION = { role: "user", content: "Read my notes" };

const client = CHAT.client(stage.LIVELY);
const echo = CHAT.client(stage.ECHO);

beforeEach(stage.left);

const CHATS = {
  whole: async (asked) => (await client.chat.completions.create(asked)).choices[0].message,
  streamed: async (asked) => (await client.chat.completions.stream(asked).finalChatCompletion()).choices[0].message,
};

for (const [way, ask] of Object.entries(CHATS)) {
  test(`a chat calls a tool and gets its result, ${way}`, async () => {
    const tools = [{ type: "function", function: READ_FILE }];
    const [call] = (await ask({ model: "sample", tools, messages: [QUESTION] })).tool_calls;
    assert.deepEqual([call.function.name, call.function.arguments], ["read_file", stage.ARGUMENTS]);
    const { name, arguments: args } = call.function;
    const called = { id: call.id, type: "function", function: { name, arguments: args } };
    const result = { role: "tool", tool_call_id: call.id, content: stage.SECRETS };
    const messages = [QUESTION, { role: "assistant", content: null, tool_calls: [called] }, result];
    assert.equal((await ask({ model: "sample", tools, messages })).content, stage.SECRETS);
    const body = stage.redacted((await stage.left())[1]);
    assert.deepEqual([body.messages[1].tool_calls, body.tools], [[called], tools]);
  });
}

const RESPONSES = {
  whole: (asked) => client.responses.create(asked),
  streamed: (asked) => client.responses.stream(asked).finalResponse(),
};

for (const [way, ask] of Object.entries(RESPONSES)) {
  test(`Responses call a tool and get its result, ${way}`, async () => {
    const tools = [{ type: "function", strict: false, ...READ_FILE }];
    const [call] = (await ask({ model: "sample", tools, input: [QUESTION] })).output;
    assert.deepEqual([call.type, call.name, call.arguments], ["function_call", "read_file", stage.ARGUMENTS]);
    const { type, id, call_id, name, arguments: args } = call;
    const called = { type, id, call_id, name, arguments: args };
    const result = { type: "function_call_output", call_id, output: stage.SECRETS };
    const input = [QUESTION, called, result];
    assert.equal((await ask({ model: "sample", tools, input })).output_text, stage.SECRETS);
    const body = stage.redacted((await stage.left())[1]);
    assert.deepEqual([body.input[1], body.tools], [called, tools]);
  });
}

test("every repetition in a stream of Responses is restored", async () => {
  const events = {};
  const stream = await client.responses.create({ model: "sample", input: stage.SECRETS, stream: true });
  for await (const event of stream) events[event.type] = event;
  const said = [
    events["response.output_text.done"].text,
    events["response.content_part.done"].part.text,
    events["response.output_item.done"].item.content[0].text,
    events["response.completed"].response.output[0].content[0].text,
  ];
  assert.deepEqual(said, Array(4).fill(stage.SECRETS));
});

test("embeddings", async () => {
  for (const some of [client, echo]) {
    const answer = await some.embeddings.create({ model: "sample", input: [stage.SECRETS, "Hello"] });
    assert.deepEqual(answer.data.map((entry) => entry.embedding), [[1, 0, 0], [1, 0, 0]]);
  }
  stage.redacted((await stage.left())[0]);
});

test("completions", async () => {
  const answer = await echo.completions.create({ model: "sample", prompt: "Once upon a time" });
  assert.equal(JSON.parse(answer.choices[0].text).prompt, "Once upon a time");
  await client.completions.create({ model: "sample", prompt: stage.SECRETS });
  stage.redacted((await stage.left())[0]);
});

test("a deployment on Azure", async () => {
  const azure = new AzureOpenAI({ endpoint: stage.LIVELY, apiKey: "my-key", apiVersion: "2024-10-21" });
  assert.equal(await CHAT.whole(azure, stage.SECRETS, { model: "my-model" }), stage.SECRETS);
  const [request] = await stage.left();
  stage.redacted(request);
  assert.equal(request.target, "/openai/deployments/my-model/chat/completions?api-version=2024-10-21");
  assert.equal(stage.headerOf(request)["api-key"], "my-key");
});
