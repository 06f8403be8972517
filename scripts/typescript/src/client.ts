/** The client: each call, and what it is made of. */

import { Caller, type CallOptions } from "./calls.js";
import { AccessError } from "./errors.js";
import { Jobs } from "./jobs.js";
import type { Mark } from "./mark.js";
import type { Operation, Submitted } from "./model.js";
import * as operations from "./operations.js";
import type { Result } from "./result.js";
import { results, type Places, type ResultsOptions } from "./results.js";
import * as submit from "./submit.js";
import { REAL, type Environment } from "./time.js";
import { checkedUrl, tokenOfEnvironment, Transport, type Token } from "./transport.js";

/** How a client is made. What it has of Environment, but log, is for tests. */
export interface ClientOptions extends Partial<Environment> {
  /** Sent as a bearer token; without it OPLEDGER_TOKEN, or what the file OPLEDGER_TOKEN_FILE has, which serve makes. */
  token?: Token;
  /** After which a call gives up, repeats included; 90 s. A download has them again whenever it came further. */
  timeoutMs?: number;
  /** How often a request is repeated at most; as often as timeoutMs allows. */
  maxRetries?: number;
  /** Deployed: the job storage, gs://BUCKET/PREFIX, with inputs and results of jobs. With serve leave it out. */
  storage?: string;
  /** The token for the bucket, such as googleToken(new GoogleAuth()). */
  storageToken?: Token;
  /** Deployed: for results that only Gemini has; without it GEMINI_API_KEY. */
  geminiApiKey?: string;
  /** Returns the W3C trace context of a submission. */
  traceparent?: () => string;
}

const LOCAL = "http://127.0.0.1:8080";
const GEMINI = "https://generativelanguage.googleapis.com";
const STORAGE = "https://storage.googleapis.com";
const TIMEOUT_MS = 90_000;
const WAIT_MS = 600_000;

/**
 * A client of opledger serve, or of the function Register.
 *
 * Every call repeats its requests while opledger is away, as long as it may: at opledger nothing is done twice.
 *
 * @example
 * const client = new Opledger(); // OPLEDGER_URL, or serve on this machine
 * console.log((await client.register("batches/doc-first", { jobKind: "reviews" })).state); // PENDING
 */
export class Opledger {
  readonly jobs: Jobs;
  readonly #caller: Caller;
  readonly #places: Places;

