/**
 * A client of opledger: submit an operation to Gemini once, wait until it ends, verify its effects.
 *
 * It needs Node 20, nothing else.
 *
 *     const opledger = new Opledger("http://127.0.0.1:8080");
 *     const job = { collection: "batches" } as const;
 *     const { operation } = await opledger.submitOnce("reviews-2026-11-22", create, job);
 *     const ended = await opledger.wait(operation.key);
 *
 *     const verifier = new Verifier(process.env.OPLEDGER_EFFECT_SECRET ?? "");
 *     const completion = verifier.verify(request.headers, body);
 */

import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { createReadStream, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

/** Of batches, videos and interactions. */
export type Collection = "batches" | "operations" | "interactions";

export type State =
  | "PENDING" | "RUNNING" | "REQUIRES_ACTION" | "SUCCEEDED" | "FAILED" | "CANCELLED" | "EXPIRED"
  | (string & {}); // a word that Gemini adds later

/** What an operation is for. */
export interface Job {
  collection: Collection;
  jobKind?: string;
  metadata?: Record<string, unknown>;
  /** How long to wait until opledger knows what an earlier call submitted; 15 minutes. */
  patienceMs?: number;
}

/** How an operation ended; null is what Gemini did not report. */
export interface Result {
  outputFile: string | null;
  inline: boolean | null;
  errorCode: string | null;
  errorMessage: string | null;
  counts: { total: number; succeeded: number; failed: number; pending: number } | null;
}

/** The ledger's record of an operation; it has more fields than these. */
export interface Operation {
  /** Such as "batches/abc123". */
  key: string;
  /** As Gemini gave it. */
  name: string;
  state: State;
  jobKind?: string;
  correlationId?: string;
  metadata?: Record<string, unknown>;
  result: Result;
  effects?: Record<string, string>;
}

/** The operation of a correlation id. */
export interface Submitted {
  operation: Operation;
  /** An earlier call submitted it. */
  known: boolean;
}

/** What an effect sends: an operation has ended, or an item of a batch is there. */
export interface Completion {
  /** The same in every repeat. */
  idempotencyKey: string;
  /** Such as "batches/abc123". */
  operation: string;
  state: State;
  jobKind?: string;
  result: Result;
  metadata: Record<string, unknown> | null;
  /** Of an effect that runs once per item. */
  item?: { key: string; response?: unknown; error?: unknown };
}

/** opledger refused a request, or did not answer it. The message ends with what to do. */
export class OpledgerError extends Error {
  override name = "OpledgerError";

  constructor(
    message: string,
    /** The HTTP status; 0: no answer. */
    readonly code: number,
    /** Every problem of an invalid request. */
    readonly problems: readonly string[] = [],
    readonly retryAfterMs = 0,
    options?: ErrorOptions,
  ) {
    super(`${message}; ${remedy(code)}`, options);
    this.what = message;
  }

  /** The message without what to do. */
  readonly what: string;
}

/**
 * What runs at Gemini after submitOnce failed.
 *
 * - refused: nothing. The cause is Gemini's answer, or that it was not reached. The id may be used
 *   again at once.
 * - earlier-run: perhaps what an earlier call submitted. Nothing was submitted now.
 * - unanswered: perhaps one operation. The cause is what create threw.
 * - unregistered: the operation with the name. The cause is why it is not registered.
 */
export type Outcome = "refused" | "earlier-run" | "unanswered" | "unregistered";

/** submitOnce did not end with a registered operation. */
export class SubmitError extends Error {
  override name = "SubmitError";

  constructor(
    readonly outcome: Outcome,
    readonly correlationId: string,
    cause?: unknown,
    /** The name that Gemini gave, where it did. */
    readonly operationName = "",
    /** The same call, made again later, gets through without an operator. */
    readonly retryable = false,
    /** Of an earlier run: when. */
    readonly retryAfterMs = 0,
  ) {
    const why = said(cause);
    const later = "if it runs, its event or a reconcile pass registers it";
    const when = retryAfterMs ? `try again after ${timeIn(retryAfterMs)}` : "call it again";
    const again = retryable ? `${when}, with the same id` : later;
    const remedy = retryable ? "call it again later" : "correct the request; the id is free";
    const answered = cause instanceof NotSentError ? "was not reached" : "refused it";
    const text = {
      refused: `Gemini ${answered} (${why}), and nothing runs; ${remedy}`,
      "earlier-run": `an earlier run may have submitted it; ${again}`,
      unanswered: `no answer says whether it was submitted (${why}); ${again}`,
      unregistered:
        `${operationName} runs, but is not registered (${why}); its event or a reconcile pass ` +
        "registers it, or register",
    }[outcome];
    super(`${correlationId}: ${text}`, { cause });
  }
}

/**
 * create throws it with the status of Gemini's answer to the creation, and what that says. Only create
 * knows: the same status may come from a second request, or of another server.
 */
export class AnsweredError extends Error {
  override name = "AnsweredError";

  constructor(readonly status: number, message: string, options?: ErrorOptions) {
    super(message, options);
  }
}

/**
 * create throws it where no connection to Gemini was made, so that nothing runs. Only create knows: the
 * same error of the network may come from a second request, or of a program of its own.
 */
export class NotSentError extends Error {
  override name = "NotSentError";
}

/** wait ended before the operation. The cause is the last request's error, if there is one. */
export class NotSettledError extends Error {
  override name = "NotSettledError";

  /** @param operation its record as it was then, without a state where opledger never answered */
  constructor(readonly operation: Operation, cause?: Error) {
    const state = `${operation.state || "unknown"}${cause ? ` (${cause.message})` : ""}`;
    super(`${operation.key} is still ${state}; wait again`, { cause });
  }
}

/** A request is not signed with the secret, or is too old. Answer 401: it is sent again. */
export class SignatureError extends Error {
  override name = "SignatureError";
}

/** A signed body is not what an effect sends. Answer 400: it is not opledger's. */
export class CompletionError extends Error {
  override name = "CompletionError";
}

/** What an operation must carry, so that it is found even if its submitter dies. */
export class Mark {
  /** @throws RangeError for an id that it cannot carry */
  constructor(readonly correlationId: string) {
    const bytes = Buffer.byteLength(correlationId);
    if (bytes < 1 || bytes > 100 || /[\p{C}\p{Z}\ufffd]/u.test(correlationId)) {
      const quoted = JSON.stringify(correlationId);
      throw new RangeError(`the correlation id ${quoted} is not 1 to 100 printable bytes, no spaces`);
    }
  }

  /** Returns the display name of a batch: own, cut to fit, and the id, as Gemini lists it. */
  displayName(own = ""): string {
    const mark = `opledger:${this.correlationId}`;
    const room = 128 - Buffer.byteLength(` ${mark}`);
    const cut = Buffer.from(own.trim()).subarray(0, room).toString().replace(/\ufffd+$/, "");
    return `${cut} ${mark}`.trim();
  }

  /** Returns the user metadata of a webhook config: own, and the id, which events repeat. */
  userMetadata(own: Record<string, unknown> = {}): Record<string, unknown> {
    return { ...own, opledger_correlation_id: this.correlationId };
  }
}

/** What a client needs of its surroundings. */
export interface Environment {
  /** Milliseconds that never run backwards. */
  now(): number;
  sleep(ms: number): Promise<unknown>;
  /** From 0 to 1. */
  random(): number;
  /** Gets a line when a call waits; stderr unless it is given. */
  log(line: string): void;
}

const REAL: Environment = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms),
  random: Math.random,
  log: (line) => console.error(line),
};

