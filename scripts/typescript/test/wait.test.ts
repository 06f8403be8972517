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

describe("a wait whose requests fail", () => {
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

describe("changes", () => {
  it("are yielded once each", async () => {
    const versions = [1, 1, 2].map((version) => ({ status: 200, body: { ...RECORD, version } }));
    server.answers = [...versions, AWAY, { status: 200, body: { ...SETTLED, version: 3 } }];
    const seen: unknown[] = [];
    for await (const { state, record } of server.client.changes("batches/abc", { everyMs: 4_000 })) {
      seen.push([state, record.version]);
    }
    assert.deepEqual(seen, [["RUNNING", 1], ["RUNNING", 2], ["SUCCEEDED", 3]]);
    assert.equal(server.asked[0], "GET /operations/batches/abc?wait=4000ms");
    assert.deepEqual(server.pauses, [4_000, 4_000, 4_000, 500]);
  });

  it("end with their time", async () => {
    server.answers = Array<Answer>(3).fill({ status: 200, body: RECORD });
    const changes = server.client.changes("batches/abc", { everyMs: 2_000, timeoutMs: 3_000 });
    assert.equal((await changes.next()).value?.state, "RUNNING");
    assert.equal((await failure(changes.next(), NotSettledError)).operation.state, "RUNNING");
  });
});
