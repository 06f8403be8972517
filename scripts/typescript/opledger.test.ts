// Tests of opledger.ts against a server on this machine that answers as it is told.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";

import {
  AnsweredError, checkedUrl, checkRequests, CompletionError, Mark, NotSentError, NotSettledError, Opledger, OpledgerError,
  settled, SignatureError, SubmitError, Verifier, type Environment,
} from "./opledger.js";

const UNREPORTED = {
  outputFile: null, inline: null, errorCode: null, errorMessage: null, counts: null,
};
const RECORD = { key: "batches/abc", name: "batches/abc", state: "RUNNING", result: UNREPORTED };
const SETTLED = {
  ...RECORD, state: "SUCCEEDED", result: { ...UNREPORTED, outputFile: "files/out", inline: false },
};
const OPEN = { intent: { state: "OPEN" }, verdict: "submit" };
const WAIT = { intent: { state: "OPEN" }, verdict: "wait", waitSeconds: 300 };
const BOUND = { intent: { state: "BOUND", operation: "batches/abc" }, verdict: "bound" };
const BATCH = { collection: "batches" } as const;
const AWAY = { status: 503, body: { error: { code: 503, message: "the store is away" } } };

type Answer = { status: number; body: unknown; headers?: Record<string, string> } | "hang up";

let server: Server;
let answers: Answer[];
let requests: { asked: string; body: unknown; headers: IncomingHttpHeaders }[];
let pauses: number[];
let logged: string[];
let client: Opledger;
let url: string;

/** A clock that only pauses move. */
function environment(): Environment {
  let now = 0;
  return {
    now: () => now,
    sleep: async (ms) => {
      pauses.push(ms);
      now += ms;
    },
    random: () => 1,
    log: (line) => logged.push(line),
  };
}

beforeEach(async () => {
  [answers, requests, pauses, logged] = [[], [], [], []];
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = await request.toArray();
    const text = Buffer.concat(chunks).toString();
    const asked = `${request.method} ${request.url}`;
    requests.push({ asked, body: text && JSON.parse(text), headers: request.headers });
    const answer = answers.shift();
    if (answer === undefined || answer === "hang up") {
      request.socket.destroy();
      return;
    }
    response.writeHead(answer.status, answer.headers);
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  client = new Opledger(`${url}/`, "", environment());
});

afterEach(async () => {
  server.closeAllConnections();
  await new Promise((closed) => server.close(closed));
});

const create = async () => "batches/abc";
const mustNot = () => assert.fail("created");
const throws = (error: unknown) => async () => {
  throw error;
};

async function failure<E extends Error>(
  promise: Promise<unknown>, kind: abstract new (...args: never[]) => E,
): Promise<E> {
  const error = await promise.then(() => assert.fail("no error"), (e: unknown) => e);
  assert.ok(error instanceof kind, String(error));
  return error;
}

