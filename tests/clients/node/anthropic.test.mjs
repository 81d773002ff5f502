// What only the `@anthropic-ai/sdk` package does: tools as blocks, its stream helper, the count of tokens.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { MESSAGES } from "./speak.mjs";
import * as stage from "./stage.mjs";

const TOOLS = [
  {
    name: "read_file",
    description: "Returns a file.",
    input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];
const QUESTION = { role: "user", content: "Read my notes" };

const client = MESSAGES.client(stage.LIVELY);

beforeEach(stage.left);

const WAYS = {
  whole: (asked) => client.messages.create(asked),
  streamed: (asked) => client.messages.stream(asked).finalMessage(),
};

for (const [way, send] of Object.entries(WAYS)) {
  test(`a tool is called and its result sent, ${way}`, async () => {
    const ask = (messages) => send({ model: "sample", max_tokens: 64, tools: TOOLS, messages });
    const called = await ask([QUESTION]);
    const { type, id, name, input } = called.content[0];
    assert.deepEqual([type, name, called.stop_reason], ["tool_use", "read_file", "tool_use"]);
    assert.deepEqual(input, JSON.parse(stage.ARGUMENTS));
    const use = { type, id, name, input };
    const result = { type: "tool_result", tool_use_id: id, content: [{ type: "text", text: stage.SECRETS }] };
    const answer = await ask([QUESTION, { role: "assistant", content: [use] }, { role: "user", content: [result] }]);
    assert.deepEqual([answer.content[0].text, answer.stop_reason], [stage.SECRETS, "end_turn"]);
    const body = stage.redacted((await stage.left())[1]);
    assert.deepEqual([body.messages[1].content, body.tools], [[use], TOOLS]);
  });
}

test("tokens are counted of what leaves", async () => {
  const asked = { model: "sample", messages: [{ role: "user", content: stage.SECRETS }] };
  const counted = await client.messages.countTokens(asked);
  const [request] = await stage.left();
  assert.equal(request.target, "/v1/messages/count_tokens");
  stage.redacted(request);
  // The upstream counts a token for each byte.
  assert.equal(counted.input_tokens, Buffer.byteLength(request.body));
  assert.ok((await MESSAGES.client(stage.ECHO).messages.countTokens(asked)).input_tokens > 0);
});
