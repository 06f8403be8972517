// Tests of how requests are made and repeated, against a server that answers as it is told.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AccessError, checkedUrl, googleToken, Opledger, OpledgerError, UnavailableError } from "../src/index.js";
import { Caller } from "../src/calls.js";
import { Transport, Unreached } from "../src/transport.js";
import { Answering, AWAY, failure, RECORD, type Answer } from "./answering.js";

const server = new Answering();

describe("a request", () => {
  it("is repeated with a back-off that heeds Retry-After", async () => {
    server.answers = [
      { status: 503, body: "", headers: { "Retry-After": "5" } },
      AWAY,
      { status: 520, body: "<html>" }, // of a proxy
      { status: 429, body: "", headers: { "Retry-After": "3600" } },
      ...Array<Answer>(2).fill(AWAY),
      { status: 200, body: RECORD },
    ];
    await server.client.register("batches/abc");
    assert.deepEqual(server.pauses, [5_000, 1_000, 2_000, 60_000, 8_000, 8_000]);
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
      server.answers = [{ status, body: "<html>no</html>", headers: { Location: "/elsewhere" } }];
      server.requests = [];
      const error = await failure(server.client.register("batches/abc"), OpledgerError);
      assert.equal(error.status, status);
      assert.match(error.message, remedy);
      assert.equal(server.requests.length, 1);
    }
  });

  it("without an answer has no code", async () => {
    const error = await failure(server.client.register("batches/abc"), OpledgerError);
    assert.equal(error.status, 0);
    assert.match(error.message, /was not answered: .*try again later/);
    assert.equal(server.requests.length, 15);
    assert.equal(server.pauses.reduce((sum, pause) => sum + pause), 87_500);
  });

  it("asks for a token each time", async () => {
    const tokens = ["one", "two"];
    const authorized = new Opledger(server.url, { token: async () => tokens.shift() ?? "" });
    server.answers = [{ status: 200, body: RECORD }, { status: 200, body: RECORD }];
    await authorized.register("batches/abc");
    await authorized.register("batches/abc");
    const sent = server.requests.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ["Bearer one", "Bearer two"]);
  });

  it("is not repeated where there can be no token", async () => {
    for (const said of ["Could not load the default credentials.", "Cannot fetch ID token in this environment"]) {
      const fails = () => Promise.reject(new Error(said));
      const auth = { getAccessToken: fails, getIdTokenClient: fails };
      const options = { token: "", storage: "gs://bucket/jobs", ...server.environment() };
      const at = "gs://bucket/jobs/x";
      const without = new Opledger(server.url, options).results("batches/abc", { at });
      assert.match((await failure(without.next(), AccessError)).message, /storageToken/);
      const storageToken = googleToken(auth);
      const storage = new Opledger(server.url, { ...options, storageToken }).results("batches/abc", { at });
      assert.match((await failure(storage.next(), AccessError)).what, new RegExp(`^${said}`));
      const authorized = new Opledger(server.url, { ...options, token: googleToken(auth, server.url) });
      await failure(authorized.register("batches/abc"), AccessError);
    }
    assert.deepEqual([server.pauses, server.requests], [[], []]);
  });

  it("waits for a token no longer than it may", async () => {
    const never = () => new Promise<string>(() => {});
    const transport = new Transport(server.url, { opledger: never, gemini: "", google: "", none: "" });
    const late = await failure(transport.send({ method: "GET", url: "/x" }, 1), Unreached);
    assert.match(late.message, /^the token cannot be had: it took longer than 0.001 s/);
    const given = new AbortController();
    const reason = new Error("the user left");
    const token = () => {
      given.abort(reason);
      return never();
    };
    const call = new Opledger(server.url, { token }).register("batches/abc", { signal: given.signal });
    assert.equal(await failure(call, Error), reason);
  });

  it("for a download has its whole time again where more of it came", async () => {
    const tokens = { opledger: "", gemini: "", google: "", none: "" };
    const clock = { ...server.environment(), now: () => 100_000 * server.requests.length }; // an attempt takes longer
    const caller = new Caller(clock, () => "", new Transport(server.url, tokens), 90_000, Infinity);
    const part = { status: 200, body: "{", headers: { "Content-Length": "99" } };
    const whole = { status: 200, body: "{}" };
    let bytes = 0;
    const into = {
      clear: async () => {
        bytes = 0;
      },
      size: async () => bytes,
      write: async (piece: Uint8Array) => {
        bytes += piece.length;
        if (bytes === 1) server.hangUp();
      },
    };
    server.answers = [part, whole];
    await caller.exchange({ method: "GET", url: "/x", into }, caller.bounds());
    assert.equal(bytes, 2);
    server.answers = [part, part, whole];
    await failure(caller.exchange({ method: "GET", url: "/x", into }, caller.bounds()), UnavailableError);
    assert.equal(server.answers.length, 1);
  });

  it("sends the token of the environment", async () => {
    const file = join(tmpdir(), `opledger-token-${process.pid}`);
    try {
      writeFileSync(file, "of-a-file\n");
      process.env.OPLEDGER_TOKEN_FILE = file;
      server.answers = Array<Answer>(3).fill({ status: 200, body: RECORD });
      const one = new Opledger(server.url);
      await one.register("batches/abc");
      writeFileSync(file, "written-again\n"); // by serve, started again
      await one.register("batches/abc");
      process.env.OPLEDGER_TOKEN = "given";
      await new Opledger(server.url).register("batches/abc");
      const sent = server.requests.map(({ headers }) => headers.authorization);
      assert.deepEqual(sent, ["Bearer of-a-file", "Bearer written-again", "Bearer given"]);
      delete process.env.OPLEDGER_TOKEN;
      rmSync(file);
      assert.throws(() => new Opledger(server.url), /OPLEDGER_TOKEN_FILE: .*serve prints/);
    } finally {
      delete process.env.OPLEDGER_TOKEN;
      delete process.env.OPLEDGER_TOKEN_FILE;
      rmSync(file, { force: true });
    }
  });
});

describe("a URL", () => {
  it("has a scheme and a host", () => {
    const wrongs = ["127.0.0.1:8080", "localhost:8080", "ftp://host", "http://", "http://a:x"];
    for (const wrong of wrongs) {
      assert.throws(() => new Opledger(wrong), /begin it with http/);
    }
    assert.throws(() => checkedUrl("HERE", "gemini"), /^RangeError: HERE is "gemini"/);
    assert.equal(checkedUrl("HERE", "https://gemini/"), "https://gemini");
  });
});
