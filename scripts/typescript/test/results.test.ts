// Tests of where results come from, and of what is missing in them, against a server that answers as it is told.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { NotSettledError, Opledger, RefusedError, Result, ResultsError, type ResultsOptions } from "../src/index.js";
import { Answering, failure, RECORD } from "./answering.js";

const server = new Answering();
const LINES = '{"key":"a","response":{"candidates":[]}}\n\n{"key":"b","error":{"message":"no"}}\n';
const COUNTS = { done: 1, failed: 1, unmatched: 3 };
const PROGRESS = { key: "jobs/x", state: "SUCCEEDED", counts: COUNTS, open: 0, storage: "gs://bucket/jobs" };
const ALONE = { status: 501, body: { error: { message: "this function has no key" } } };

async function read(name: string, client = server.client, options: ResultsOptions = {}): Promise<string> {
  const read: string[] = [];
  for await (const { key, outcome, why } of client.results(name, options)) read.push(`${key} ${outcome} ${why}`.trim());
  return read.join(", ");
}

/** Returns a client whose Gemini and Cloud Storage are the server. */
function deployed(storage = ""): Opledger {
  const { GOOGLE_GEMINI_BASE_URL: gemini, STORAGE_EMULATOR_HOST: google } = process.env;
  Object.assign(process.env, { GOOGLE_GEMINI_BASE_URL: server.url, STORAGE_EMULATOR_HOST: server.url });
  try {
    return new Opledger(server.url, { token: "", ...server.environment(), storage, geminiApiKey: "key" });
  } finally {
    for (const [name, value] of Object.entries({ GOOGLE_GEMINI_BASE_URL: gemini, STORAGE_EMULATOR_HOST: google })) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
}

describe("results", () => {
  it("are read whole, also where the download broke off", async () => {
    const broken = { status: 200, body: '{"key":"z"}\n{', headers: { "Content-Length": "99", Connection: "close" } };
    server.answers = [broken, { status: 200, body: LINES }];
    assert.equal(await read("projects/p/batches/abc"), "a done, b failed no");
    assert.deepEqual([server.asked, server.pauses], [Array(2).fill("GET /operations/batches/abc/results"), [500]]);
  });

  it("leave no file behind, also where they are not read to the end", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opledger-left-"));
    const { TMPDIR: before } = process.env;
    process.env.TMPDIR = folder;
    try {
      server.answers = [{ status: 200, body: LINES }];
      for await (const { key } of server.client.results("batches/abc")) {
        assert.deepEqual([key, readdirSync(folder)], ["a", []]);
        break;
      }
    } finally {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
      rmSync(folder, { recursive: true });
    }
  });

  it("say where lines are missing, or are none", async () => {
    server.answers = [{ status: 200, body: LINES, headers: { "Opledger-Requests": "3" } }];
    const missing = await failure(read("batches/abc"), ResultsError);
    assert.match(missing.message, /has 3 requests, and .* 2 lines; read them/);
    server.answers = [{ status: 200, body: "[]" }];
    assert.match((await failure(read("batches/abc"), ResultsError)).message, /line 1 .* no object of JSON: "\[\]"/);
    server.answers = [{ status: 200, body: LINES }, { status: 200, body: { ...PROGRESS, counts: { done: 3 } } }];
    assert.match((await failure(read("jobs/x"), ResultsError)).message, /jobs\/x has 3 lines/);
  });

  it("are not those of a job that runs", async () => {
    const part = { status: 200, body: LINES, headers: { "Opledger-Complete": "false" } };
    server.answers = [part, { status: 200, body: RECORD }];
    await failure(read("jobs/x"), NotSettledError);
    server.answers = [part];
    assert.equal(await read("jobs/x", server.client, { partial: true }), "a done, b failed no");
  });

  it("come from Gemini where opledger has no key", async () => {
    const of = (output: object) => [ALONE, { status: 200, body: { metadata: { output } } }];
    server.answers = [...of({ responsesFile: "files/out" }), { status: 200, body: LINES }];
    assert.equal(await read("batches/abc", deployed()), "a done, b failed no");
    assert.deepEqual(server.asked.slice(1), ["GET /v1beta/batches/abc", "GET /v1beta/files/out:download?alt=media"]);
    assert.deepEqual(server.requests.map(({ headers }) => headers["x-goog-api-key"]), [undefined, "key", "key"]);
    const inline = [{ metadata: { key: "a" }, response: {} }, { error: { message: "no" } }];
    server.answers = of({ inlinedResponses: { inlinedResponses: inline } });
    assert.equal(await read("batches/abc", deployed()), "a done, failed no");
    server.answers = of({});
    assert.match((await failure(read("batches/abc", deployed()), ResultsError)).message, /Gemini has no results/);
    server.answers = [ALONE];
    assert.equal((await failure(read("batches/abc"), RefusedError)).status, 501);
  });

  it("of a job are in job storage where it is deployed", async () => {
    const client = deployed("gs://bucket/jobs/");
    server.answers = [
      { status: 200, body: { ...PROGRESS, output: { results: { name: "x/results.jsonl" } } } },
      { status: 200, body: LINES },
    ];
    assert.equal(await read("jobs/x", client), "a done, b failed no");
    assert.equal(server.asked[1], "GET /storage/v1/b/bucket/o/jobs%2Fx%2Fresults.jsonl?alt=media");
    server.answers = [{ status: 200, body: PROGRESS }];
    await failure(read("jobs/x", client, { kind: "unmatched" }), ResultsError);
    server.answers = [{ status: 200, body: { ...PROGRESS, state: "PENDING" } }, { status: 200, body: RECORD }];
    await failure(read("jobs/x", client), NotSettledError);
    await failure(read("jobs/x", client, { merged: true }), RangeError);
    for (const at of ["gs://bucket", "s3://bucket/x"]) await failure(read("batches/x", client, { at }), RangeError);
    assert.throws(() => new Opledger("", { storage: "bucket" }), /write gs:/);
  });
});

describe("a result", () => {
  it("has the text of the first candidate, without thoughts", () => {
    const parts = [{ text: "hm", thought: true }, { text: "a" }, { inlineData: {} }, { text: "b" }];
    const response = { candidates: [{ content: { parts } }, {}], usageMetadata: { totalTokenCount: 7 } };
    const result = Result.of({ key: "a", response, outcome: "truncated", why: "MAX_TOKENS", attempts: 2 });
    assert.deepEqual(
      [result.text, result.usage.totalTokenCount, result.outcome, result.why, result.attempts],
      ["ab", 7, "truncated", "MAX_TOKENS", 2],
    );
    for (const response of [{}, { candidates: [] }, { candidates: [{ content: { parts: 7 } }] }]) {
      assert.equal(Result.of({ key: "a", response }).text, "");
    }
  });
});
