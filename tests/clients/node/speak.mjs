// The three APIs through their official packages, each reduced to: say a text, and get what the model says, whole or in pieces.

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
  async pieces(client, text, options) {
    const asked = { model: MODEL, messages: user(text), stream: true, ...options };
    return each(await client.chat.completions.create(asked), (chunk) => chunk.choices[0]?.delta.content);
  },
};

export const RESPONSES = {
  name: "Responses",
  package: OpenAI,
  client: openai,
  async whole(client, text, options) {
    return (await client.responses.create({ model: MODEL, input: text, ...options })).output_text;
  },
  async pieces(client, text, options) {
    const stream = await client.responses.create({ model: MODEL, input: text, stream: true, ...options });
    return each(stream, (event) => event.type === "response.output_text.delta" && event.delta);
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
  async pieces(client, text, options) {
    const asked = { model: MODEL, max_tokens: 64, messages: user(text), stream: true, ...options };
    return each(await client.messages.create(asked), (event) => event.delta?.text);
  },
};

export const APIS = [CHAT, RESPONSES, MESSAGES];

/** What the events of a stream say, where they say something. */
async function* each(stream, said) {
  for await (const event of stream) yield said(event) || "";
}

/** A stream, once it has ended. */
export async function joined(pieces) {
  let said = "";
  for await (const piece of pieces) said += piece;
  return said;
}

/** Each API twice, with a name for whoever reads of a failure. */
export const WAYS = APIS.flatMap((api) => {
  const streamed = async (...asked) => joined(await api.pieces(...asked));
  return [
    { api, name: `${api.name}, whole`, say: api.whole, streams: false },
    { api, name: `${api.name}, streamed`, say: streamed, streams: true },
  ];
});
