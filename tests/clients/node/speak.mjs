// The three APIs through their official packages, each reduced to: say a text, and get what the model says, whole or streamed.
//
// `begun` is called when a stream has begun.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

const MODEL = "sample";
const user = (text) => [{ role: "user", content: text }];

const openai = (url, options) => new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", ...options });
const anthropic = (url, options) => new Anthropic({ baseURL: url, apiKey: "none", ...options });

export const CHAT = {
  name: "chat completions",
  package: OpenAI,
  client: openai,
  async whole(client, text, options) {
    const answer = await client.chat.completions.create({ model: MODEL, messages: user(text), ...options });
    return answer.choices[0].message.content;
  },
  async streamed(client, text, options, begun = () => {}) {
    const asked = { model: MODEL, messages: user(text), stream: true, ...options };
    const stream = await client.chat.completions.create(asked);
    begun();
    let said = "";
    for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? "";
    return said;
  },
};

export const RESPONSES = {
  name: "Responses",
  package: OpenAI,
  client: openai,
  async whole(client, text, options) {
    return (await client.responses.create({ model: MODEL, input: text, ...options })).output_text;
  },
  async streamed(client, text, options, begun = () => {}) {
    const stream = await client.responses.create({ model: MODEL, input: text, stream: true, ...options });
    begun();
    let said = "";
    for await (const event of stream) if (event.type === "response.output_text.delta") said += event.delta;
    return said;
  },
};

export const MESSAGES = {
  name: "Messages",
  package: Anthropic,
  client: anthropic,
  async whole(client, text, options) {
    const answer = await client.messages.create({ model: MODEL, max_tokens: 64, messages: user(text), ...options });
    return answer.content[0].text;
  },
  async streamed(client, text, options, begun = () => {}) {
    const asked = { model: MODEL, max_tokens: 64, messages: user(text), stream: true, ...options };
    const stream = await client.messages.create(asked);
    begun();
    let said = "";
    for await (const event of stream) {
      if (event.type === "content_block_delta" && event.delta.type === "text_delta") said += event.delta.text;
    }
    return said;
  },
};

export const APIS = [CHAT, RESPONSES, MESSAGES];

/** Each API twice, with a name for whoever reads of a failure. */
export const WAYS = APIS.flatMap((api) => [
  { api, name: `${api.name}, whole`, say: api.whole, streams: false },
  { api, name: `${api.name}, streamed`, say: api.streamed, streams: true },
]);
