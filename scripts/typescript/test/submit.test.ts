// Tests of submitOnce against a server that answers as it is told.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AnsweredError, NotSentError, Opledger, OpledgerError, SubmitError } from "../src/index.js";
import { Answering, AWAY, failure, RECORD, SETTLED, type Answer } from "./answering.js";

const OPEN = { intent: { state: "OPEN" }, verdict: "submit" };
const WAIT = { intent: { state: "OPEN" }, verdict: "wait", waitSeconds: 300 };
const BOUND = { intent: { state: "BOUND", operation: "batches/abc" }, verdict: "bound" };
const BATCH = { collection: "batches" } as const;

const server = new Answering();
const create = async () => "batches/abc";
const mustNot = () => assert.fail("created");
const throws = (error: unknown) => async () => {
  throw error;
};

describe("submitOnce", () => {
  it("records the intent, creates, and registers", async () => {
    server.answers = [{ status: 201, body: OPEN }, { status: 201, body: RECORD }];
    const before: string[] = [];
    const submitted = await server.client.submitOnce(
      "night-1",
      async (mark) => {
        before.push(...server.asked);
        return `batches/${mark.userMetadata()["opledger_correlation_id"]}`;
      },
      { collection: "batches", jobKind: "review", metadata: { rows: 3 } },
    );
    assert.deepEqual(before, ["POST /register"]);
    const job = { correlationId: "night-1", jobKind: "review", metadata: { rows: 3 } };
    const { attempt, ...intent } = server.requests[0]?.body as Record<string, unknown>;
    assert.equal(String(attempt).length, 36);
    assert.deepEqual([intent, server.requests[1]?.body], [
      { ...job, intent: true, collection: "batches" },
      { ...job, name: "batches/night-1" },
    ]);
    assert.deepEqual([submitted.operation.record, submitted.known], [RECORD, false]);
  });

  it("does not create what is bound", async () => {
    server.answers = [{ status: 200, body: BOUND }, { status: 200, body: SETTLED }];
    const submitted = await server.client.submitOnce("night-1", mustNot, BATCH);
    assert.deepEqual([submitted.operation.record, submitted.known], [SETTLED, true]);
    assert.equal(server.requests[1]?.asked, "GET /operations/batches/abc?wait=0ms");
  });

  it("finds what is bound before an upload", async () => {
    server.answers = [{ status: 200, body: BOUND.intent }, { status: 200, body: SETTLED }];
    assert.deepEqual((await server.client.find("nightly/2026#ü?"))?.operation.record, SETTLED);
    assert.deepEqual(server.asked, [
      "GET /intents/nightly%2F2026%23%C3%BC%3F", "GET /operations/batches/abc?wait=0ms",
    ]);
  });

  it("finds nothing where nothing is bound", async () => {
    const none = { status: 404, body: { error: { code: 404 } } };
    const seen = { state: "SEEN", operation: "batches/abc" };
    for (const answer of [none, { status: 200, body: OPEN.intent }, { status: 200, body: seen }]) {
      server.answers = [answer];
      assert.equal(await server.client.find("night-1"), undefined);
    }
  });

  it("does not find where opledger refuses", async () => {
    server.answers = [{ status: 401, body: "" }];
    await failure(server.client.find("night-1"), OpledgerError);
  });

  it("waits until an earlier run is decided", async () => {
    for (const [verdict, known] of [[OPEN, false], [BOUND, true]] as const) {
      server.pauses = [];
      server.answers = [
        { status: 200, body: WAIT },
        { status: 200, body: { ...WAIT, waitSeconds: 7 } },
        { status: 200, body: verdict },
        { status: 200, body: RECORD },
      ];
      const submitted = await server.client.submitOnce("night-1", known ? mustNot : create, BATCH);
      assert.deepEqual([submitted.known, server.pauses], [known, [60_000, 7_000]]);
    }
  });

  it("waits no longer than its patience, and not for what no list decides", async () => {
    server.answers = Array<Answer>(2).fill({ status: 200, body: WAIT });
    const job = { ...BATCH, patienceMs: 100_000 };
    const error = await failure(server.client.submitOnce("night-1", mustNot, job), SubmitError);
    assert.deepEqual([error.outcome, error.retryable, server.pauses], ["earlier-run", true, [60_000]]);
    assert.equal(error.retryAfterMs, 300_000);
    assert.match(error.message, /try again after 2\S*Z, with the same id/);
    assert.match(server.logged.join(), /^night-1: an earlier run .* asking again until 2\S*Z$/);
    server.answers = [{ status: 200, body: { ...WAIT, waitSeconds: undefined } }];
    const video = { collection: "operations" } as const;
    const never = await failure(server.client.submitOnce("night-1", mustNot, video), SubmitError);
    assert.deepEqual([never.outcome, never.retryable, server.pauses.length], ["earlier-run", false, 1]);
  });

  it("asks with the same attempt where the answer to its intent was lost", async () => {
    server.answers = ["hang up", { status: 200, body: OPEN }, { status: 201, body: RECORD }];
    assert.equal((await server.client.submitOnce("night-1", create, BATCH)).known, false);
    const [first, second] = server.requests.map(({ body }) => (body as { attempt?: string }).attempt);
    assert.equal(first, second);
    assert.match(server.logged.join(), /was not answered: .*; asking again until 2\S*Z$/);
    assert.equal(server.logged.length, 1);
  });

  it("submits nothing on an answer that comes too late", async () => {
    const slow = [130_000, 0, 0];
    const clock = server.environment();
    const late = new Opledger(server.url, {
      ...clock,
      now: () => clock.now() + lateness,
      token: () => {
        lateness += slow.shift() ?? 0; // the request takes so long
        return "token";
      },
    });
    let lateness = 0;
    server.answers = [OPEN, BOUND, RECORD].map((body) => ({ status: 200, body }));
    assert.equal((await late.submitOnce("night-1", mustNot, BATCH)).known, true);
    assert.deepEqual(server.pauses, [60_000]);
  });

  it("creates nothing without an intent", async () => {
    const said = { code: 400, message: "no", problems: ["a", "b"] };
    server.answers = [{ status: 400, body: { error: said } }];
    const error = await failure(server.client.submitOnce("night-1", mustNot, BATCH), OpledgerError);
    assert.deepEqual([error.status, error.problems], [400, ["a", "b"]]);
  });

  it("never repeats a creation", async () => {
    for (const [cause, outcome, retryable] of [
      [new AnsweredError(400, "invalid"), "refused", false],
      [new AnsweredError(429, "too many"), "refused", true],
      [new AnsweredError(408, "slow"), "unanswered", true],
      [new AnsweredError(499, "closed"), "unanswered", true],
      [new AnsweredError(503, "away"), "unanswered", true],
      [new AnsweredError(302, "elsewhere"), "unanswered", true],
      [new TypeError("fetch failed"), "unanswered", true],
      [undefined, "unanswered", true],
    ] as const) {
      server.answers = [{ status: 201, body: OPEN }, { status: 200, body: { withdrawn: true } }];
      server.requests = [];
      const error = await failure(server.client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable], [outcome, retryable]);
      assert.equal(error.cause, cause);
      assert.match(error.message, /^night-1: /);
      const [intent, withdrawal] = server.requests.map(({ body }) => body as object);
      assert.equal(server.requests.length, outcome === "refused" ? 2 : 1);
      if (withdrawal) assert.deepEqual(withdrawal, { ...intent, withdraw: true });
      assert.deepEqual(server.pauses, []);
    }
  });

  it("withdraws only what create says that Gemini refused", async () => {
    const absent = Object.assign(new Error("no such order"), { status: 404 });
    for (const cause of [absent, new Error("a look-up", { cause: new AnsweredError(404, "not found yet") })]) {
      server.answers = [{ status: 201, body: OPEN }];
      server.requests = [];
      const error = await failure(server.client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable, server.requests.length], ["unanswered", true, 1]);
    }
  });

  it("withdraws only what create says was never sent", async () => {
    const refused = Object.assign(new Error("of a database"), { code: "ECONNREFUSED" });
    const unsent = new NotSentError("no route");
    for (const [cause, outcome] of [
      [unsent, "refused"],
      [refused, "unanswered"],
      [new TypeError("fetch failed", { cause: refused }), "unanswered"],
      [Object.assign(new Error("unknown host"), { code: "ENOTFOUND" }), "unanswered"],
      [new Error("a second attempt", { cause: unsent }), "unanswered"],
    ] as const) {
      server.answers = [{ status: 201, body: OPEN }, { status: 200, body: { withdrawn: true } }];
      server.requests = [];
      const error = await failure(server.client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable, error.cause], [outcome, true, cause]);
      assert.equal(server.requests.length, outcome === "refused" ? 2 : 1);
      if (outcome === "refused") assert.match(error.message, /was not reached \(no route\)/);
    }
  });

  it("says what Gemini and the network said", async () => {
    const network = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    for (const cause of [network, new AnsweredError(404, "no such model")]) {
      server.answers = [{ status: 201, body: OPEN }, { status: 403, body: "it stays" }];
      const error = await failure(server.client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.match(error.message, /ECONNREFUSED|no such model/);
    }
  });

  it("knows no operation without a name", async () => {
    server.answers = [{ status: 201, body: OPEN }];
    const error = await failure(server.client.submitOnce("night-1", async () => "", BATCH), SubmitError);
    assert.equal(error.outcome, "unanswered");
  });

  it("repeats the registration, then leaves it to the ledger", async () => {
    server.answers = [{ status: 201, body: OPEN }, AWAY, "hang up", { status: 201, body: RECORD }];
    assert.equal((await server.client.submitOnce("night-1", create, BATCH)).operation.name, "batches/abc");
    server.answers = [{ status: 201, body: OPEN }, ...Array<Answer>(15).fill(AWAY)];
    const error = await failure(server.client.submitOnce("night-1", create, BATCH), SubmitError);
    assert.deepEqual([error.outcome, error.operationName], ["unregistered", "batches/abc"]);
  });

  it("refuses ids that a display name cannot carry", async () => {
    const long = ["x".repeat(101), "é".repeat(51)];
    for (const id of ["", "two words", "tab\t", "\ufffd", "\ud800", "\u2028", ...long]) {
      await failure(server.client.submitOnce(id, mustNot, BATCH), RangeError);
    }
    assert.deepEqual(server.requests, []);
  });
});
