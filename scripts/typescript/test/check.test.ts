// Tests of a file of requests, and of a mark.

import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { checkRequests, Mark } from "../src/index.js";
import { failure } from "./answering.js";

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
