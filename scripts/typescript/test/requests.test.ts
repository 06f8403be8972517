// Tests of what becomes of @google/genai's contents and config.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Opledger, request, type Contents, type Request } from "../src/index.js";
import { lineOf } from "../src/requests.js";
import { failure } from "./answering.js";

const USER = { role: "user", parts: [{ text: "hello" }] };

describe("a request", () => {
  it("has contents as @google/genai takes them", () => {
    const file = { uri: "https://x/files/a", mimeType: "image/png", name: "files/a" };
    const image = { inlineData: { mimeType: "image/png", data: "AA==" } };
    for (const [given, wants] of [
      ["hello", [USER]],
      [["hello"], [USER]],
      [{ parts: [{ text: "hello" }] }, [USER]],
      [{ parts: "hello", role: "model" }, [{ ...USER, role: "model" }]],
      [[USER, "hello"], [USER, USER]],
      [[["hello"]], [USER]],
      [["a", image], [{ role: "user", parts: [{ text: "a" }, image] }]],
      [["a", USER, "b"], [
        { role: "user", parts: [{ text: "a" }] }, USER, { role: "user", parts: [{ text: "b" }] },
      ]],
      [[file, "hello"], [{
        role: "user",
        parts: [{ fileData: { fileUri: "https://x/files/a", mimeType: "image/png" } }, { text: "hello" }],
      }]],
    ] as [Contents, unknown][]) {
      assert.deepEqual(request("a", given).request.contents, wants);
    }
    for (const wrong of [null, undefined, 7, [null], {}]) {
      assert.throws(() => request("a", wrong as unknown as Contents), RangeError);
    }
  });

  it("has each setting where Gemini has it", () => {
    const config = {
      temperature: 0, maxOutputTokens: 9, systemInstruction: "Be brief.", safetySettings: [{ category: "X" }],
      tools: [{ googleSearch: {} }], toolConfig: { a: 1 }, cachedContent: "cachedContents/x",
      httpOptions: { timeout: 1 }, abortSignal: new AbortController().signal, stopSequences: undefined,
      responseSchema: { type: "OBJECT" }, speechConfig: "Kore",
    };
    const speechConfig = { voiceConfig: { prebuiltVoiceConfig: { voiceName: "Kore" } } };
    assert.deepEqual(request(7, "hello", config), {
      key: "7",
      request: {
        contents: [USER], systemInstruction: { parts: [{ text: "Be brief." }] }, safetySettings: [{ category: "X" }],
        tools: [{ googleSearch: {} }], toolConfig: { a: 1 }, cachedContent: "cachedContents/x",
        generationConfig: { temperature: 0, maxOutputTokens: 9, responseSchema: { type: "OBJECT" }, speechConfig },
      },
    });
    const calls = { tool: async () => ({}), callTool: async () => [] };
    assert.throws(() => request("a", "hello", { labels: { a: "b" } }), /^RangeError: config has labels, which/);
    for (const tools of [[calls], [() => {}]]) assert.throws(() => request("a", "hello", { tools }), /cannot: give/);
  });

  it("keeps its own settings under those of all", () => {
    const shared = { temperature: 0, seed: 7, cachedContent: "cachedContents/x" };
    const lineUnder = (line: Request) => JSON.parse(lineOf(line, shared)) as unknown;
    const cachedContent = "cachedContents/y";
    const request = { contents: [USER], cachedContent, generationConfig: { temperature: 1, seed: 7 } };
    const own = { contents: [USER], cachedContent, generationConfig: { temperature: 1 } };
    assert.deepEqual(lineUnder({ key: "a", request: own }), { key: "a", request });
    for (const contents of ["hello", [USER]]) { // as @google/genai's inline requests are written
      const inline = { contents, config: { temperature: 1, cachedContent }, labels: { a: "b" } };
      const wants = { key: "7", request: { ...request, labels: { a: "b" } } };
      assert.deepEqual(lineUnder({ key: 7, request: inline }), wants);
    }
  });

  it("is not sent from a file that is no JSON Lines", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opledger-csv-"));
    const path = join(folder, "reviews.csv");
    const { jobs } = new Opledger("http://127.0.0.1:1", { token: "", timeoutMs: 0, maxRetries: 0 });
    try {
      for (const [text, config] of [
        ["id,text\n1,It broke.\n", undefined],
        ["\ufeffid,text\r\n1,It broke.\r\n", undefined],
        ["id,text\n1,It broke.\n", { temperature: 0 }],
      ] as const) {
        writeFileSync(path, text);
        const options = { model: "gemini-3.5-flash", ...(config && { config }) };
        const { message } = await failure(jobs.submit("none", path, options), RangeError);
        assert.match(message, /reviews.csv: the line "id,text" is not \{"key":…,"request":\{…}}; of a CSV give/);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("is sent as it is, or not at all", () => {
    const data = Buffer.from("bytes");
    const image = { inlineData: { mimeType: "image/png", data } };
    assert.match(lineOf(["a", [image]]), new RegExp(`"data":"${data.toString("base64")}"`));
    assert.equal(lineOf({ request: { contents: [USER] }, key: "a", note: "\u2028é" }),
      `{"key":"a","request":${JSON.stringify({ contents: [USER] })},"note":"\u2028é"}\n`);
    for (const lost of [NaN, () => {}, 1n, new Map(), new Set()]) {
      const line = { key: "a", request: { x: lost } };
      assert.throws(() => lineOf(line), /^RangeError: the request "a" cannot be JSON: x is/);
    }
  });
});
