// Tests against opledger serve that is killed, whose Gemini refuses, delays and loses, and which wants a token.
//
// Two waits of serve are in real time, and tests with a clock of their own cover them: of five minutes after a creation
// that was not answered, and after each read that fails, longer each time. So there are none of the first, and few of
// the second.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { AccessError, Opledger } from "../src/index.js";
import { failure } from "./answering.js";
import { Door, Serve } from "./serving.js";

const TOKEN = "a-token-of-thirty-two-characters";
const MODEL = "gemini-3.5-flash";

describe("with opledger serve on a bad night", () => {
  const faults = ["createsLost=0", "apiErrors=0.02", "apiRateLimited=0.02", "apiStale=0.05", "apiHollow=0.01"];
  const flags = ["--faults", "harsh", ...faults.flatMap((fault) => ["--fault", fault])];
  const serve = new Serve(flags, { OPLEDGER_SERVE_TOKEN: TOKEN, OPLEDGER_PRICES: `${MODEL}=1/6` });
  const door = new Door(serve);

  before(async () => {
    await serve.start();
    await door.open();
  });
  after(async () => {
    door.close();
    await serve.close();
  });

  it("waits while it is killed and started again, and loses and doubles nothing", async () => {
    const { jobs } = new Opledger(door.url, { token: TOKEN, sleep: (ms) => pause(ms / 20), log: () => {} });
    let [killed, uploads] = [0, 0];
    door.after = async (what) => {
      if (!what.startsWith("PUT") || ++uploads > 1) return true;
      await serve.kill(); // what has arrived of the upload is there once it is started again
      await serve.start();
      killed++;
      return false;
    };
    const rows = Array.from({ length: 60 }, (_, i) => [`row-${i}`, `Is review ${i} good?`] as const);
    const options = { model: MODEL, maxFailures: "100%", maxCost: 1e-9 } as const;
    await jobs.submit("bad", rows, options); // it costs more: no batch is started, as it would end with serve
    const events = new EventTarget();
    door.before = (what) => {
      if (what.includes("wait=30000ms")) events.dispatchEvent(new Event("wait"));
      return true;
    };
    const asked = once(events, "wait");
    const ended = jobs.wait("bad");
    await asked;
    await serve.kill();
    await serve.start();
    killed++;
    await jobs.change("bad", { maxCost: 100, why: "a test" });
    const job = await ended;
    const keys: string[] = [];
    for await (const { key } of jobs.results("bad")) keys.push(key);
    assert.deepEqual([job.open, killed, keys.sort()], [0, 2, rows.map(([key]) => key).sort()]);
  });

  it("refuses another token", async () => {
    const error = await failure(new Opledger(serve.url, { token: "another" }).register("batches/x"), AccessError);
    assert.equal(error.status, 401);
  });
});