const TERMINAL: readonly string[] = ["SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"];
const TIMEOUT_MS = 60_000; // of one request; longer than LONGEST_WAIT_MS
const GRACE_MS = 5_000; // after wait's time, in which its last request may be answered
const LONGEST_WAIT_MS = 30_000; // that opledger allows in one request
const LONGEST_PAUSE_MS = 60_000; // between two attempts, also where Retry-After asks for more
const OUTAGE_MS = 90_000; // in which a request is repeated while opledger is away
const SUBMIT_WITHIN_MS = 120_000; // after the question, in which create may be called
const LAST_MS = 253_402_300_799_000; // the end of the year 9999
const PATIENCE_MS = 900_000;
const REFUSED_LATER = 429; // a status of Gemini with which nothing runs, and which passes
const LISTED = 20; // wrong lines of a file that an error lists
const TOLERANCE_S = 300; // between a signature's time and ours

/** Whether an operation has ended. */
export function settled(operation: Operation): boolean {
  return TERMINAL.includes(operation.state);
}

/** A client of opledger serve, or of the function Register. */
export class Opledger {
  readonly #url: string;
  readonly #token: () => string | Promise<string>;
  readonly #environment: Environment;

  /**
   * @param token a bearer token; where tokens expire, a function that returns a valid one; without it
   *   OPLEDGER_TOKEN, or what is in the file OPLEDGER_TOKEN_FILE
   * @param environment log, where lines about waiting go; the rest is for tests
   */
  constructor(
    url: string,
    token: string | (() => string | Promise<string>) = tokenOfEnvironment,
    environment: Partial<Environment> = {},
  ) {
    this.#url = checkedUrl("the URL of opledger", url);
    if (token === tokenOfEnvironment) tokenOfEnvironment(); // says at once where there is no such file
    this.#token = typeof token === "string" ? () => token : token;
    this.#environment = { ...REAL, ...environment };
  }