  /**
   * @param url where opledger is; empty: OPLEDGER_URL, or serve on this machine
   * @throws RangeError for an address that is none, or a file of the token that cannot be read
   */
  constructor(url = "", options: ClientOptions = {}) {
    const { env } = process;
    const { token = tokenOfEnvironment, traceparent = () => "" } = options;
    const { timeoutMs = TIMEOUT_MS, maxRetries = Infinity } = options;
    const key = options.geminiApiKey || env.GEMINI_API_KEY || "";
    this.#places = placesOf(options, key);
    const tokens = { opledger: token, gemini: key, google: storageTokenOf(options), none: "" };
    if (token === tokenOfEnvironment) tokenOfEnvironment(); // says at once where there is no such file
    const transport = new Transport(checkedUrl("the URL of opledger", url || env.OPLEDGER_URL || LOCAL), tokens);
    const { now = REAL.now, sleep = REAL.sleep, random = REAL.random, log = REAL.log } = options;
    this.#caller = new Caller({ now, sleep, random, log }, traceparent, transport, timeoutMs, maxRetries);
    this.jobs = new Jobs(this.#caller, this.#places);
  }

  /**
   * Submits an operation, once for a correlation id, however often it is called.
   *
   * It records the intent, calls create, and registers the name that create returns. create sends Gemini one request,
   * within a minute, which carries the mark, and never repeats it: Gemini would run, and charge for, both. Where that
   * failed it throws AnsweredError with the status of Gemini's answer, or NotSentError: where nothing runs, the id is
   * free at once. After any other error it may run. What an earlier call submitted is returned, and create not called.
   * Upload files before, where find knows of no such operation.
   *
   * Where an earlier call died, opledger finds out from Gemini's list of batches whether it submitted: five minutes
   * after it, and a reconcile pass. This call waits for that, and logs that it does. Videos and interactions cannot be
   * listed, and an operator finds out.
   *
   * @param create creates the operation at Gemini, and returns its name, or what @google/genai returns
   * @throws RangeError or OpledgerError where nothing was submitted, else SubmitError, whose outcome says what runs
   *
   * @example
   * const client = new Opledger();
   * const job = { collection: "batches", metadata: { rows: 3 } } as const;
   * console.log((await client.submitOnce("doc-batch", createBatch, job)).known); // false
   * console.log((await client.submitOnce("doc-batch", createBatch, job)).known); // true
   */
  async submitOnce(
    correlationId: string, create: (mark: Mark) => submit.Created | Promise<submit.Created>,
    options: submit.SubmitOptions,
  ): Promise<Submitted> {
    return await submit.submitOnce(this.#caller, correlationId, create, options);
  }

  /**
   * Returns what an earlier call submitted; undefined where no operation is known. It waits for none.
   *
   * @throws RangeError where the id cannot be one; OpledgerError
   *
   * @example
   * console.log(await new Opledger().find("doc-never")); // undefined
   */
  async find(correlationId: string, options: CallOptions = {}): Promise<Submitted | undefined> {
    return await operations.find(this.#caller, correlationId, options);
  }

  /**
   * Registers an operation that runs at Gemini. Repeating it only adds what is new.
   *
   * @param name as Gemini gave it, such as "batches/abc123"
   * @throws RangeError where the metadata cannot be JSON; OpledgerError
   *
   * @example
   * const { metadata } = await new Opledger().register("batches/doc-mine", { metadata: { rows: 3 } });
   * console.log(metadata); // { rows: 3 }
   */
  async register(name: string, options: submit.RegisterOptions = {}): Promise<Operation> {
    return await submit.register(this.#caller, name, options);
  }

  /**
   * Returns the record of an operation as it is now.
   *
   * @param name such as "batches/abc123", or "jobs/nightly"
   * @throws NotFoundError where the ledger has no such operation; OpledgerError
   *
   * @example
   * console.log((await new Opledger().operation("batches/doc-first")).jobKind); // reviews
   */
  async operation(name: string, options: CallOptions = {}): Promise<Operation> {
    return await operations.read(this.#caller, name, 0, this.#caller.bounds(options));
  }

  /**
   * Waits until an operation has ended, also while opledger restarts; ten minutes, unless timeoutMs says otherwise, and
   * with Infinity for ever.
   *
   * @throws NotSettledError where it has not ended in time: wait again; OpledgerError
   *
   * @example
   * const client = new Opledger();
   * const found = await client.find("doc-batch");
   * if (found) console.log((await client.wait(found.operation.key)).state); // SUCCEEDED
   */
  async wait(name: string, options: CallOptions = {}): Promise<Operation> {
    return await operations.wait(this.#caller, name, { ...options, timeoutMs: options.timeoutMs ?? WAIT_MS });
  }

  /**
   * Yields the record of an operation now, and each time that it has changed, until it has ended; for ever, unless
   * timeoutMs is given.
   *
   * @throws NotSettledError where it has not ended in time; OpledgerError
   *
   * @example
   * const client = new Opledger();
   * const found = await client.find("doc-batch");
   * for await (const { state } of client.changes(found?.operation.key ?? "")) console.log(state); // SUCCEEDED
   */
  changes(name: string, options: operations.ChangesOptions = {}): AsyncGenerator<Operation, void, undefined> {
    return operations.changes(this.#caller, name, options);
  }

  /**
   * Yields the operations of the ledger, the newest first.
   *
   * @throws RangeError where correlationId is given, and another filter; OpledgerError
   *
   * @example
   * const filters = { jobKind: "reviews", state: ["PENDING", "RUNNING"] };
   * for await (const { key } of new Opledger().operations(filters)) console.log(key); // batches/doc-first
   */
  operations(filters: operations.OperationFilters = {}): AsyncGenerator<Operation, void, undefined> {
    return operations.operations(this.#caller, filters);
  }

  /**
   * Asks Gemini to cancel a batch or an interaction, and returns its record. opledger serve alone does it. It may
   * succeed all the same. Of a job jobs.cancel is the call.
   *
   * @throws NotFoundError where the ledger has no such operation; ConflictError where it has ended; OpledgerError where
   *   opledger or Gemini refused it, or was away
   *
   * @example
   * const client = new Opledger();
   * const found = await client.find("doc-batch");
   * try {
   *   await client.cancel(found?.operation.key ?? "", { why: "the prompt was wrong" });
   * } catch (error) {
   *   if (error instanceof ConflictError) console.log(error.status); // 409
   * }
   */
  async cancel(name: string, decision: operations.Decision): Promise<Operation> {
    return await operations.cancel(this.#caller, name, decision);
  }

  /**
   * Deletes an operation and everything recorded about it, and returns how many documents that were; 0: there was none.
   * opledger serve alone does it.
   *
   * @throws ConflictError where an effect of it runs, or it is a job that has not ended; OpledgerError
   *
   * @example
   * const client = new Opledger();
   * console.log((await client.forget("batches/doc-mine")) > 0, await client.forget("batches/doc-mine")); // true 0
   */
  async forget(name: string, options: CallOptions = {}): Promise<number> {
    return await operations.forget(this.#caller, name, options);
  }

  /**
   * Yields the results of a batch or a job that has ended, one for each request. They are downloaded whole first, so
   * that a slow reader misses none.
   *
   * @throws NotSettledError where the job has not ended; ConflictError where the batch has not; ResultsError where
   *   requests have no result, or Gemini has none; RangeError where the name is neither a batch's nor a job's, or with
   *   storage merged or partial is asked for; the error of a temporary file that cannot be written; OpledgerError
   *
   * @example
   * const client = new Opledger();
   * const found = await client.find("doc-batch");
   * const outcomes = new Set<string>();
   * for await (const { outcome } of client.results(found?.operation.key ?? "")) outcomes.add(outcome);
   * console.log(outcomes.has("done")); // true
   */
  results(name: string, options: ResultsOptions = {}): AsyncGenerator<Result, void, undefined> {
    return results(this.#caller, this.#places, name, options);
  }
}

function placesOf({ storage = "" }: ClientOptions, key: string): Places {
  const { GOOGLE_GEMINI_BASE_URL: gemini = "" } = process.env;
  if (storage && !storage.startsWith("gs://")) {
    const form = "write gs://BUCKET/PREFIX, as OPLEDGER_JOB_STORAGE there";
    throw new RangeError(`storage is ${JSON.stringify(storage)}; ${form}`);
  }
  const checked = checkedUrl("GOOGLE_GEMINI_BASE_URL", gemini || GEMINI);
  return { storage: storage.replace(/\/+$/, ""), google: emulator() || STORAGE, gemini: key ? checked : "" };
}

function emulator(): string {
  const { STORAGE_EMULATOR_HOST: host = "" } = process.env;
  return host && checkedUrl("STORAGE_EMULATOR_HOST", host.includes("://") ? host : `http://${host}`);
}

function storageTokenOf({ storageToken }: ClientOptions): Token {
  if (storageToken !== undefined) return storageToken;
  if (emulator()) return "";
  return () => {
    const remedy = "give the client storageToken, such as googleToken(new GoogleAuth())";
    throw new AccessError("Cloud Storage needs a token", { remedy });
  };
}
