/** The protocol of submitOnce: an intent, the creation, the registration. */

import { randomUUID } from "node:crypto";

import { LONGEST_PAUSE_MS, type Caller, type CallOptions } from "./calls.js";
import { AnsweredError, NotSentError, OpledgerError, said, SubmitError } from "./errors.js";
import { object, text, type Json } from "./json.js";
import { Mark } from "./mark.js";
import { operationOf, type Collection, type Operation, type Submitted } from "./model.js";
import { read } from "./operations.js";

/** What a submitter says of an operation or a job. */
export interface Submission {
  /** Selects the effects that run for it. */
  jobKind?: string;
  /** What the effects are told of it. */
  metadata?: Record<string, unknown>;
  /** The W3C trace context; without it that of the client. */
  traceparent?: string;
}

export interface SubmitOptions extends Submission, CallOptions {
  collection: Collection;
  /** How long to wait until opledger knows what an earlier call submitted; 15 minutes. */
  patienceMs?: number;
}

export interface RegisterOptions extends Submission, CallOptions {
  /** An id of your own, which no other operation has. */
  correlationId?: string;
}

/** What a creation returns: the name that Gemini gives, or an object that has it. */
export type Created = string | { readonly name?: string | undefined };

const SUBMIT_WITHIN_MS = 120_000; // after the question, in which create may be called
const PATIENCE_MS = 900_000;
const REFUSED_LATER = 429; // a status of Gemini with which nothing runs, and which passes

/** Returns what a submitter says, as a request has it. */
export function submissionOf(caller: Caller, { jobKind, metadata, traceparent }: Submission): Json {
  return { jobKind, metadata, traceParent: traceparent || caller.traceparent() };
}

export async function register(caller: Caller, name: string, options: RegisterOptions): Promise<Operation> {
  const body = { ...submissionOf(caller, options), correlationId: options.correlationId, name };
  return await caller.call("POST", "/register", body, caller.bounds(options), operationOf);
}

export async function submitOnce(
  caller: Caller, correlationId: string, create: (mark: Mark) => Created | Promise<Created>, options: SubmitOptions,
): Promise<Submitted> {
  const mark = new Mark(correlationId);
  const { collection, patienceMs = PATIENCE_MS } = options;
  const said = { ...submissionOf(caller, options), correlationId };
  const intent: Json = { intent: true, collection, attempt: randomUUID(), ...said };
  const bound = await maySubmit(caller, intent, correlationId, patienceMs, options);
  if (bound) return { operation: await read(caller, bound, 0, caller.bounds(options)), known: true };
  const listed = collection === "batches";
  let name: string;
  try {
    name = await createdName(create, mark, listed);
  } catch (error) {
    if (error instanceof SubmitError && error.outcome === "refused") await withdraw(caller, intent, options);
    throw error;
  }
  try {
    return { operation: await register(caller, name, { ...options, correlationId }), known: false };
  } catch (cause) { // whatever it is, the caller gets the name
    const status = cause instanceof OpledgerError ? cause.status : 0;
    const details = { operationName: name, retryable: listed, status, cause };
    throw new SubmitError("unregistered", correlationId, String((cause as Error).message), details);
  }
}

/** Returns the operation that there is; "" where this call may submit, now. */
async function maySubmit(
  caller: Caller, intent: Json, correlationId: string, patienceMs: number, options: CallOptions,
): Promise<string> {
  const { now, sleep } = caller.environment;
  const deadline = now() + patienceMs;
  for (let waits = false; ; waits = true) {
    const asked = now();
    const answer = await caller.call("POST", "/register", intent, caller.bounds(options), verdictOf);
    if (answer.verdict === "bound") return answer.bound;
    if (answer.verdict === "submit" && now() - asked < SUBMIT_WITHIN_MS) return "";
    // What was allowed and answered too late is over first.
    const wait = answer.verdict === "submit" ? LONGEST_PAUSE_MS : answer.waitMs;
    const wanted = Math.min(wait, LONGEST_PAUSE_MS);
    if (!wanted || now() + wanted > deadline) {
      throw new SubmitError("earlier-run", correlationId, "", { retryable: wanted > 0, retryAfterMs: wait });
    }
    if (!waits) caller.logsWait(`${correlationId}: an earlier run may have submitted it`, deadline);
    await sleep(wanted, options.signal);
  }
}

/** Returns what is answered to an intent, and the operation where it is bound. */
function verdictOf(answer: Json): { verdict: string; bound: string; waitMs: number } {
  const verdict = text(answer, "verdict");
  const bound = verdict === "bound" ? text(object(answer, "intent"), "operation") : "";
  return { verdict, bound, waitMs: 1000 * Number(answer.waitSeconds ?? 0) };
}

/** Frees the id at once. Where that fails, a later call waits until the id is decided. */
async function withdraw(caller: Caller, intent: Json, options: CallOptions): Promise<void> {
  try {
    await caller.call("POST", "/register", { ...intent, withdraw: true }, caller.bounds(options), () => undefined);
  } catch {
    // what the caller must know is why Gemini refused
  }
}

async function createdName(
  create: (mark: Mark) => Created | Promise<Created>, mark: Mark, listed: boolean,
): Promise<string> {
  let created: Created;
  try {
    created = await create(mark);
  } catch (cause) {
    const why = said(cause);
    if (cause instanceof NotSentError) {
      throw new SubmitError("refused", mark.correlationId, `was not reached (${why})`, { retryable: true, cause });
    }
    const status = cause instanceof OpledgerError ? cause.status : 0;
    if (cause instanceof AnsweredError && isRefusal(status)) {
      const details = { status, retryable: status === REFUSED_LATER, cause };
      throw new SubmitError("refused", mark.correlationId, `refused it (${why})`, details);
    }
    throw new SubmitError("unanswered", mark.correlationId, why, { retryable: listed, status, cause });
  }
  const name = typeof created === "string" ? created : created?.name;
  if (name) return name;
  throw new SubmitError("unanswered", mark.correlationId, "the answer has no name", { retryable: listed });
}

/** Whether nothing runs for certain: after 408, 499 and 5xx Gemini may have begun. */
function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 499;
}
