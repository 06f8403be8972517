// Tests of the verifier and of the inbox.

import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { CompletionError, Inbox, SignatureError, Verifier } from "../src/index.js";

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

describe("an inbox", () => {
  it("accepts a key once, also of two at once", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opledger-inbox-"));
    try {
      const body = Buffer.from("{}");
      const accepted = await Promise.all([0, 1, 2].map(() => new Inbox(folder).accept("gemini:batches/abc#x", body)));
      assert.deepEqual(accepted.sort(), [false, false, true]);
      assert.equal(await new Inbox(folder).accept("gemini:batches/abc#y", body), true);
      assert.deepEqual(readdirSync(folder).map((name) => name.split(".")[1]), ["json", "json"]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
