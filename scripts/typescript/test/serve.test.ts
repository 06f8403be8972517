// Tests against opledger serve, also while it is away.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import {
  ConflictError, Jobs, NotSettledError, Opledger, RefusedError, UnavailableError, type Request, type Requests,
} from "../src/index.js";
import { failure } from "./answering.js";
import { runExamples } from "./docs.js";
import { createBatch, Door, Serve } from "./serving.js";

const MODEL = "gemini-3.5-flash";
const OUTAGE_MS = 60_000;

/** Returns requests as a CSV has them. */
function rows(n: number): (readonly [string, string])[] {
  return Array.from({ length: n }, (_, i) => [`row-${i}`, `Is review ${i} good?`] as const);
}

async function* generated(n: number): AsyncGenerator<Request> {
  for (const row of rows(n)) yield row;
}

/** Returns what an iterator yields. */
async function all<T>(given: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const one of given) taken.push(one);
  return taken;
}

describe("with opledger serve", () => {
  const serve = new Serve(["--fault", "jobs/redriven:expired=1"]);
  const door = new Door(serve);
  const folder = mkdtempSync(join(tmpdir(), "opledger-requests-"));
  let now: number;
  let pace: number; // how much faster the client's time is than its pauses
  let client: Opledger;

  before(async () => {
    await serve.start();
    await door.open();
    Object.assign(process.env, serve.exports, { OPLEDGER_URL: door.url });
  });
  beforeEach(() => {
    [now, pace] = [0, 1];
    door.before = door.after = () => true;
    client = new Opledger("", {
      now: () => now,
      sleep: async (ms) => {
        now += pace * ms;
        await pause(5); // what runs in serve goes on in its own time
      },
      random: () => 1,
      log: () => {},
    });
  });
  after(async () => {
    door.close();
    await serve.close();
    rmSync(folder, { recursive: true });
    for (const name of Object.keys(serve.exports)) delete process.env[name];
  });

  it("runs each example of the documents", async () => {
    await runExamples({ createBatch }, folder);
    for await (const { key } of client.operations({ collection: "batches", pending: true })) await client.forget(key);
  });

  it("survives an outage of a minute in each call", async () => {
    const { jobs } = client;
    const why = "a test";
    pace = 4; // fewer requests, which take processor time
    const name = async () => (await new Opledger(serve.url).find("out"))?.operation.key ?? "";
    const refused = async (call: Promise<unknown>) => (await failure(call, ConflictError)).status;
    const submits = { collection: "batches" } as const;
    const calls: [string, () => Promise<unknown>, unknown][] = [
      ["submitOnce", async () => (await client.submitOnce("out", createBatch, submits)).known, false],
      ["submitOnce again", async () => (await client.submitOnce("out", createBatch, submits)).known, true],
      ["find", async () => (await client.find("out")) !== undefined, true],
      ["register", async () => (await client.register("batches/mine")).key, "batches/mine"],
      ["operation", async () => (await client.operation("batches/mine")).state, "PENDING"],
      ["wait", async () => (await client.wait(await name())).state, "SUCCEEDED"],
      ["changes", async () => (await all(client.changes(await name()))).map(({ state }) => state), ["SUCCEEDED"]],
      ["operations", async () => (await all(client.operations({ jobKind: "none" }))).length, 0],
      ["operations by id", async () => (await all(client.operations({ correlationId: "out" }))).length, 1],
      ["results", async () => (await all(client.results(await name()))).length > 0, true],
      ["cancel", async () => refused(client.cancel(await name(), { why })), 409],
      ["forget", async () => (await client.forget("batches/mine")) > 0, true],
      ["jobs.submit", async () => (await jobs.submit("out", rows(3), { model: MODEL })).known, false],
      ["jobs.get", async () => (await jobs.get("out")).key, "jobs/out"],
      ["jobs.wait", async () => (await jobs.wait("out")).counts.done, 3],
      ["jobs.submit again", async () => (await jobs.submit("out", rows(3), { model: MODEL })).known, true],
      ["jobs.results", async () => (await all(jobs.results("out"))).length, 3],
      ["jobs.pause", () => refused(jobs.pause("out", { why })), 409],
      ["jobs.resume", async () => (await jobs.resume("out", { why })).key, "jobs/out"],
      ["jobs.cancel", () => refused(jobs.cancel("out", { why })), 409],
      ["jobs.change", () => refused(jobs.change("out", { maxBatches: 2, why })), 409],
      ["jobs.redrive", () => refused(jobs.redrive("out", { why })), 409],
    ];
    const tried = new Set(calls.map(([what]) => what.split(" ")[0]));
    for (const [prefix, { prototype }] of [["", Opledger], ["jobs.", Jobs]] as const) {
      const names = Object.getOwnPropertyNames(prototype).filter((name) => name !== "constructor");
      for (const name of names) assert.ok(tried.has(prefix + name), `${prefix}${name} is not tried`);
    }
    for (const [what, call, wants] of calls) {
      const until = now + OUTAGE_MS;
      door.before = () => now >= until;
      assert.deepEqual(await call(), wants, what);
      assert.ok(now >= until, what);
    }
  });

  it("lists operations page by page", async () => {
    for (const one of ["a", "b", "c"]) await client.register(`batches/page-${one}`, { jobKind: "pages" });
    const filters = { jobKind: "pages", state: ["PENDING", "RUNNING"], since: new Date(0) };
    const keys = (await all(client.operations({ ...filters, pageSize: 2 }))).map(({ key }) => key);
    assert.deepEqual(keys.sort(), ["batches/page-a", "batches/page-b", "batches/page-c"]);
    assert.deepEqual(await all(client.operations({ ...filters, state: "FAILED" })), []);
    await failure(all(client.operations({ correlationId: "x", pending: true })), RangeError);
    for (const key of keys) await client.forget(key);
  });

  it("makes no more repeats than it may", async () => {
    let asked = 0;
    door.before = () => ++asked < 0;
    const error = await failure(client.operation("batches/x", { maxRetries: 2 }), UnavailableError);
    assert.deepEqual([asked, error.status], [3, 0]);
    await failure(client.operation("batches/x", { timeoutMs: 3_000 }), UnavailableError);
    assert.ok(now < 10_000);
  });

  it("ends a call when its signal says so", async () => {
    const given = new AbortController();
    const reason = new Error("the user left");
    await client.register("batches/never");
    door.before = (what) => {
      given.abort(reason);
      return !what.includes("wait=30000ms");
    };
    assert.equal(await failure(client.wait("batches/never", { signal: given.signal }), Error), reason);
    assert.equal(await failure(client.find("x", { signal: given.signal }), Error), reason);
    door.before = () => true;
    await client.forget("batches/never");
  });

  it("takes a job from a generator, and reads its results", async () => {
    const options = { model: MODEL, config: { temperature: 0 }, maxFailures: 0 } as const;
    assert.equal((await client.jobs.submit("generated", generated(200), options)).open, 200);
    assert.equal((await client.jobs.wait("generated")).counts.done, 200);
    const read = await all(client.jobs.results("generated"));
    assert.equal(new Set(read.map(({ key }) => key)).size, 200);
    assert.ok(read.every(({ text, usage, attempts }) => text && usage.totalTokenCount && attempts === 1));
    assert.ok((await client.jobs.submit("generated", rows(200), options)).known);
  });

  it("takes a file, rows and lines for the same input", async () => {
    const lines = rows(9).map(([key, text]) => ({ key, request: { contents: [{ role: "user", parts: [{ text }] }] } }));
    const named = lines.map(({ key, request }) => `${JSON.stringify({ id: key, request })}\n`);
    const path = join(folder, "named.jsonl");
    writeFileSync(path, named.join(""));
    const options = { model: MODEL, deadline: new Date(Date.now() + 86_400_000), maxFailures: "2%" } as const;
    assert.equal((await client.jobs.submit("rows", rows(9), options)).known, false);
    assert.ok((await client.jobs.submit("rows", lines, options)).known);
    assert.ok((await client.jobs.submit("rows", path, { ...options, keyField: "id" })).known);
    assert.ok((await client.jobs.submit("rows", path, { ...options, keyField: "id", config: {} })).known);
  });

  it("goes on with an upload that broke off", async () => {
    const asked: string[] = [];
    door.after = (what, { "content-range": range = "" }) => {
      asked.push(`${what.split(" ")[0]} ${range}`.trimEnd());
      return asked.length !== 2; // the first piece has arrived
    };
    const large = rows(3).map(([key, text]) => [key, text + "x".repeat(2_900_000)] as const);
    const { progress } = await client.jobs.submit("large", large, { model: MODEL });
    const { requests, bytes } = progress.input!;
    assert.equal(requests, 3);
    const first = 8 << 20; // bytes of a piece
    assert.deepEqual(asked, [ // no piece twice
      "HEAD", `PUT bytes 0-${first - 1}/${bytes}`, "HEAD", `PUT bytes ${first}-${bytes - 1}/${bytes}`, "POST",
    ]);
  });

  it("refuses what differs, and what cannot be sent", async () => {
    await client.jobs.submit("differs", rows(2), { model: MODEL });
    await failure(client.jobs.submit("differs", rows(3), { model: MODEL }), ConflictError);
    const line = { key: "a", request: { content: [] } };
    const wrong = await failure(client.jobs.submit("wrong", [line], { model: MODEL, maxBatches: -1 }), RefusedError);
    assert.ok(wrong.problems.length > 0);
    const missing = await failure(client.jobs.submit("none", join(folder, "none"), { model: MODEL }), Error);
    assert.equal((missing as NodeJS.ErrnoException).code, "ENOENT");
    const none = [[], { a: "b" }, [["a", 7]], [["a", "b", "c"]], [["a", {}]], [{ key: "a", request: { x: new Map() } }], "ab"];
    for (const requests of none.map((given) => (given === "ab" ? ["ab"] : given) as unknown as Requests)) {
      await failure(client.jobs.submit("none", requests, { model: MODEL }), RangeError);
    }
    for (const call of [
      () => client.jobs.submit("two words", rows(1), { model: MODEL }),
      () => client.jobs.get("_x"),
      () => client.jobs.wait("x".repeat(65)),
      () => all(client.results("operations/video")),
      () => client.register("batches/x", { metadata: { rows: NaN } }),
    ]) {
      await failure(call(), RangeError);
    }
  });

  it("reads results that are final so far, and no others", async () => {
    await client.jobs.submit("held", rows(2), { model: MODEL });
    await client.jobs.pause("held", { why: "a test" });
    const partial = await all(client.jobs.results("held", { partial: true }));
    assert.ok(partial.length <= 2);
    const waits = await failure(client.jobs.wait("held", { timeoutMs: 0 }), NotSettledError);
    assert.equal(waits.operation.state, "PENDING");
    await client.jobs.resume("held", { why: "a test" });
    assert.ok((await client.jobs.wait("held")).succeeded);
  });

  it("redrives what is not done", async () => {
    const { jobs } = client;
    const traceparent = `00-${"4".repeat(32)}-${"4".repeat(16)}-01`;
    const first = await jobs.submit("redriven", rows(3), { model: MODEL, traceparent, maxAttempts: 1 });
    assert.equal(first.progress.record?.traceParent, traceparent);
    const ended = await jobs.wait("redriven");
    assert.deepEqual([ended.state, ended.counts.failed], ["FAILED", 3], ended.why);
    const failed = await all(jobs.results("redriven", { kind: "failed" }));
    assert.ok(failed.length === 3 && failed.every(({ line, why }) => line.request && why));
    const second = await jobs.redrive("redriven", { why: "a test", by: "ann", maxAttempts: 2 });
    assert.deepEqual([second.id, second.open], ["redriven-2", 3]);
    assert.equal((await jobs.wait(second.id)).counts.done, 3);
    const merged = await all(jobs.results("redriven", { merged: true }));
    assert.deepEqual(merged.map(({ outcome }) => outcome), ["done", "done", "done"]);
  });
});