describe("submitOnce", () => {
  it("records the intent, creates, and registers", async () => {
    answers = [{ status: 201, body: OPEN }, { status: 201, body: RECORD }];
    const before: string[] = [];
    const submitted = await client.submitOnce(
      "night-1",
      async (mark) => {
        before.push(...requests.map((request) => request.asked));
        return `batches/${mark.userMetadata()["opledger_correlation_id"]}`;
      },
      { collection: "batches", jobKind: "review", metadata: { rows: 3 } },
    );
    assert.deepEqual(before, ["POST /register"]);
    const job = { correlationId: "night-1", jobKind: "review", metadata: { rows: 3 } };
    const { attempt, ...intent } = requests[0]?.body as Record<string, unknown>;
    assert.equal(String(attempt).length, 36);
    assert.deepEqual([intent, requests[1]?.body], [
      { ...job, intent: true, collection: "batches" },
      { ...job, name: "batches/night-1" },
    ]);
    assert.deepEqual(submitted, { operation: RECORD, known: false });
  });

  it("does not create what is bound", async () => {
    answers = [{ status: 200, body: BOUND }, { status: 200, body: SETTLED }];
    const submitted = await client.submitOnce("night-1", mustNot, BATCH);
    assert.deepEqual(submitted, { operation: SETTLED, known: true });
    assert.equal(requests[1]?.asked, "GET /operations/batches/abc?wait=0ms");
  });

  it("finds what is bound before an upload", async () => {
    answers = [{ status: 200, body: BOUND.intent }, { status: 200, body: SETTLED }];
    assert.deepEqual(await client.find("nightly/2026#ü?"), { operation: SETTLED, known: true });
    assert.deepEqual(requests.map((request) => request.asked), [
      "GET /intents/nightly%2F2026%23%C3%BC%3F", "GET /operations/batches/abc?wait=0ms",
    ]);
  });

  it("finds nothing where nothing is bound", async () => {
    const none = { status: 404, body: { error: { code: 404 } } };
    const seen = { state: "SEEN", operation: "batches/abc" };
    for (const answer of [none, { status: 200, body: OPEN.intent }, { status: 200, body: seen }]) {
      answers = [answer];
      assert.equal(await client.find("night-1"), undefined);
    }
  });

  it("does not find where opledger refuses", async () => {
    answers = [{ status: 401, body: "" }];
    await failure(client.find("night-1"), OpledgerError);
  });

  it("waits until an earlier run is decided", async () => {
    for (const [verdict, known] of [[OPEN, false], [BOUND, true]] as const) {
      pauses = [];
      answers = [
        { status: 200, body: WAIT },
        { status: 200, body: { ...WAIT, waitSeconds: 7 } },
        { status: 200, body: verdict },
        { status: 200, body: RECORD },
      ];
      const submitted = await client.submitOnce("night-1", known ? mustNot : create, BATCH);
      assert.deepEqual([submitted.known, pauses], [known, [60_000, 7_000]]);
    }
  });

  it("waits no longer than its patience, and not for what no list decides", async () => {
    answers = Array<Answer>(2).fill({ status: 200, body: WAIT });
    const job = { ...BATCH, patienceMs: 100_000 };
    const error = await failure(client.submitOnce("night-1", mustNot, job), SubmitError);
    assert.deepEqual([error.outcome, error.retryable, pauses], ["earlier-run", true, [60_000]]);
    assert.equal(error.retryAfterMs, 300_000);
    assert.match(error.message, /try again after 2\S*Z, with the same id/);
    assert.match(logged.join(), /^night-1: an earlier run .* asking again until 2\S*Z$/);
    answers = [{ status: 200, body: { ...WAIT, waitSeconds: undefined } }];
    const video = { collection: "operations" } as const;
    const never = await failure(client.submitOnce("night-1", mustNot, video), SubmitError);
    assert.deepEqual([never.outcome, never.retryable, pauses.length], ["earlier-run", false, 1]);
  });

  it("asks with the same attempt where the answer to its intent was lost", async () => {
    answers = ["hang up", { status: 200, body: OPEN }, { status: 201, body: RECORD }];
    assert.equal((await client.submitOnce("night-1", create, BATCH)).known, false);
    const [first, second] = requests.map(({ body }) => (body as { attempt?: string }).attempt);
    assert.equal(first, second);
    assert.match(logged.join(), /was not answered: .*; asking again until 2\S*Z$/);
    assert.equal(logged.length, 1);
  });

  it("submits nothing on an answer that comes too late", async () => {
    const slow = [130_000, 0, 0];
    const clock = environment();
    const late = new Opledger(
      url,
      () => {
        lateness += slow.shift() ?? 0; // the request takes so long
        return "token";
      },
      { ...clock, now: () => clock.now() + lateness },
    );
    let lateness = 0;
    answers = [OPEN, BOUND, RECORD].map((body) => ({ status: 200, body }));
    assert.equal((await late.submitOnce("night-1", mustNot, BATCH)).known, true);
    assert.deepEqual(pauses, [60_000]);
  });

  it("creates nothing without an intent", async () => {
    const said = { code: 400, message: "no", problems: ["a", "b"] };
    answers = [{ status: 400, body: { error: said } }];
    const error = await failure(client.submitOnce("night-1", mustNot, BATCH), OpledgerError);
    assert.deepEqual([error.code, error.problems], [400, ["a", "b"]]);
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
      answers = [{ status: 201, body: OPEN }, { status: 200, body: { withdrawn: true } }];
      requests = [];
      const error = await failure(client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable], [outcome, retryable]);
      assert.equal(error.cause, cause);
      assert.match(error.message, /^night-1: /);
      const [intent, withdrawal] = requests.map(({ body }) => body as object);
      assert.equal(requests.length, outcome === "refused" ? 2 : 1);
      if (withdrawal) assert.deepEqual(withdrawal, { ...intent, withdraw: true });
      assert.deepEqual(pauses, []);
    }
  });

  it("withdraws only what create says that Gemini refused", async () => {
    const absent = Object.assign(new Error("no such order"), { status: 404 });
    for (const cause of [absent, new Error("a look-up", { cause: new AnsweredError(404, "not found yet") })]) {
      answers = [{ status: 201, body: OPEN }];
      requests = [];
      const error = await failure(client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable, requests.length], ["unanswered", true, 1]);
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
      answers = [{ status: 201, body: OPEN }, { status: 200, body: { withdrawn: true } }];
      requests = [];
      const error = await failure(client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.deepEqual([error.outcome, error.retryable, error.cause], [outcome, true, cause]);
      assert.equal(requests.length, outcome === "refused" ? 2 : 1);
      if (outcome === "refused") assert.match(error.message, /was not reached \(no route\)/);
    }
  });

  it("says what Gemini and the network said", async () => {
    const network = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED") });
    for (const cause of [network, new AnsweredError(404, "no such model")]) {
      answers = [{ status: 201, body: OPEN }, { status: 403, body: "it stays" }];
      const error = await failure(client.submitOnce("night-1", throws(cause), BATCH), SubmitError);
      assert.match(error.message, /ECONNREFUSED|no such model/);
    }
  });

  it("knows no operation without a name", async () => {
    answers = [{ status: 201, body: OPEN }];
    const error = await failure(client.submitOnce("night-1", async () => "", BATCH), SubmitError);
    assert.equal(error.outcome, "unanswered");
  });

  it("repeats the registration, then leaves it to the ledger", async () => {
    answers = [{ status: 201, body: OPEN }, AWAY, "hang up", { status: 201, body: RECORD }];
    assert.equal((await client.submitOnce("night-1", create, BATCH)).operation.name, "batches/abc");
    answers = [{ status: 201, body: OPEN }, ...Array<Answer>(15).fill(AWAY)];
    const error = await failure(client.submitOnce("night-1", create, BATCH), SubmitError);
    assert.deepEqual([error.outcome, error.operationName], ["unregistered", "batches/abc"]);
  });

  it("refuses ids that a display name cannot carry", async () => {
    const long = ["x".repeat(101), "é".repeat(51)];
    for (const id of ["", "two words", "tab\t", "\ufffd", "\ud800", "\u2028", ...long]) {
      await failure(client.submitOnce(id, mustNot, BATCH), RangeError);
    }
    assert.deepEqual(requests, []);
  });
});

