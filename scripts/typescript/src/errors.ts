/** What the package throws. Every error of opledger is an OpledgerError; a wrong argument is a RangeError. */

import type { Operation } from "./model.js";
import { timeIn } from "./time.js";

/** What an error has beside its text. */
export interface ErrorDetails extends ErrorOptions {
  status?: number;
  problems?: readonly string[];
  reason?: string;
  retryAfterMs?: number;
  /** What to do; without it that of the status. */
  remedy?: string;
}

/**
 * The base of every error of this package. Its message ends with what to do.
 *
 * @example
 * const error = new OpledgerError("the store is away", { status: 503 });
 * console.log(error.message); // the store is away; try again later: opledger does nothing twice
 * console.log(error.what, error.status); // the store is away 503
 */
export class OpledgerError extends Error {
  override name = "OpledgerError";
  /** What the server said, or what happened, without what to do. */
  readonly what: string;
  /** The HTTP status of the answer; 0 where there was none. */
  readonly status: number;
  /** Every problem of an invalid request. */
  readonly problems: readonly string[];
  /** A word for programs; empty where the server gave none. */
  readonly reason: string;
  /** The milliseconds after which the same call may get through. */
  readonly retryAfterMs: number;

  constructor(what: string, details: ErrorDetails = {}) {
    const { status = 0, problems = [], reason = "", retryAfterMs = 0, remedy = remedyOf(status), ...options } = details;
    super(`${what}; ${remedy}`, options);
    this.what = what;
    this.status = status;
    this.problems = problems;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * No answer came, or none but "try again later", in the time and the repeats that the call has.
 *
 * @example
 * try {
 *   await new Opledger("http://127.0.0.1:1").operation("batches/abc", { timeoutMs: 0 });
 * } catch (error) {
 *   if (error instanceof UnavailableError) console.log(error.status); // 0
 * }
 */
export class UnavailableError extends OpledgerError {
  override name = "UnavailableError";
}

/**
 * The server refused the request: the same request is refused again.
 *
 * @example
 * try {
 *   await new Opledger().register("no name");
 * } catch (error) {
 *   if (error instanceof RefusedError) console.log(error.status, error.problems.length > 0); // 400 true
 * }
 */
export class RefusedError extends OpledgerError {
  override name = "RefusedError";
}

/**
 * 401 or 403: the token is missing or wrong, or the caller may not do this. 0: the token cannot be had or sent.
 *
 * @example
 * try {
 *   await new Opledger("", { token: "two words" }).operation("batches/abc");
 * } catch (error) {
 *   if (error instanceof AccessError) console.log(error.status); // 0
 * }
 */
export class AccessError extends RefusedError {
  override name = "AccessError";
}

/**
 * 404: the ledger has no such operation, job or intent.
 *
 * @example
 * try {
 *   await new Opledger().operation("batches/never");
 * } catch (error) {
 *   if (error instanceof NotFoundError) console.log(error.status); // 404
 * }
 */
export class NotFoundError extends RefusedError {
  override name = "NotFoundError";
}

/**
 * 409: what is there differs, such as another job with this id, or has not ended or has ended.
 *
 * @example
 * const error: RefusedError = new ConflictError("jobs/nightly has ended", { status: 409 });
 * console.log(error.message); // jobs/nightly has ended; read what is there, and decide
 */
export class ConflictError extends RefusedError {
  override name = "ConflictError";
}

/**
 * What runs at Gemini after submitOnce failed.
 *
 * - refused: nothing. The cause is Gemini's answer, or that it was not reached. The id may be used again at once.
 * - earlier-run: perhaps what an earlier call submitted. Nothing was submitted now.
 * - unanswered: perhaps one operation. The cause is what create threw.
 * - unregistered: the operation called operationName. The cause is why it is not registered.
 */
export type SubmitOutcome = "refused" | "earlier-run" | "unanswered" | "unregistered";

/** What a SubmitError knows beside its outcome. */
export interface SubmitDetails extends Omit<ErrorDetails, "remedy"> {
  operationName?: string;
  retryable?: boolean;
}

/**
 * submitOnce did not end with a registered operation.
 *
 * @example
 * const refused = () => Promise.reject(new AnsweredError(400, "no such model"));
 * try {
 *   await new Opledger().submitOnce("doc-refused", refused, { collection: "batches" });
 * } catch (error) {
 *   if (error instanceof SubmitError) console.log(error.outcome, error.retryable); // refused false
 * }
 */
export class SubmitError extends OpledgerError {
  override name = "SubmitError";
  readonly outcome: SubmitOutcome;
  readonly correlationId: string;
  /** The name that Gemini gave, where it is known. */
  readonly operationName: string;
  /** The same call, made again later, gets through without an operator. */
  readonly retryable: boolean;

  constructor(outcome: SubmitOutcome, correlationId: string, why: string, details: SubmitDetails = {}) {
    const { operationName = "", retryable = false, ...others } = details;
    const when = others.retryAfterMs ? `try again after ${timeIn(others.retryAfterMs)}` : "call it again";
    const later = "if it runs, its event or a reconcile pass registers it";
    const again = retryable ? `${when}, with the same id` : later;
    const free = retryable ? "call it again later" : "correct the request; the id is free";
    const [what, remedy] = ({
      refused: [`Gemini ${why}, and nothing runs`, free],
      "earlier-run": ["an earlier run may have submitted it", again],
      unanswered: [`no answer says whether it was submitted (${why})`, again],
      unregistered: [
        `${operationName} runs, but is not registered (${why})`,
        "its event or a reconcile pass registers it, or register",
      ],
    } as const)[outcome];
    super(`${correlationId}: ${what}`, { ...others, remedy });
    this.outcome = outcome;
    this.correlationId = correlationId;
    this.operationName = operationName;
    this.retryable = retryable;
  }
}

/**
 * create throws it with the status of Gemini's answer to the creation, and what that says. Only create knows: the
 * same status may come from a second request, or of another server.
 *
 * @example
 * console.log(new AnsweredError(429, "slow down").status); // 429
 */
export class AnsweredError extends OpledgerError {
  override name = "AnsweredError";

  constructor(status: number, why: string, options: ErrorOptions = {}) {
    super(why, { ...options, status });
  }
}

/**
 * create throws it where no connection to Gemini was made, so that nothing runs. Only create knows: the same error of
 * the network may come from a second request, or of a program of its own.
 *
 * @example
 * console.log(new NotSentError("no route").what); // no route
 */
export class NotSentError extends OpledgerError {
  override name = "NotSentError";

  constructor(why: string, options: ErrorOptions = {}) {
    super(why, options);
  }
}

/**
 * The time of a wait was over before the operation had ended. The cause is the last request's error, if there is one.
 *
 * @example
 * const { key } = await new Opledger().register("batches/doc-open");
 * try {
 *   await new Opledger().wait(key, { timeoutMs: 0 });
 * } catch (error) {
 *   if (error instanceof NotSettledError) console.log(error.operation.state); // PENDING
 * }
 */
export class NotSettledError extends OpledgerError {
  override name = "NotSettledError";
  /** Its record as it was last. Where opledger never answered, it has no state. */
  readonly operation: Operation;

  constructor(operation: Operation, cause?: OpledgerError) {
    const state = `${operation.state || "unknown"}${cause ? ` (${cause.message})` : ""}`;
    super(`${operation.key} is still ${state}`, { status: cause?.status ?? 0, remedy: "wait again", cause });
    this.operation = operation;
  }
}

/**
 * The results are not whole: what was read so far is all that came.
 *
 * @example
 * const error = new ResultsError("2 lines are missing", { remedy: "read them again" });
 * console.log(error.message); // 2 lines are missing; read them again
 */
export class ResultsError extends OpledgerError {
  override name = "ResultsError";
}

/**
 * A request is not signed with the secret, or is too old. Answer 401: it is sent again.
 *
 * @example
 * try {
 *   new Verifier("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").verify({}, Buffer.from("{}"));
 * } catch (error) {
 *   if (error instanceof SignatureError) console.log(error.status); // 401
 * }
 */
export class SignatureError extends OpledgerError {
  override name = "SignatureError";

  constructor(what: string) {
    super(what, { status: 401, remedy: "answer 401" });
  }
}

/**
 * A signed body is not what an effect sends. Answer 400: it is not opledger's.
 *
 * @example
 * console.log(new CompletionError("it has no operation").status); // 400
 */
export class CompletionError extends OpledgerError {
  override name = "CompletionError";

  constructor(what: string, options: ErrorOptions = {}) {
    super(what, { ...options, status: 400, remedy: "answer 400" });
  }
}

/** Returns what is thrown for a status. */
export function errorOf(status: number, what: string, details: ErrorDetails): OpledgerError {
  const kinds: Record<number, typeof RefusedError> = {
    401: AccessError, 403: AccessError, 404: NotFoundError, 409: ConflictError,
  };
  const kind = passes(status) ? UnavailableError : (kinds[status] ?? RefusedError);
  return new kind(what, { ...details, status });
}

/** Returns an error's message, of ours without what to do, with that of its cause, where fetch has the reason. */
export function said(error: unknown): string {
  if (error instanceof OpledgerError) return error.what;
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  return cause instanceof Error && cause.message ? `${message}: ${cause.message}` : message;
}

/** Whether the same request may be answered later; 0: it was not answered. */
function passes(status: number): boolean {
  return [0, 408, 429].includes(status) || (status >= 500 && status !== 501);
}

const SERVE_ALONE = "opledger serve has this route, the deployed function has not; check the URL";
const REMEDIES: Readonly<Record<number, string>> = {
  400: "correct the request",
  401: "send a valid token: what serve prints sets OPLEDGER_TOKEN_FILE, and Register takes an identity token for its " +
    "URL",
  403: "let the caller in: roles/run.invoker on Register, or serve's --allow-host",
  404: "check the URL and the name, and register the operation first",
  405: SERVE_ALONE,
  409: "read what is there, and decide",
  413: "send less metadata",
  501: SERVE_ALONE,
};

function remedyOf(status: number): string {
  return passes(status) ? "try again later: opledger does nothing twice" : (REMEDIES[status] ?? "check the URL");
}
