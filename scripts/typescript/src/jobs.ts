/** The jobs of a client. */

import { bodyOf, readAs, type Caller, type CallOptions } from "./calls.js";
import { LocalFile } from "./file.js";
import type { Json } from "./json.js";
import { jobIdOf, jobOf, type Job, type Outcome } from "./model.js";
import { decided, wait, type Decision } from "./operations.js";
import { checkLines, isPath, writeRequests, type Requests } from "./requests.js";
import type { Result } from "./result.js";
import { results, type JobResultsOptions, type Places } from "./results.js";
import { submissionOf, type Submission } from "./submit.js";
import { uploadToBucket, uploadToServe } from "./upload.js";

/** A number of requests, or a share of a job's, such as "2%". */
export type Tolerance = number | `${number}` | `${number}%`;

/** What can be changed of a job that runs. */
export interface JobLimits {
  /** Run at most this many batches at once, up to 100; 20. */
  maxBatches?: number;
  /** The job succeeds with this many requests that are not done; 0. */
  maxFailures?: Tolerance;
  /** Start nothing more after this many requests are not done; never. */
  stopAfter?: Tolerance;
  /** From then on start nothing more, cancel what runs, and end with what is there: "8h", or "07:00", which is UTC. */
  deadline?: string | Date;
  /** Start no batch beyond this many dollars, as serve estimates by OPLEDGER_PRICES; no limit. */
  maxCost?: number;
  /** Of jobs that wait for room, those of a higher priority go first: from -100 to 100; 0. */
  priority?: number;
  /** Cancel a batch that runs for longer, and send what it did not do again; never. */
  cancelAfterSeconds?: number;
}

/** What a submitter decides about a job. `opledger submit job --help` says more. */
export interface JobOptions extends JobLimits {
  /** At most this many requests in one batch; 10000. */
  maxRequestsPerBatch?: number;
  /** At most this size of a batch's input, up to 2 GiB; 200 MiB. */
  maxBytesPerBatch?: number;
  /** Send a request at most this often; 3. */
  maxAttempts?: number;
  /** Also send requests again that are invalid or truncated. */
  retryOn?: readonly ("invalid" | "truncated")[];
  /** Check that each response is JSON, or has the schema of its request; others are invalid. */
  validate?: "json" | "schema";
  /** First run this many requests as a batch of their own, and the rest if enough of them are done. */
  pilot?: number;
  /** Start the rest if at most this many requests of the pilot are not done; "5%". */
  pilotFailures?: Tolerance;
  /** The requests are for embeddings: each has content, and no contents. */
  embed?: boolean;
}

export interface JobSubmitOptions extends JobOptions, Submission, CallOptions {
  /** Such as "gemini-3.5-flash". */
  model: string;
  /** @google/genai's GenerateContentConfig, for the requests that have no such setting of their own. */
  config?: object;
  /** Of a file: another name of the key, such as "custom_id". */
  keyField?: string;
}

export interface JobRedriveOptions extends JobOptions, Submission, Decision {
  /** The id of the new job; without it that of the old one and "-2". */
  newId?: string;
  /** Only these; without it all that are not done. */
  outcomes?: readonly Outcome[];
  model?: string;
}

/**
 * The jobs of a client, as its field jobs.
 *
 * @example
 * const { jobs } = new Opledger();
 * await jobs.submit("doc-jobs", [["a", "Hello"]], { model: "gemini-3.5-flash" });
 * console.log((await jobs.wait("doc-jobs")).succeeded); // true
 */
export class Jobs {
  readonly #caller: Caller;
  readonly #places: Places;

  /** It is for Opledger. */
  constructor(caller: Caller, places: Places) {
    this.#caller = caller;
    this.#places = places;
  }