  /**
   * Submits an operation, once for a correlation id, however often it is called.
   *
   * It records the intent, calls create, and registers the name that create returns. create sends
   * Gemini one request, within a minute, which carries the mark, and never repeats it: Gemini would
   * run, and charge for, both. Where that failed it throws AnsweredError with the status of Gemini's
   * answer, or NotSentError: where nothing runs, the id is free at once. After any other error it may
   * run. What an earlier call submitted is returned, and create not called. Upload files before, where
   * find knows of no such operation.
   *
   * Where an earlier call died, opledger finds out from Gemini's list of batches whether it
   * submitted: five minutes after it, and a reconcile pass. This call waits for that, and logs that
   * it does. Videos and interactions cannot be listed, and an operator finds out.
   *
   * @throws RangeError or OpledgerError where nothing was submitted, else SubmitError
   */
  async submitOnce(
    correlationId: string,
    create: (mark: Mark) => Promise<string>,
    { collection, patienceMs = PATIENCE_MS, ...job }: Job,
  ): Promise<Submitted> {
    const mark = new Mark(correlationId);
    const listed = collection === "batches";
    const intent = { ...job, intent: true, correlationId, collection, attempt: randomUUID() };
    const bound = await this.#maySubmit(intent, patienceMs);
    if (bound) return { operation: await this.#read(bound, 0), known: true };
    let name: string;
    try {
      name = await createOnce(create, mark, listed);
    } catch (error) {
      if (error instanceof SubmitError && error.outcome === "refused") {
        // Where this fails, a later call waits until the id is decided.
        await this.#call("POST", "/register", { ...intent, withdraw: true }).catch(() => undefined);
      }
      throw error;
    }
    try {
      return { operation: await this.register(name, { ...job, correlationId }), known: false };
    } catch (error) {
      throw new SubmitError("unregistered", correlationId, error, name, listed);
    }
  }

  /**
   * Returns what an earlier call submitted; undefined where no operation is known. It waits for none.
   *
   * @throws RangeError or OpledgerError
   */
  async find(correlationId: string): Promise<Submitted | undefined> {
    const path = `/intents/${encodeURIComponent(new Mark(correlationId).correlationId)}`;
    let intent: { state: string; operation?: string };
    try {
      intent = await this.#call("GET", path);
    } catch (error) {
      // An older opledger has no such route, and answers 405.
      if (error instanceof OpledgerError && [404, 405].includes(error.code)) return undefined;
      throw error;
    }
    if (intent.state !== "BOUND" || !intent.operation) return undefined;
    return { operation: await this.#read(intent.operation, 0), known: true };
  }

  /** Returns the operation that there is; "" where this call may submit, now. */
  async #maySubmit(intent: { correlationId: string }, patienceMs: number): Promise<string> {
    const { now, sleep, log } = this.#environment;
    const deadline = now() + patienceMs;
    for (let waits = false; ; waits = true) {
      const asked = now();
      const { verdict, waitSeconds = 0, intent: stored } = await this.#call<Verdict>(
        "POST", "/register", intent,
      );
      if (verdict === "bound") return stored.operation ?? "";
      if (verdict === "submit" && now() - asked < SUBMIT_WITHIN_MS) return "";
      // What was allowed and answered too late is over first.
      const wait = verdict === "submit" ? LONGEST_PAUSE_MS : 1000 * waitSeconds;
      const wanted = Math.min(wait, LONGEST_PAUSE_MS);
      if (!wanted || now() + wanted > deadline) {
        throw new SubmitError("earlier-run", intent.correlationId, undefined, "", wanted > 0, wait);
      }
      if (!waits) {
        const until = timeIn(deadline - now());
        log(`${intent.correlationId}: an earlier run may have submitted it; asking again until ${until}`);
      }
      await sleep(wanted);
    }
  }

