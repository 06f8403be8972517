/** Sends a request once, by fetch. */

import { readFile } from "node:fs/promises";
import { readFileSync } from "node:fs";

import { AccessError, said } from "./errors.js";

/** Where an authorization comes from: a text, a file that is read at each request, or a function. */
export type Token = string | { readonly file: string } | (() => string | Promise<string>);

/** What takes the body of an answer. */
export interface Sink {
  /** Forgets what it has. */
  clear(): Promise<void>;
  /** Returns how many bytes it has. */
  size(): Promise<number>;
  write(bytes: Uint8Array): Promise<void>;
}

/** Whose permission a request has. */
export type Auth = "opledger" | "gemini" | "google" | "none";

export interface Send {
  method: string;
  /** A path of opledger, or a whole URL. */
  url: string;
  body?: Uint8Array | string | undefined;
  headers?: Record<string, string>;
  auth?: Auth;
  /** Where the body of a 200 goes. */
  into?: Sink;
}

/** An answer, of any status. */
export interface Reply {
  status: number;
  headers: Headers;
  body: string;
}

/** No answer came, or it broke off. */
export class Unreached extends Error {}

/** Sends requests to opledger, and with other secrets to Gemini and to Cloud Storage. */
export class Transport {
  readonly #url: string;
  readonly #tokens: Readonly<Record<Auth, Token>>;

  constructor(url: string, tokens: Record<Auth, Token>) {
    this.#url = url;
    this.#tokens = tokens;
  }

  /**
   * Returns the answer to a request.
   *
   * @param limitMs after which it is given up: of an answer that goes into a sink for each piece, else for the whole
   * @throws Unreached, AccessError where a token is none or can never be had, what the sink throws, and the reason of
   *   the signal
   */
  async send(command: Send, limitMs: number, signal?: AbortSignal): Promise<Reply> {
    const url = command.url.startsWith("/") ? this.#url + command.url : command.url;
    const headers = new Headers(command.headers);
    const over = new AbortController();
    const timer = setTimeout(() => over.abort(new Error(`it took longer than ${limitMs / 1000} s`)), limitMs);
    const aborted = () => over.abort(signal?.reason);
    signal?.addEventListener("abort", aborted);
    try {
      signal?.throwIfAborted();
      await this.#authorize(headers, command.auth ?? "opledger", over.signal, signal);
      const response = await reached(signal, fetch(url, {
        method: command.method,
        headers,
        body: (command.body as Uint8Array<ArrayBuffer> | string | undefined) ?? null,
        redirect: "manual", // another host must not get the token
        signal: over.signal,
      }));
      let body = "";
      if (command.into && response.status === 200 && response.body) {
        const reader = response.body.getReader();
        for (;;) {
          const { done, value } = await reached(signal, reader.read());
          if (done) break;
          timer.refresh();
          await command.into.write(value);
        }
      } else {
        body = await reached(signal, response.text());
      }
      return { status: response.status, headers: response.headers, body };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", aborted);
      over.abort(); // what is not read of the answer
    }
  }

  /** over ends the wait for a token; its reason is the caller's where signal has ended it. */
  async #authorize(headers: Headers, auth: Auth, over: AbortSignal, signal?: AbortSignal): Promise<void> {
    const ended = new Promise<never>((_, reject) => over.addEventListener("abort", () => reject(over.reason)));
    let secret: string;
    try {
      secret = await Promise.race([ended, textOf(this.#tokens[auth])]);
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof AccessError) throw cause; // a later attempt would not have it either
      throw new Unreached(`the token cannot be had: ${said(cause)}`, { cause });
    }
    const sent = sendable(auth === "gemini" ? "the API key of Gemini" : "the token", secret);
    if (!sent) return;
    if (auth === "gemini") headers.set("x-goog-api-key", sent);
    else headers.set("Authorization", `Bearer ${sent}`);
  }
}

/** Returns what a part of a request brings. Its error is the caller's where the caller gave it up. */
async function reached<T>(signal: AbortSignal | undefined, part: Promise<T>): Promise<T> {
  try {
    return await part;
  } catch (error) {
    signal?.throwIfAborted();
    const { message, cause } = error as Error; // of fetch, which has the reason in its cause
    const why = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : "";
    throw new Unreached(why || message, { cause: error });
  }
}

/** Returns a secret without white space around it. An error never has it in its text. */
function sendable(what: string, secret: string): string {
  const bare = secret.trim();
  if (!/^[!-~]*$/.test(bare)) {
    const why = `${what} has a line break, or another character that no such secret has`;
    throw new AccessError(why, { remedy: "give it as it was issued" });
  }
  return bare;
}

async function textOf(token: Token): Promise<string> {
  if (typeof token === "function") return await token();
  return typeof token === "string" ? token : await readFile(token.file, "ascii");
}

/**
 * Returns OPLEDGER_TOKEN, or what the file has now that OPLEDGER_TOKEN_FILE names; else an empty text.
 *
 * @throws RangeError where the file cannot be read
 */
export function tokenOfEnvironment(): string {
  const { OPLEDGER_TOKEN: token = "", OPLEDGER_TOKEN_FILE: file = "" } = process.env;
  if (token || !file) return token;
  try {
    return readFileSync(file, "ascii").trim();
  } catch (cause) {
    const text = `OPLEDGER_TOKEN_FILE: ${said(cause)}; opledger serve prints which it is`;
    throw new RangeError(text, { cause });
  }
}

/**
 * Returns an HTTP URL without slashes at its end.
 *
 * @throws RangeError, which begins with what it is
 *
 * @example
 * console.log(checkedUrl("OPLEDGER_URL", "http://127.0.0.1:8080/")); // http://127.0.0.1:8080
 */
export function checkedUrl(what: string, url: string): string {
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) {
    const form = "begin it with http:// or https:// and a host, as in http://127.0.0.1:8080";
    throw new RangeError(`${what} is ${JSON.stringify(url)}; ${form}`);
  }
  const { username, password } = new URL(url);
  if (username || password) throw new RangeError(`${what} has a user or a password; give a token instead`);
  return url.replace(/\/+$/, "");
}
