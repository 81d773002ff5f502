// A client that would rather speak Responses over a WebSocket is told 426, and goes on over HTTP: written by hand, as Codex does it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { WebSocket } from "ws";

import * as stage from "./stage.mjs";

const HEADERS = { authorization: "Bearer none", "openai-beta": "responses_websockets=2026-02-06" };

/** Tries a handshake; the status that it is refused with, if it is. */
function handshake() {
  const socket = new WebSocket(`${stage.LIVELY.replace("http", "ws")}/v1/responses`, { headers: HEADERS });
  return new Promise((resolve, reject) => {
    socket.on("open", () => resolve(null));
    socket.on("unexpected-response", (request, answer) => {
      request.destroy();
      resolve(answer.statusCode);
    });
    socket.on("error", reject);
  });
}

/** The same request over HTTP, its events read up to the one that ends them. */
async function post(text) {
  const message = { type: "message", role: "user", content: [{ type: "input_text", text }] };
  const answer = await fetch(`${stage.LIVELY}/v1/responses`, {
    method: "POST",
    headers: { ...HEADERS, "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ model: "sample", stream: true, store: false, input: [message] }),
  });
  assert.equal(answer.status, 200);
  const events = (await answer.text()).split("\n\n").filter(Boolean);
  const data = events.map((event) => JSON.parse(event.slice(event.indexOf("data: ") + "data: ".length)));
  assert.equal(data.at(-1).type, "response.completed");
  return data.filter((event) => event.type === "response.output_text.delta").map((event) => event.delta).join("");
}

test("a refused client falls back", async () => {
  await stage.left();
  const status = await handshake();
  assert.equal(status, 426);
  assert.equal(await post(stage.SECRETS), stage.SECRETS);
  // The handshake itself went no further than the gate.
  const requests = await stage.left();
  assert.equal(requests.length, 1);
  stage.redacted(requests[0]);
});