  /** Registers an operation that runs at Gemini. Repeating it only adds what is new. */
  async register(
    name: string,
    job: Pick<Job, "jobKind" | "metadata"> & { correlationId?: string } = {},
  ): Promise<Operation> {
    return await this.#call<Operation>("POST", "/register", { ...job, name });
  }

  /** Waits until an operation is settled; NotSettledError where the time is over. */
  async wait(name: string, timeoutMs = 600_000): Promise<Operation> {
    const { now, sleep } = this.#environment;
    const deadline = now() + timeoutMs;
    const result = {
      outputFile: null, inline: null, errorCode: null, errorMessage: null, counts: null,
    };
    let operation: Operation = { key: name, name, state: "", result };
    for (;;) {
      const began = now();
      const asked = Math.max(0, Math.min(LONGEST_WAIT_MS, deadline - began));
      try {
        operation = await this.#read(name, asked, deadline);
      } catch (error) {
        const away = error instanceof OpledgerError && passes(error.code);
        throw away ? new NotSettledError(operation, error) : error;
      }
      if (settled(operation)) return operation;
      if (now() >= deadline) throw new NotSettledError(operation);
      // A server that is stopping answers early: the next one is not asked at once.
      await sleep(Math.max(0, Math.min(2_000, began + asked - now())));
    }
  }

  async #read(name: string, waitMs: number, deadline?: number): Promise<Operation> {
    const quoted = name.split("/").map(encodeURIComponent).join("/");
    const path = `/operations/${quoted}?wait=${Math.floor(waitMs)}ms`;
    return await this.#call<Operation>("GET", path, undefined, deadline);
  }

  /** Repeats a request until it is answered: at opledger every request may be repeated. */
  async #call<T>(
    method: string, path: string, body?: object, until?: number,
  ): Promise<T> {
    const { now, sleep, random, log } = this.#environment;
    const deadline = until ?? now() + OUTAGE_MS;
    let waits = false;
    for (let pause = 500; ; pause = Math.min(2 * pause, 8_000)) {
      try {
        const limit = Math.min(TIMEOUT_MS, Math.max(0, deadline - now()) + GRACE_MS);
        return await this.#send<T>(method, path, body, limit);
      } catch (error) {
        if (!(error instanceof OpledgerError && passes(error.code))) throw error;
        const jittered = pause * (0.5 + random() / 2);
        const wanted = Math.min(Math.max(error.retryAfterMs, jittered), LONGEST_PAUSE_MS);
        if (now() + wanted > deadline) throw error;
        if (!waits) log(`${error.what}; asking again until ${timeIn(deadline - now())}`);
        waits = true;
        await sleep(wanted);
      }
    }
  }

  /** Returns the token as it is now: a file of serve is written again when serve starts again. */
  async #readToken(): Promise<string> {
    try {
      return await this.#token();
    } catch (error) {
      throw new OpledgerError(`the token cannot be had: ${said(error)}`, 0, [], 0, { cause: error });
    }
  }

  async #send<T>(
    method: string, path: string, body: object | undefined, limitMs: number,
  ): Promise<T> {
    const headers = new Headers();
    if (body) headers.set("Content-Type", "application/json");
    const token = await this.#readToken();
    if (token) headers.set("Authorization", `Bearer ${token}`);
    const what = `${method} ${this.#url}${path}`;
    let response: Response, text: string;
    try {
      response = await fetch(this.#url + path, {
        method,
        headers,
        body: body ? JSON.stringify(body) : null,
        redirect: "manual", // another host must not get the token
        signal: AbortSignal.timeout(Math.ceil(limitMs)),
      });
      text = await response.text();
    } catch (error) {
      throw unanswered(what, error);
    }
    if (!response.ok) throw refusal(what, response, text);
    try {
      return JSON.parse(text) as T;
    } catch (error) {
      throw unanswered(what, error);
    }
  }
}