describe("a request", () => {
  it("is repeated with a back-off that heeds Retry-After", async () => {
    answers = [
      { status: 503, body: "", headers: { "Retry-After": "5" } },
      AWAY,
      { status: 520, body: "<html>" }, // of a proxy
      { status: 429, body: "", headers: { "Retry-After": "3600" } },
      ...Array<Answer>(2).fill(AWAY),
      { status: 200, body: RECORD },
    ];
    await client.register("batches/abc");
    assert.deepEqual(pauses, [5_000, 1_000, 2_000, 60_000, 8_000, 8_000]);
  });

  it("is not repeated where it is refused", async () => {
    for (const [status, remedy] of [
      [400, /correct/],
      [401, /token/],
      [403, /invoker/],
      [404, /register/],
      [405, /URL/],
      [501, /URL/],
      [302, /URL/],
    ] as const) {
      answers = [{ status, body: "<html>no</html>", headers: { Location: "/elsewhere" } }];
      requests = [];
      const error = await failure(client.register("batches/abc"), OpledgerError);
      assert.equal(error.code, status);
      assert.match(error.message, remedy);
      assert.equal(requests.length, 1);
    }
  });

  it("without an answer has no code", async () => {
    const error = await failure(client.register("batches/abc"), OpledgerError);
    assert.equal(error.code, 0);
    assert.match(error.message, /was not answered: .*try again later/);
    assert.equal(requests.length, 15);
    assert.equal(pauses.reduce((sum, pause) => sum + pause), 87_500);
  });

  it("asks for a token each time", async () => {
    const tokens = ["one", "two"];
    const authorized = new Opledger(url, async () => tokens.shift() ?? "");
    answers = [{ status: 200, body: RECORD }, { status: 200, body: RECORD }];
    await authorized.register("batches/abc");
    await authorized.register("batches/abc");
    const sent = requests.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ["Bearer one", "Bearer two"]);
  });

  it("sends the token of the environment", async () => {
    const file = join(tmpdir(), `opledger-token-${process.pid}`);
    try {
      writeFileSync(file, "of-a-file\n");
      process.env.OPLEDGER_TOKEN_FILE = file;
      answers = Array<Answer>(3).fill({ status: 200, body: RECORD });
      const one = new Opledger(url);
      await one.register("batches/abc");
      writeFileSync(file, "written-again\n"); // by serve, started again
      await one.register("batches/abc");
      process.env.OPLEDGER_TOKEN = "given";
      await new Opledger(url).register("batches/abc");
      const sent = requests.map(({ headers }) => headers.authorization);
      assert.deepEqual(sent, ["Bearer of-a-file", "Bearer written-again", "Bearer given"]);
      delete process.env.OPLEDGER_TOKEN;
      rmSync(file);
      assert.throws(() => new Opledger(url), /OPLEDGER_TOKEN_FILE: .*serve prints/);
    } finally {
      delete process.env.OPLEDGER_TOKEN;
      delete process.env.OPLEDGER_TOKEN_FILE;
      rmSync(file, { force: true });
    }
  });
});

