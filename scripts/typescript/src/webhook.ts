/** Verifies what an http effect sends. */

import { createHmac, timingSafeEqual } from "node:crypto";

import { CompletionError, said, SignatureError } from "./errors.js";
import { isObject } from "./json.js";
import type { Completion } from "./model.js";

/** The headers of a request, as Node, fetch or any framework has them. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

const TOLERANCE_S = 300; // between a signature's time and ours

/**
 * Verifies what an http effect sends, which is signed by Standard Webhooks.
 *
 * @example
 * const verifier = new Verifier("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=", () => 1_700_000_000_000);
 * const body = '{"operation":"batches/abc","state":"SUCCEEDED","result":{},"metadata":null,' +
 *   '"idempotencyKey":"gemini:batches/abc#publish"}';
 * const completion = verifier.verify({
 *   "webhook-id": "msg_1", "webhook-timestamp": "1700000000",
 *   "webhook-signature": "v1,lhE7dBqoFlUIfm6wSRAXb0k0Xmt+fpycOBnyXdIy2Ks=",
 * }, Buffer.from(body));
 * console.log(completion.operation, completion.state); // batches/abc SUCCEEDED
 */
export class Verifier {
  readonly #keys: Buffer[];
  readonly #now: () => number;

  /**
   * @param secret "whsec_…", or two with a space between while one replaces the other
   * @param now milliseconds since 1970, for tests
   * @throws RangeError where the secret is none, or so short that it could be guessed
   */
  constructor(secret: string, now: () => number = Date.now) {
    this.#keys = secret.split(/\s+/).filter(Boolean).map(decodeSecret);
    this.#now = now;
    if (this.#keys.length === 0) throw new RangeError("the secret is empty, and everyone could sign with it");
  }

  /**
   * Returns what a request says.
   *
   * @param body its bytes as received, before anything parses them
   * @throws SignatureError: answer 401; CompletionError: answer 400
   */
  verify(headers: RequestHeaders, body: Uint8Array): Completion {
    const [id, stamp, signatures] = ["id", "timestamp", "signature"].map((part) =>
      header(headers, `webhook-${part}`),
    ) as [string, string, string];
    // Every comparison is made: the time must not tell which one fits.
    const fits = this.#keys.flatMap((key) => {
      const hmac = createHmac("sha256", key).update(`${id}.${stamp}.`).update(body);
      const expected = `v1,${hmac.digest("base64")}`;
      return signatures.split(" ").map((signature) => same(signature, expected));
    });
    if (!fits.includes(true)) {
      throw new SignatureError("no signature of the request fits the secret");
    }
    if (!/^\d+$/.test(stamp) || Math.abs(this.#now() / 1000 - Number(stamp)) > TOLERANCE_S) {
      throw new SignatureError(`the request was signed at "${stamp}", which is not now`);
    }
    return completion(Buffer.from(body).toString());
  }
}

function completion(text: string): Completion {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (cause) {
    throw new CompletionError(`the signed body is not JSON: ${said(cause)}`, { cause });
  }
  if (!isObject(payload)) throw new CompletionError("the signed body is no JSON object");
  const { idempotencyKey, operation, state, result } = payload;
  const given = Object.entries({ idempotencyKey, operation, state });
  const missing = given.find(([, value]) => typeof value !== "string")?.[0] ?? (isObject(result) ? "" : "result");
  if (missing) throw new CompletionError(`the signed body has no ${missing}, which every effect sends`);
  return payload as unknown as Completion;
}

function decodeSecret(secret: string): Buffer {
  const text = secret.startsWith("whsec_") ? secret.slice("whsec_".length) : "";
  const key = Buffer.from(text, "base64");
  if (key.length < 16 || key.toString("base64") !== text) {
    throw new RangeError('the secret is not "whsec_" and the base64 of at least 16 bytes');
  }
  return key;
}

function same(a: string, b: string): boolean {
  const [x, y] = [Buffer.from(a), Buffer.from(b)];
  return x.length === y.length && timingSafeEqual(x, y);
}

function header(headers: RequestHeaders, name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? "";
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(value) ? value.join(" ") : (value ?? "");
}