/**
 * Checks a file of requests, one {"key":…,"request":{…}} a line, and returns how many it has.
 *
 * Upload it, and submit the batch with the file. Requests inside a batch have results without their
 * keys, and not always in order.
 *
 * @throws RangeError, which lists the lines that are wrong
 */
export async function checkRequests(path: string): Promise<number> {
  const lines = new Map<string, number>(); // of each key
  const wrong: string[] = [];
  let [number, count] = [0, 0];
  const text = createInterface({ input: createReadStream(path), crlfDelay: Infinity });
  for await (const line of text) {
    number++;
    if (!line.trim()) continue;
    const { key, problems } = readRequest(line, number);
    const first = lines.get(key);
    if (first) problems.push(`its key ${JSON.stringify(key)} is that of line ${first}`);
    else if (key) lines.set(key, number);
    if (problems.length === 0) continue;
    count++;
    if (count <= LISTED) wrong.push(`line ${number}: ${problems.join(", and ")}`);
  }
  if (count > LISTED) wrong.push(`and ${count - LISTED} more`);
  if (count > 0) {
    const are = count === 1 ? "1 line is wrong" : `${count} lines are wrong`;
    throw new RangeError([`${path}: ${are}`, ...wrong].join("\n  "));
  }
  if (lines.size === 0) throw new RangeError(`${path} has no requests`);
  return lines.size;
}

/** Returns the key of a line of requests, or "", and what is wrong with it. */
function readRequest(line: string, number: number): { key: string; problems: string[] } {
  const problems: string[] = [];
  if (number === 1 && line.startsWith("\ufeff")) {
    line = line.slice(1);
    problems.push("it begins with a byte order mark; save the file as UTF-8 without one");
  }
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return { key: "", problems: [...problems, `it is not JSON: ${said(error)}`] };
  }
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    return { key: "", problems: [...problems, 'it is not {"key":…,"request":{…}}'] };
  }
  const { key, request: body } = request as { key?: unknown; request?: unknown };
  if (typeof key === "number") {
    problems.push(`its key ${key} is a number; write "${key}"`);
  } else if (typeof key !== "string" || !key) {
    problems.push("it has no key, a text by which its result is told from others");
  }
  const object = typeof body === "object" && body !== null && !Array.isArray(body);
  if (!object || Object.keys(body).length === 0) {
    problems.push('it has no request, as in "request":{"contents":[…]}');
  }
  return { key: typeof key === "string" ? key : "", problems };
}

/**
 * Returns an HTTP URL without slashes at its end.
 *
 * @throws RangeError, which begins with what it is
 */
export function checkedUrl(what: string, url: string): string {
  if (!/^https?:\/\/[^/]/i.test(url) || !URL.canParse(url)) {
    const form = "begin it with http:// or https:// and a host, as in http://127.0.0.1:8080";
    throw new RangeError(`${what} is ${JSON.stringify(url)}; ${form}`);
  }
  return url.replace(/\/+$/, "");
}

/** The headers of a request, as Node, fetch or any framework has them. */
export type RequestHeaders = Headers | Record<string, string | string[] | undefined>;

/** Verifies what an http effect sends, which is signed by Standard Webhooks. */
export class Verifier {
  readonly #keys: Buffer[];
  readonly #now: () => number;

  /**
   * @param secret "whsec_…", or two with a space between while one replaces the other
   * @param now milliseconds since 1970, for tests
   */
  constructor(secret: string, now: () => number = Date.now) {
    this.#keys = secret.split(/\s+/).filter(Boolean).map(decodeSecret);
    this.#now = now;
    if (this.#keys.length === 0) {
      throw new RangeError("the secret is empty, and everyone could sign with it");
    }
  }