  /**
   * Submits a job: requests that become results. The same call again returns the job that there is, and needs the same
   * requests. They are written to a temporary file first. An upload that breaks off goes on where it was.
   *
   * @param jobId an id of your own, 1 to 64 letters, digits, "-" and "_"
   * @param requests the path of a file of JSON Lines, or any (async) iterable: of lines {"key": …, "request": {…}}, of
   *   pairs of a key and what @google/genai takes as contents, or of what request returns
   * @throws RangeError where the id is none, a request cannot be JSON, or there is no request; ConflictError where
   *   another job has this id; RefusedError where lines or options are wrong, which its problems list; the error of a
   *   file that cannot be read or written; OpledgerError
   *
   * @example
   * async function* reviews() {
   *   yield ["7", "Is this review good? It broke."] as const;
   *   yield ["8", "Is this review good? I like it."] as const;
   * }
   * const options = { model: "gemini-3.5-flash", config: { temperature: 0 }, maxFailures: "2%" } as const;
   * const job = await new Opledger().jobs.submit("doc-job", reviews(), options);
   * console.log(job.id, job.open); // doc-job 2
   */
  async submit(jobId: string, requests: Requests, options: JobSubmitOptions): Promise<Job> {
    const { jobKind, metadata, traceparent, timeoutMs, maxRetries, signal, ...given } = options;
    const { model, config, keyField = "", ...own } = given;
    const id = jobIdOf(jobId);
    const said = { ...optionsOf(own), ...submissionOf(this.#caller, options), model };
    bodyOf(said); // what cannot be JSON is known before the upload
    const raw = isPath(requests) && config === undefined && !this.#places.storage;
    const file = await (raw ? LocalFile.open(requests) : LocalFile.temporary());
    let input: Json;
    try {
      if (raw) await checkLines(file, requests, keyField || "key");
      const count = raw ? 0 : await writeRequests(file, requests, config, keyField);
      const [size, sha256] = [await file.size(), await file.sha256()];
      if (size === 0) throw new RangeError("there are no requests");
      const { storage, google } = this.#places;
      if (storage) {
        input = { sha256, bytes: size, requests: count };
        const at = `${storage}/${id}/${sha256}/input.jsonl`;
        await uploadToBucket(this.#caller, google, at, { file, size, sha256 }, options);
      } else {
        input = await uploadToServe(this.#caller, id, { file, size, sha256 }, raw ? keyField : "", options);
      }
    } finally {
      await file.close();
    }
    const body = bodyOf({ ...said, input });
    const url = `/jobs/${id}`;
    const reply = await this.#caller.exchange({ method: "POST", url, body }, this.#caller.bounds(options));
    return readAs(`POST ${url}`, reply, (answer) => jobOf(answer, reply.status === 200));
  }

  /**
   * Returns how far a job is.
   *
   * @throws NotFoundError where there is no such job; OpledgerError
   *
   * @example
   * console.log((await new Opledger().jobs.get("doc-job")).key); // jobs/doc-job
   */
  async get(jobId: string, options: CallOptions = {}): Promise<Job> {
    const path = `/jobs/${jobIdOf(jobId)}`;
    return await this.#caller.call("GET", path, undefined, this.#caller.bounds(options), (answer) => jobOf(answer));
  }

  /**
   * Waits until a job has ended, also while opledger restarts; for ever, unless timeoutMs is given.
   *
   * @throws NotSettledError where it has not ended in time: wait again; OpledgerError
   *
   * @example
   * const job = await new Opledger().jobs.wait("doc-job");
   * console.log(job.state, job.counts.done); // SUCCEEDED 2
   */
  async wait(jobId: string, options: CallOptions = {}): Promise<Job> {
    const { now } = this.#caller.environment;
    const { timeoutMs = Infinity } = options;
    const ends = now() + timeoutMs;
    await wait(this.#caller, `jobs/${jobIdOf(jobId)}`, { ...options, timeoutMs });
    return await this.get(jobId, ends === Infinity ? options : { ...options, timeoutMs: Math.max(0, ends - now()) });
  }

  /**
   * Yields the results of a job, one for each key, as Opledger.results does.
   *
   * @example
   * const outcomes: string[] = [];
   * for await (const { key, outcome } of new Opledger().jobs.results("doc-job")) outcomes.push(`${key} ${outcome}`);
   * console.log(outcomes.sort().join(", ")); // 7 done, 8 done
   */
  async *results(jobId: string, options: JobResultsOptions = {}): AsyncGenerator<Result, void, undefined> {
    yield* results(this.#caller, this.#places, `jobs/${jobIdOf(jobId)}`, options);
  }

  /**
   * Ends a job: nothing more is started, and what succeeded is kept.
   *
   * @throws NotFoundError where there is no such job; ConflictError where it has ended; OpledgerError
   *
   * @example
   * const { jobs } = new Opledger();
   * await jobs.submit("doc-cancelled", [["a", "Hello"]], { model: "gemini-3.5-flash" });
   * await jobs.cancel("doc-cancelled", { why: "an example" });
   * console.log((await jobs.wait("doc-cancelled")).settled); // true
   */
  async cancel(jobId: string, decision: Decision): Promise<Job> {
    return await this.#decide("POST", jobId, ":cancel", {}, decision);
  }

  /**
   * Starts nothing more of a job until resume; what runs goes on. Errors are those of cancel.
   *
   * @example
   * const { jobs } = new Opledger();
   * await jobs.submit("doc-paused", [["a", "Hello"]], { model: "gemini-3.5-flash" });
   * await jobs.pause("doc-paused", { why: "an example", by: "ann" });
   * await jobs.resume("doc-paused", { why: "an example", by: "ann" });
   * console.log((await jobs.wait("doc-paused")).state); // SUCCEEDED
   */
  async pause(jobId: string, decision: Decision): Promise<Job> {
    return await this.#decide("POST", jobId, ":pause", {}, decision);
  }

  /**
   * Starts batches of a paused job again. Errors are those of cancel.
   *
   * @example
   * try {
   *   await new Opledger().jobs.resume("doc-nothing", { why: "an example" });
   * } catch (error) {
   *   if (error instanceof NotFoundError) console.log(error.status); // 404
   * }
   */
  async resume(jobId: string, decision: Decision): Promise<Job> {
    return await this.#decide("POST", jobId, ":resume", {}, decision);
  }

  /**
   * Changes limits of a job that runs. Errors are those of cancel.
   *
   * @example
   * try {
   *   await new Opledger().jobs.change("doc-job", { maxBatches: 2, why: "an example" });
   * } catch (error) {
   *   if (error instanceof ConflictError) console.log(error.status); // 409
   * }
   */
  async change(jobId: string, options: JobLimits & Decision): Promise<Job> {
    const { why, by, timeoutMs, maxRetries, signal, ...limits } = options;
    return await this.#decide("PATCH", jobId, "", optionsOf(limits), options);
  }

  /**
   * Makes a job of the requests of one that has ended which are not done. opledger serve alone does it. Options are
   * those that are other than in the old job.
   *
   * @throws ConflictError where the job has not ended, or has no such requests; OpledgerError
   *
   * @example
   * try {
   *   await new Opledger().jobs.redrive("doc-job", { why: "an example" });
   * } catch (error) {
   *   if (error instanceof ConflictError) console.log(error.status); // 409
   * }
   */
  async redrive(jobId: string, options: JobRedriveOptions): Promise<Job> {
    const { why, by, newId, jobKind, metadata, traceparent, timeoutMs, maxRetries, signal, ...own } = options;
    const said = { ...optionsOf(own), id: newId, jobKind, metadata, traceParent: traceparent };
    return await this.#decide("POST", jobId, ":redrive", said, options);
  }

  async #decide(method: string, jobId: string, verb: string, body: Json, decision: Decision): Promise<Job> {
    const path = `/jobs/${jobIdOf(jobId)}${verb}`;
    const whole = { ...body, ...decided(decision) };
    return await this.#caller.call(method, path, whole, this.#caller.bounds(decision), (answer) => jobOf(answer));
  }
}

/** Returns options as a request has them. */
function optionsOf({ deadline, maxFailures, stopAfter, pilotFailures, ...options }: JobOptions): Json {
  const tolerances = { maxFailures, stopAfter, pilotFailures };
  const texts = Object.entries(tolerances).filter(([, value]) => value !== undefined);
  return {
    ...options,
    ...Object.fromEntries(texts.map(([name, value]) => [name, String(value)])),
    deadline: deadline instanceof Date ? deadline.toISOString() : deadline,
  };
}