describe("an outage of half a minute", () => {
  it("is survived by every call", async () => {
    const shortest = { ...environment(), random: () => 0 };
    const patient = new Opledger(url, "", shortest);
    for (const [call, first] of [
      [() => patient.submitOnce("night-1", create, BATCH), [{ status: 201, body: OPEN }]],
      [() => patient.register("batches/abc"), []],
      [() => patient.wait("batches/abc", 3_600_000), []],
    ] as [() => Promise<unknown>, Answer[]][]) {
      const began = shortest.now();
      answers = [...Array<Answer>(11).fill("hang up"), ...first, { status: 200, body: SETTLED }];
      await call();
      assert.ok(shortest.now() - began > 30_000);
    }
  });
});

describe("a URL", () => {
  it("has a scheme and a host", () => {
    const wrongs = ["127.0.0.1:8080", "localhost:8080", "", "ftp://host", "http://", "http://a:x"];
    for (const wrong of wrongs) {
      assert.throws(() => new Opledger(wrong), /begin it with http/);
    }
    assert.throws(() => checkedUrl("HERE", "gemini"), /^RangeError: HERE is "gemini"/);
    assert.equal(checkedUrl("HERE", "https://gemini/"), "https://gemini");
  });
});

describe("wait", () => {
  it("asks until it is settled", async () => {
    answers = [{ status: 200, body: RECORD }, AWAY, { status: 200, body: SETTLED }];
    const operation = await client.wait("models/veo/operations/a b");
    assert.ok(settled(operation));
    assert.equal(operation.result.outputFile, "files/out");
    assert.equal(operation.result.errorCode, null);
    assert.equal(requests[0]?.asked, "GET /operations/models/veo/operations/a%20b?wait=30000ms");
    assert.deepEqual(pauses, [2_000, 500]);
  });

  it("ends with its time", async () => {
    answers = Array<Answer>(3).fill({ status: 200, body: RECORD }); // early, as a server that stops
    const error = await failure(client.wait("batches/abc", 3_000), NotSettledError);
    assert.match(error.message, /batches\/abc is still RUNNING/);
    assert.equal(error.operation.state, "RUNNING");
    assert.deepEqual(pauses, [2_000, 1_000]);
  });
});

describe("a wait whose requests fail", () => {
  it("may be for ever", async () => {
    answers = [AWAY, { status: 200, body: SETTLED }];
    assert.equal((await client.wait("batches/abc", Infinity)).state, "SUCCEEDED");
  });

  it("stops repeating them with its time", async () => {
    answers = [
      { status: 200, body: RECORD },
      AWAY,
      { status: 503, body: "", headers: { "Retry-After": "60" } },
    ];
    const error = await failure(client.wait("batches/abc", 10_000), NotSettledError);
    assert.match(error.message, /still RUNNING .*503/);
    assert.ok(error.cause instanceof OpledgerError);
    assert.deepEqual(pauses, [2_000, 500]);
  });

  it("ends where nothing answers", async () => {
    const error = await failure(client.wait("batches/abc", 3_000), NotSettledError);
    assert.match(error.message, /batches\/abc is still unknown/);
    assert.equal(error.operation.state, "");
    assert.deepEqual(pauses, [500, 1_000]);
  });
});