  /**
   * Returns what a request says.
   *
   * @param body its bytes as received, before anything parses them
   * @throws SignatureError or CompletionError
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

/** What opledger answers to an intent. */
interface Verdict {
  verdict: "submit" | "wait" | "bound";
  waitSeconds?: number;
  intent: { operation?: string };
}

function completion(text: string): Completion {
  let payload: unknown;
  try {
    payload = JSON.parse(text);
  } catch (cause) {
    throw new CompletionError(`the signed body is not JSON: ${said(cause)}`, { cause });
  }
  const { idempotencyKey, operation, state, result } = (payload ?? {}) as Record<string, unknown>;
  const texts = [idempotencyKey, operation, state].every((value) => typeof value === "string");
  if (!texts || typeof result !== "object" || result === null) {
    const fields = "idempotencyKey, operation, state and result";
    throw new CompletionError(`the signed body lacks one of ${fields}, which every effect sends`);
  }
  return payload as Completion;
}

/** Returns an error's message, with that of its cause, where fetch has the reason. */
function said(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error && cause.message ? `${message}: ${cause.message}` : message;
}

async function createOnce(
  create: (mark: Mark) => Promise<string>, mark: Mark, listed: boolean,
): Promise<string> {
  let name: string;
  try {
    name = await create(mark);
  } catch (error) {
    // After 408, 499 and 5xx Gemini may have begun.
    const status = error instanceof AnsweredError ? error.status : 0;
    const refused = status >= 400 && status < 500 && status !== 408 && status !== 499;
    const unsent = error instanceof NotSentError;
    const outcome = refused || unsent ? "refused" : "unanswered";
    const again = refused ? status === REFUSED_LATER : listed || unsent;
    throw new SubmitError(outcome, mark.correlationId, error, "", again);
  }
  if (!name) {
    const why = "the answer has no name";
    throw new SubmitError("unanswered", mark.correlationId, why, "", listed);
  }
  return name;
}

function tokenOfEnvironment(): string {
  const { OPLEDGER_TOKEN: token = "", OPLEDGER_TOKEN_FILE: file = "" } = process.env;
  if (token || !file) return token;
  try {
    return readFileSync(file, "ascii").trim();
  } catch (cause) {
    const { message } = cause as Error;
    const text = `OPLEDGER_TOKEN_FILE: ${message}; opledger serve prints which it is`;
    throw new RangeError(text, { cause });
  }
}

function unanswered(what: string, error: unknown): OpledgerError {
  const { message, cause } = error as Error; // of fetch, which has the reason in its cause
  const why = cause instanceof Error && cause.message ? cause.message : message;
  return new OpledgerError(`${what} was not answered: ${why}`, 0, [], 0, { cause: error });
}

/** Reads an answer in opledger's form, {"error":{"message","problems"}}, or a proxy's. */
function refusal(what: string, response: Response, text: string): OpledgerError {
  let said: { message?: unknown; problems?: unknown } | undefined;
  try {
    said = (JSON.parse(text) as { error?: typeof said } | null)?.error;
  } catch {
    said = undefined; // not opledger's
  }
  const message = typeof said?.message === "string" ? said.message : text.slice(0, 200).trim();
  const problems = Array.isArray(said?.problems) ? said.problems.map(String) : [];
  const seconds = Number(response.headers.get("Retry-After") ?? 0) || 0;
  const summary = `${what}: ${response.status} ${message || response.statusText}`;
  return new OpledgerError(summary, response.status, problems, 1000 * seconds);
}

/** Whether the same request may be answered later; 0: it was not answered. */
function passes(code: number): boolean {
  return [0, 408, 429].includes(code) || (code >= 500 && code !== 501);
}

function remedy(code: number): string {
  if (passes(code)) return "try again later: opledger does nothing twice";
  switch (code) {
    case 400:
      return "correct the request";
    case 401:
      return (
        "send a valid token: what serve prints sets OPLEDGER_TOKEN_FILE, and Register takes an " +
        "identity token for its URL"
      );
    case 403:
      return "let the caller in: roles/run.invoker on Register, or serve's --allow-host";
    case 404:
      return "check the URL and the name, and register the operation first";
    case 413:
      return "send less metadata";
    default:
      return "check the URL";
  }
}

/** Returns the time in so many milliseconds. */
function timeIn(ms: number): string {
  return new Date(Math.min(Date.now() + ms, LAST_MS)).toISOString().replace(/\.\d+/, "");
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
