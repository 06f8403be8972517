// Tests of wait against a server that answers as it is told.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { NotSettledError, OpledgerError } from "../src/index.js";
import { Answering, AWAY, failure, RECORD, SETTLED, type Answer } from "./answering.js";

const server = new Answering();

describe("wait", () => {
  it("asks until it is settled", async () => {
    server.answers = [{ status: 200, body: RECORD }, AWAY, { status: 200, body: SETTLED }];
    const operation = await server.client.wait("models/veo/operations/a b");
    assert.ok(operation.settled);
    assert.equal(operation.result.outputFile, "files/out");
    assert.equal(operation.result.errorCode, null);
    assert.equal(server.requests[0]?.asked, "GET /operations/models/veo/operations/a%20b?wait=30000ms");
    assert.deepEqual(server.pauses, [2_000, 500]);
  });

  it("ends with its time", async () => {
    server.answers = Array<Answer>(3).fill({ status: 200, body: RECORD }); // early, as a server that stops
    const error = await failure(server.client.wait("batches/abc", { timeoutMs: 3_000 }), NotSettledError);
    assert.match(error.message, /batches\/abc is still RUNNING/);
    assert.equal(error.operation.state, "RUNNING");
    assert.deepEqual(server.pauses, [2_000, 1_000]);
  });
});

describe("a wait whose server.requests fail", () => {
  it("may be for ever", async () => {
    server.answers = [AWAY, { status: 200, body: SETTLED }];
    assert.equal((await server.client.wait("batches/abc", { timeoutMs: Infinity })).state, "SUCCEEDED");
  });

  it("stops repeating them with its time", async () => {
    server.answers = [
      { status: 200, body: RECORD },
      AWAY,
      { status: 503, body: "", headers: { "Retry-After": "60" } },
    ];
    const error = await failure(server.client.wait("batches/abc", { timeoutMs: 10_000 }), NotSettledError);
    assert.match(error.message, /still RUNNING .*503/);
    assert.ok(error.cause instanceof OpledgerError);
    assert.deepEqual(server.pauses, [2_000, 500]);
  });

  it("ends where nothing answers", async () => {
    const error = await failure(server.client.wait("batches/abc", { timeoutMs: 3_000 }), NotSettledError);
    assert.match(error.message, /batches\/abc is still unknown/);
    assert.equal(error.operation.state, "");
    assert.deepEqual(server.pauses, [500, 1_000]);
  });
});
