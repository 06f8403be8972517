/** What the ledger says, as objects. Each keeps all that the server answered. */

import { fields, number, object, text, type Json } from "./json.js";

/** Of batches, videos and interactions. */
export type Collection = "batches" | "operations" | "interactions";

/** The state of an operation or a job. */
export type State =
  | "PENDING" | "RUNNING" | "REQUIRES_ACTION" | "SUCCEEDED" | "FAILED" | "CANCELLED" | "EXPIRED"
  | (string & {}); // a word that Gemini adds later

const TERMINAL: readonly State[] = ["SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED"];

/** How an operation ended; null is what Gemini did not report. */
export interface OperationResult {
  readonly outputFile: string | null;
  readonly inline: boolean | null;
  readonly errorCode: string | null;
  readonly errorMessage: string | null;
  readonly counts: { total: number; succeeded: number; failed: number; pending: number } | null;
}

const UNREPORTED: OperationResult = {
  outputFile: null, inline: null, errorCode: null, errorMessage: null, counts: null,
};

/**
 * The ledger's record of an operation.
 *
 * @example
 * const operation = await new Opledger().register("batches/doc-model", { jobKind: "models" });
 * console.log(operation.key, operation.state, operation.jobKind, operation.settled);
 * // batches/doc-model PENDING models false
 */
export class Operation {
  constructor(
    /** Such as "batches/abc123". */
    readonly key: string,
    /** As Gemini gave it. */
    readonly name: string,
    readonly state: State,
    readonly result: OperationResult = UNREPORTED,
    /** All that opledger answered. */
    readonly record: Json = {},
  ) {}

  /** Whether it has ended. */
  get settled(): boolean {
    return TERMINAL.includes(this.state);
  }

  /** Whether it has ended well. */
  get succeeded(): boolean {
    return this.state === "SUCCEEDED";
  }

  /** The submitter's id of it; empty where it has none. */
  get correlationId(): string {
    return String(this.record.correlationId ?? "");
  }

  /** Its kind, which selects effects. */
  get jobKind(): string {
    return String(this.record.jobKind ?? "");
  }

  /** What the submitter said of it. */
  get metadata(): Json {
    return fields(this.record.metadata);
  }

  /** Its effects, and how far each is, such as "done". */
  get effects(): Readonly<Record<string, string>> {
    return fields(this.record.effects) as Record<string, string>;
  }

  /** Why it failed, as Gemini said; empty where it did not. */
  get error(): string {
    return this.result.errorMessage || this.result.errorCode || "";
  }
}

/** The operation of a correlation id. */
export interface Submitted {
  readonly operation: Operation;
  /** An earlier call submitted it. */
  readonly known: boolean;
}

/** What became of a request of a job: https://github.com/opledger/opledger/tree/main/shared/job says what each is. */
export type Outcome = "done" | "invalid" | "truncated" | "refused" | "failed" | (string & {});

/** What opledger answers of a job; it has more fields than these. */
export interface JobProgress extends Json {
  /** SPLITTING, RUNNING, FINISHING or ENDED. */
  readonly phase?: string;
  readonly input?: { readonly sha256: string; readonly bytes: number; readonly requests: number };
  /** starting: those of running of which no batch is known at Gemini. starting and twins are left out where 0. */
  readonly batches?: Readonly<
    Record<"total" | "done" | "running" | "planned", number> & Partial<Record<"starting" | "twins", number>>
  >;
  /** Tokens: input, output, and where there are any thinking and cached. */
  readonly usage?: Readonly<Partial<Record<"input" | "output" | "thinking" | "cached", number>>>;
  /** The record of its operation. */
  readonly record?: Json;
  /** gs://BUCKET/PREFIX or a folder: what the names of output are below. */
  readonly storage?: string;
}

/**
 * How far a job is: a file of requests that becomes a file of results.
 *
 * @example
 * const job = await new Opledger().jobs.submit("doc-model", [["a", "Hello"]], { model: "gemini-3.5-flash" });
 * console.log(job.id, job.open, job.known); // doc-model 1 false
 */
export class Job {
  constructor(
    /** Such as "jobs/nightly". */
    readonly key: string,
    /** PENDING until it has ended. */
    readonly state: State,
    /** The requests by outcome, and the lines of results that are unmatched. */
    readonly counts: Readonly<Record<Outcome, number>>,
    /** The requests that have no outcome yet. */
    readonly open: number,
    /** All that opledger answered. */
    readonly progress: JobProgress,
    /** Of the answer to jobs.submit: an earlier call submitted it. Of any other answer: false. */
    readonly known = false,
  ) {}

  /** The id that its submitter gave it. */
  get id(): string {
    return this.key.replace(/^jobs\//, "");
  }

  /** Whether it has ended. */
  get settled(): boolean {
    return TERMINAL.includes(this.state);
  }

  /** Whether it has ended, with no more failures than it may have. */
  get succeeded(): boolean {
    return this.state === "SUCCEEDED";
  }

  /** Why a job that has ended did not succeed. */
  get why(): string {
    return String(this.progress.why ?? "");
  }
}

/** What an effect sends: an operation has ended, or an item of a batch is there. It is the whole payload. */
export interface Completion {
  /** The same in every repeat. */
  readonly idempotencyKey: string;
  /** Such as "batches/abc123". */
  readonly operation: string;
  readonly state: State;
  readonly jobKind?: string;
  readonly result: OperationResult;
  readonly metadata: Json | null;
  /** Of an effect that runs once per item. */
  readonly item?: { readonly key: string; readonly response?: unknown; readonly error?: unknown };
  /** The W3C trace context of the submission. */
  readonly traceParent?: string;
}

/** Returns the operation that an answer describes. @throws TypeError where it describes none */
export function operationOf(record: Json): Operation {
  const result = object(record, "result") as unknown as OperationResult;
  return new Operation(text(record, "key"), text(record, "name"), text(record, "state"), result, record);
}

/** Returns the job that an answer describes. @throws TypeError where it describes none */
export function jobOf(progress: Json, known = false): Job {
  const counted = Object.entries(object(progress, "counts")).filter(([, count]) => typeof count === "number");
  const counts = Object.fromEntries(counted) as Record<Outcome, number>;
  return new Job(text(progress, "key"), text(progress, "state"), counts, number(progress, "open"), progress, known);
}

/** Returns the id of a job, of a name that may be its key. @throws RangeError where it can be none */
export function jobIdOf(given: string): string {
  const id = given.replace(/^jobs\//, "");
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(id)) return id;
  const form = "1 to 64 letters, digits, - and _, the first no - or _";
  throw new RangeError(`the job id ${JSON.stringify(given)} is not ${form}`);
}
