// What a client of any of the three APIs sees, streaming and not: answers, errors, secrets that do not leave, and headers that do.

import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";

import { APIS, MESSAGES, RESPONSES, WAYS, joined } from "./speak.mjs";
import * as stage from "./stage.mjs";

const TEXT = 'Grüße, 你好, 👋, and "quotes"\n\tin lines.';

beforeEach(stage.left);

for (const { api, name, say, streams } of WAYS) {
  describe(name, () => {
    test("echo answers with the request", async () => {
      const echoed = JSON.parse(await say(api.client(stage.ECHO), TEXT));
      assert.equal(api === RESPONSES ? echoed.input : echoed.messages[0].content, TEXT);
      assert.equal(echoed.stream ?? false, streams);
    });

    test("secrets leave as tokens and come back", async () => {
      assert.equal(await say(api.client(stage.LIVELY), stage.SECRETS), stage.SECRETS);
      const [request] = await stage.left();
      stage.redacted(request);
    });

    test("a blocked request raises and is not tried again", async () => {
      const { blocked } = await stage.ask("lively", "requests");
      await assert.rejects(say(api.client(stage.LIVELY), stage.BLOCKED), (error) => {
        assert.ok(error instanceof api.package.BadRequestError, `${error}`);
        assert.ok(error.message.includes("launch-codes") && error.message.includes(stage.REASON), error.message);
        if (api === MESSAGES) assert.equal(error.type, "invalid_request_error");
        else assert.equal(error.code, "leafgate_blocked");
        return true;
      });
      assert.equal((await stage.ask("lively", "requests")).blocked, blocked + 1);
      assert.deepEqual(await stage.left(), []);
    });

    for (const [status, kind] of [[429, "RateLimitError"], [529, "InternalServerError"]]) {
      test(`the upstream's ${status} is the package's own error`, async () => {
        const client = api.client(stage.LIVELY, { maxRetries: 0 });
        await assert.rejects(say(client, "Hello", { model: `status-${status}` }), (error) => {
          assert.ok(error instanceof api.package[kind], `${error}`);
          assert.equal(error.status, status);
          assert.ok(error.message.includes(`The upstream says ${status}.`), error.message);
          assert.equal(error.headers.get("retry-after-ms"), "1");
          return true;
        });
      });
    }

    test("a busy upstream is tried again", async () => {
      const client = api.client(stage.LIVELY, { maxRetries: 1 });
      assert.equal(await say(client, "Hello", { model: stage.BUSY_ONCE }), "Hello");
      const tries = (await stage.left()).map((request) => stage.headerOf(request)["x-stainless-retry-count"]);
      assert.deepEqual(tries, ["0", "1"]);
    });

    test("a request leaves as the package has sent it", async () => {
      const options = { defaultHeaders: { "x-team": "Blue, Green" }, defaultQuery: { beta: "true", trace: "a b&c" } };
      const left = await same(api, (client) => say(client, TEXT), { apiKey: "my-key", ...options });
      assert.match(left.target, /\?beta=true&trace=a(\+|%20)b%26c$/);
      const header = stage.headerOf(left);
      assert.equal(header["x-team"], "Blue, Green");
      assert.equal(header.authorization, "Bearer my-key");
    });
  });
}

for (const api of APIS) {
  test(`an answer in one piece is read as the stream that was asked for: ${api.name}`, async () => {
    const client = api.client(`${stage.LIVELY}/p/replayed`);
    const pieces = await api.pieces(client, stage.SECRETS, { model: stage.IN_ONE_PIECE });
    assert.equal(await joined(pieces), stage.SECRETS);
    const [request] = await stage.left();
    assert.ok(request.body.includes("Repeat it."), request.body);
    stage.redacted(request);
  });

  test(`a stream that breaks off has said all before: ${api.name}`, async () => {
    // The last word is a token, and nothing follows that would show where it ends.
    const text = `Write to ${stage.ADDRESS}`;
    const pieces = await api.pieces(api.client(stage.LIVELY), text, { model: stage.BREAKS_OFF });
    let said = "";
    const read = async () => {
      for await (const piece of pieces) said += piece;
    };
    await assert.rejects(read, (error) => {
      assert.ok(error instanceof api.package.APIError, `${error}`);
      return error.message.includes("The upstream says 529.");
    });
    assert.equal(said, text);
    assert.ok(!(await stage.left())[0].body.includes(stage.ADDRESS));
  });
}

test("headers of Anthropic leave as they are", async () => {
  const asked = { model: "sample", max_tokens: 64, messages: [{ role: "user", content: TEXT }] };
  const betas = ["one-2025-01-01", "two-2025-01-01"];
  // Earlier packages sent the key in a header of its own, and another version.
  const sent = { "x-api-key": "my-key", "anthropic-version": "2023-06-01" };
  const say = (client) => client.beta.messages.create({ ...asked, betas });
  const header = stage.headerOf(await same(MESSAGES, say, { defaultHeaders: sent }));
  for (const [name, value] of Object.entries(sent)) assert.equal(header[name], value);
  assert.equal(header["anthropic-beta"], betas.join(","));
});

test("what has no body leaves as it is", async () => {
  for (const api of APIS) {
    const left = await same(api, (client) => client.models.list());
    assert.deepEqual([left.target, left.body], ["/v1/models", ""], api.name);
  }
});

// What a proxy writes itself: about its own connections, and the codings that it can read in an answer.
const OWN = new Set(["host", "connection", "content-length", "accept-encoding"]);

/** Checks that what reaches the upstream through the gate is what reaches it without one; returns it. */
async function same(api, say, options) {
  const straight = await leftBy(stage.UPSTREAM);
  const through = await leftBy(stage.LIVELY);
  assert.deepEqual(through, straight);
  return through;

  async function leftBy(url) {
    await say(api.client(url, options));
    const [request] = await stage.left();
    return { ...request, headers: request.headers.filter(([name]) => !OWN.has(name)) };
  }
}