describe("a file of requests", () => {
  it("has a key of its own in each line", async () => {
    const path = join(tmpdir(), `opledger-requests-${process.pid}`);
    const one = '{"key":"a","request":{"contents":[{}]}}';
    try {
      writeFileSync(path, `${one}\n\n${one.replace("a", "b")}\n`);
      assert.equal(await checkRequests(path), 2);
      for (const [text, says] of [
        ["", /no requests/],
        ["no json", /line 1: it is not JSON/],
        ["null", /line 1: it is not /],
        ['{"request":{"contents":[{}]}}', /line 1: it has no key/],
        ['{"key":7,"request":{"contents":[{}]}}', /its key 7 is a number; write "7"/],
        ['{"key":"a"}', /no request/],
        ['{"key":"a","request":{}}', /no request/],
        ["{}", /line 1: it has no key.*, and it has no request/],
        [`\ufeff${one}`, /1 line is wrong\n {2}line 1: it begins with a byte order mark/],
        [`${one}\n${one}`, /line 2: its key "a" is that of line 1/],
      ] as const) {
        writeFileSync(path, text);
        assert.match((await failure(checkRequests(path), RangeError)).message, says);
      }
      writeFileSync(path, [one, "[]", one, ...Array<string>(21).fill("no json")].join("\n"));
      const { message } = await failure(checkRequests(path), RangeError);
      const listed = message.split("\n");
      assert.match(listed[0] ?? "", /: 23 lines are wrong$/);
      assert.match(listed[20] ?? "", /^ {2}line 21: /);
      assert.deepEqual([listed.length, listed[21]], [22, "  and 3 more"]);
    } finally {
      rmSync(path, { force: true });
    }
  });
});

describe("a mark", () => {
  it("is the last word of the display name", () => {
    const mark = new Mark("night-1");
    assert.equal(mark.displayName(), "opledger:night-1");
    assert.equal(mark.displayName(" reviews "), "reviews opledger:night-1");
    const long = mark.displayName("é".repeat(100));
    assert.equal(Buffer.byteLength(long), 127); // no half of a letter
    assert.ok(long.endsWith("é opledger:night-1"));
  });

  it("keeps the caller's user metadata", () => {
    const own = { tenant: "a" };
    const marked = new Mark("night-1").userMetadata(own);
    assert.deepEqual(marked, { tenant: "a", opledger_correlation_id: "night-1" });
    assert.deepEqual(own, { tenant: "a" });
  });
});

describe("verify", () => {
  const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
  const body = Buffer.from(
    '{"operation":"batches/abc","state":"SUCCEEDED","result":{},"metadata":null,' +
      '"idempotencyKey":"gemini:batches/abc#publish"}',
  );
  const signature = "v1,lhE7dBqoFlUIfm6wSRAXb0k0Xmt+fpycOBnyXdIy2Ks="; // of the library
  const headers = {
    "Webhook-Id": "msg_1", "WEBHOOK-TIMESTAMP": "1700000000", "webhook-signature": signature,
  };
  const at = (seconds: number, text = secret) =>
    new Verifier(text, () => 1000 * (1_700_000_000 + seconds));

  it("returns what is signed", () => {
    const other = "whsec_b3RoZXJvdGhlcm90aGVyb3RoZXI=";
    const several = { ...headers, "webhook-signature": `v1a,x v1,AAAA ${signature}` };
    for (const completion of [
      at(0).verify(headers, body),
      at(0).verify(new Headers(headers), body),
      at(0).verify(several, body),
      at(0, `${other} ${secret}`).verify(headers, body),
    ]) {
      assert.equal(completion.idempotencyKey, "gemini:batches/abc#publish");
      assert.equal(completion.state, "SUCCEEDED");
    }
  });

  it("refuses a signed body of another form", () => {
    const key = Buffer.from(secret.slice("whsec_".length), "base64");
    for (const text of ["", "no json", "[]", "null", '{"operation":"batches/abc"}']) {
      const digest = createHmac("sha256", key).update(`msg_1.1700000000.${text}`).digest("base64");
      const signed = { ...headers, "webhook-signature": `v1,${digest}` };
      assert.throws(() => at(0).verify(signed, Buffer.from(text)), CompletionError);
    }
  });

  it("refuses everything else", () => {
    for (const [changed, content] of [
      [headers, Buffer.concat([body, Buffer.from(" ")])],
      [{ ...headers, "Webhook-Id": "msg_2" }, body],
      [{}, body],
      [{ ...headers, "webhook-signature": "" }, body],
      [{ ...headers, "webhook-signature": signature.replace("v1", "v2") }, body],
      [{ ...headers, "WEBHOOK-TIMESTAMP": "now" }, body],
    ] as const) {
      assert.throws(() => at(0).verify({ ...changed }, content), SignatureError);
    }
  });

  it("refuses what was signed too long ago, or too far ahead", () => {
    for (const seconds of [-300, 300]) at(seconds).verify(headers, body);
    for (const seconds of [-301, 301]) {
      assert.throws(() => at(seconds).verify(headers, body), /1700000000/);
    }
  });

  it("refuses secrets that anyone could sign with", () => {
    const bare = secret.slice("whsec_".length);
    for (const weak of ["", "  ", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64", bare]) {
      assert.throws(
        () => new Verifier(weak),
        (error) => error instanceof RangeError && !error.message.includes("c2hvcnQ"),
      );
    }
  });
});
