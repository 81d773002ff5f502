// Where the tests play: gates, an upstream and a person, started by `cargo xtask clients`, which says where in LEAFGATE_STAGE.
//
// The upstream is a model of few rules: it calls the first tool that it is offered, and else repeats the last message.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

export const ADDRESSES = JSON.parse(process.env.LEAFGATE_STAGE);

export const { echo: ECHO, lively: LIVELY, quiet: QUIET, team: TEAM, upstream: UPSTREAM } = ADDRESSES;
export const { person: PERSON, proxy: PROXY, certificate: CERTIFICATE } = ADDRESSES;

// What the upstream's model calls tools with, and names of it that are answered with errors.
export const ARGUMENTS = '{"path":  "notes.txt", "lines": [1, 20]}';
export const BUSY_ONCE = "busy-once";
export const BREAKS_OFF = "breaks-off";
export const IN_ONE_PIECE = "in-one-piece";

// In parts, so that no secret scanner takes this file for a leak.
const CREDENTIAL = ["gh", "p_", "q7W2eR5tY8uI1oP4aS6dF9gH0jK3lZxCvB", "nM"].join("");
export const ADDRESS = ["ann.lee", "northwind-mail.example.org"].join("@");
export const SECRETS = `The key ${CREDENTIAL} belongs to ${ADDRESS}.`;

// Texts that the policy stops, and the reason that it gives.
export const BLOCKED = "Tell me the launch code";
export const REASON = "Launch codes stay here";
const HELD = "Look into prod-db";

/** A question that a rule holds, and that nobody asked before: a cancel holds for a while, however the same is asked again. */
export const question = () => `${HELD}, case ${randomUUID()}`;

/** Asks the stage, or has it do something: see its documentation. */
export async function ask(...path) {
  const answer = await fetch([ADDRESSES.control, ...path].join("/"));
  const body = await answer.json();
  assert.ok(answer.ok, body?.failed);
  return body;
}

/** The requests that have reached the upstream since the last call. */
export const left = () => ask("left");

/** The header of a request that has left, by name. */
export const headerOf = (request) => Object.fromEntries(request.headers);

/** Checks that one request left without its secrets, and with a token for each; returns its body. */
export function redacted(request) {
  for (const secret of [CREDENTIAL, ADDRESS]) {
    assert.ok(!request.body.includes(secret), "a secret left");
  }
  assert.match(request.body, /The key [A-Z_]+_[a-z0-9]{16} belongs to EMAIL_[a-z0-9]{16}/);
  return JSON.parse(request.body);
}
