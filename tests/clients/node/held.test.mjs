// Clients live through a pause: held, resumed, cancelled; in every API.
//
// LEAFGATE_HOLD says for how many seconds one request is held: 3 unless told, two minutes in the soak. That wait is what the test is about; every
// other wait is for an event of the gate.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";

import { APIS, joined, MESSAGES, WAYS } from "./speak.mjs";
import * as stage from "./stage.mjs";

const HOLD = Number(process.env.LEAFGATE_HOLD ?? 3) * 1000;

beforeEach(stage.left);

/** A stream that has begun, and its turn, which waits. */
async function begun(api, asked, options) {
  const question = stage.question();
  const stream = api.pieces(api.client(stage.LIVELY, options), question, asked);
  const { id } = await stage.ask("lively", "paused");
  const pieces = await stream;
  return { answer: joined(pieces), question, turn: id };
}

/** Checks what a client raises when a person gave its turn up. */
function isCancelled(api, error) {
  if (api === MESSAGES) assert.equal(error.type, "invalid_request_error");
  else assert.equal(error.code, "leafgate_cancelled");
  assert.match(error.message, /canceled before sending/);
  return true;
}

test("streams that are held get their answers", async () => {
  // Without signs of life the clients give up long before: they wait less for an answer to begin.
  const options = { timeout: HOLD * 0.8, maxRetries: 0 };
  const calls = [];
  for (const api of APIS) calls.push(await begun(api, {}, options));
  await setTimeout(HOLD);
  assert.deepEqual(await stage.left(), []);
  for (const { turn } of calls) await stage.ask("lively", "resume", turn);
  for (const { answer, question } of calls) assert.equal(await answer, question);
  assert.equal((await stage.left()).length, calls.length);
});

for (const { api, name, say } of WAYS) {
  test(`a cancel before the first sign of life has a status: ${name}`, async () => {
    const answer = say(api.client(stage.QUIET), stage.question());
    const { id } = await stage.ask("quiet", "paused");
    const rejected = assert.rejects(answer, (error) => {
      assert.ok(error instanceof api.package.BadRequestError, `${error}`);
      return isCancelled(api, error);
    });
    await stage.ask("quiet", "cancel", id);
    await rejected;
    assert.deepEqual(await stage.left(), []);
  });
}

for (const api of APIS) {
  test(`a cancel after it is raised from the stream: ${api.name}`, async () => {
    const { answer, turn } = await begun(api);
    const rejected = assert.rejects(answer, (error) => {
      assert.ok(error instanceof api.package.APIError, `${error}`);
      assert.ok(!(error instanceof api.package.APIConnectionError), `${error}`);
      return isCancelled(api, error);
    });
    await stage.ask("lively", "cancel", turn);
    await rejected;
    assert.deepEqual(await stage.left(), []);
  });

  test(`an error of the upstream after a pause is raised from the stream: ${api.name}`, async () => {
    const { answer, turn } = await begun(api, { model: "status-529" });
    const rejected = assert.rejects(answer, (error) => {
      assert.ok(error instanceof api.package.APIError, `${error}`);
      assert.ok(error.message.includes("The upstream says 529."), error.message);
      return true;
    });
    await stage.ask("lively", "resume", turn);
    await rejected;
  });

  // S0-57
  test(`a retry joins and causes no second call: ${api.name}`, async () => {
    // The package's own retry: the first try hears nothing for as long as it is willing to wait.
    const question = stage.question();
    const stream = api.pieces(api.client(stage.QUIET, { timeout: 3000, maxRetries: 1 }), question);
    const { id } = await stage.ask("quiet", "paused");
    await stage.ask("quiet", "until", "disconnected");
    const back = await stage.ask("quiet", "until", "waiting");
    assert.deepEqual([back.id, back.connections], [id, 1]);
    await stage.ask("quiet", "resume", id);
    assert.equal(await joined(await stream), question);
    assert.equal((await stage.left()).length, 1, "one call however often it was tried");
  });

  // S0-54
  test(`a client without a stream waits for its answer: ${api.name}`, async () => {
    const question = stage.question();
    const answer = api.whole(api.client(stage.LIVELY), question);
    const { id } = await stage.ask("lively", "paused");
    await stage.ask("lively", "resume", id);
    assert.equal(await answer, question);
  });
}
