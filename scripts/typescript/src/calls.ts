/** Repeats a request until it is answered: at opledger every request may be repeated. */

import { errorOf, OpledgerError, UnavailableError } from "./errors.js";
import { isObject, stringify, type Json } from "./json.js";
import { timeIn, type Environment } from "./time.js";
import { Unreached, type Reply, type Send, type Transport } from "./transport.js";

/** What every call takes. */
export interface CallOptions {
  /** After which it gives up, repeats included. */
  timeoutMs?: number;
  /** How often a request is repeated at most; as often as the time allows, where neither client nor call says it. */
  maxRetries?: number;
  /** Ends the call, which then throws its reason. What was sent may be done. */
  signal?: AbortSignal;
}

/** What a call may take that has begun. */
export interface Bounds {
  deadline: number;
  /** Of one request. */
  retries: number;
  signal?: AbortSignal | undefined;
}

interface Exchange extends Send {
  /** Statuses beside 2xx that are an answer. */
  accept?: readonly number[];
  attemptMs?: number;
}

export const GRACE_MS = 5_000; // after a call's time, in which its last request may be answered
export const LONGEST_PAUSE_MS = 60_000; // between two attempts, also where Retry-After asks for more
const ATTEMPT_MS = 60_000; // of one request; longer than the longest wait that opledger allows

/** Makes the requests of a client, with its time and its randomness. */
export class Caller {
  constructor(
    readonly environment: Environment,
    readonly traceparent: () => string,
    private readonly transport: Transport,
    private readonly timeoutMs: number,
    private readonly maxRetries: number,
  ) {}

  /** Returns what a call may take that begins now. */
  bounds({ timeoutMs = this.timeoutMs, maxRetries = this.maxRetries, signal }: CallOptions = {}): Bounds {
    return { deadline: this.environment.now() + timeoutMs, retries: maxRetries, signal };
  }

  /** Returns what read makes of the object that a request is answered with. */
  async call<T>(
    method: string, path: string, body: Json | undefined, bounds: Bounds, read: (answer: Json) => T,
  ): Promise<T> {
    const reply = await this.exchange({ method, url: path, body: body && bodyOf(body) }, bounds);
    return readAs(`${method} ${path}`, reply, read);
  }

  /** Returns an answer with a status of 2xx or of accept. Else it throws the error of its status. */
  async exchange({ accept = [], attemptMs = ATTEMPT_MS, ...send }: Exchange, bounds: Bounds): Promise<Reply> {
    const { now, sleep, random } = this.environment;
    const { retries, signal } = bounds;
    let { deadline } = bounds;
    const patience = deadline - now();
    let most = 0; // bytes that came of a download
    const headers = send.body === undefined ? {} : { "Content-Type": "application/json" };
    const command: Send = { ...send, headers: { ...headers, ...send.headers } };
    const what = `${send.method} ${send.url.split("?")[0]}`; // the query of a session at Cloud Storage is a secret
    const empty = send.method === "HEAD" || send.auth === "google" || send.auth === "none";
    for (let [repeats, pause] = [0, 500]; ; repeats++, pause = Math.min(2 * pause, 8_000)) {
      let error: OpledgerError;
      try {
        await send.into?.clear();
        const limit = Math.min(attemptMs, Math.max(0, deadline - now()) + GRACE_MS);
        const reply = await this.transport.send(command, limit, signal);
        const whole = send.into !== undefined || isWhole(reply.body, empty);
        if ((isFine(reply.status) && whole) || accept.includes(reply.status)) return reply;
        error = refusal(what, reply);
      } catch (cause) {
        if (!(cause instanceof Unreached)) throw cause;
        error = new UnavailableError(`${what} was not answered: ${cause.message}`, { cause: cause.cause });
        const came = (await send.into?.size()) ?? 0;
        if (came > most) [most, deadline] = [came, now() + patience]; // a download may break off after hours
      }
      const jittered = pause * (0.5 + random() / 2);
      const wanted = Math.min(Math.max(error.retryAfterMs, jittered), LONGEST_PAUSE_MS);
      const over = now() + wanted > deadline || repeats >= retries;
      if (!(error instanceof UnavailableError) || over) throw error;
      if (repeats === 0) this.logsWait(error.what, deadline);
      await sleep(wanted, signal);
    }
  }

  /** Says that a call waits, and until when. */
  logsWait(what: string, deadline: number): void {
    const left = deadline - this.environment.now();
    this.environment.log(`${what}; asking again until ${left === Infinity ? "it answers" : timeIn(left)}`);
  }
}

/** Returns a body without what the caller left out. @throws RangeError where it cannot be JSON */
export function bodyOf(body: Json): string {
  const given = Object.entries(body).filter(([, value]) =>
    value !== undefined && value !== null && value !== "" && !(isObject(value) && isEmpty(value)));
  return stringify(given.map(([name]) => name).join(", "), Object.fromEntries(given));
}

function isEmpty(value: Json): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return (prototype === Object.prototype || prototype === null) && Object.keys(value).length === 0;
}

/** Returns what read makes of an answer, which a proxy may have given. */
export function readAs<T>(what: string, reply: Reply, read: (answer: Json) => T): T {
  try {
    return read(JSON.parse(reply.body || "{}") as Json);
  } catch (cause) {
    const why = `${what}: the answer is not from opledger: ${(cause as Error).message}`;
    throw new UnavailableError(why, { status: 503, cause });
  }
}

function isFine(status: number): boolean {
  return status >= 200 && status < 300;
}

/** Whether a body is an object of JSON: a proxy may answer 200 with a page of its own, or with nothing. */
function isWhole(body: string, empty: boolean): boolean {
  if (!body.trim()) return empty;
  try {
    return isObject(JSON.parse(body));
  } catch {
    return false;
  }
}

/** Reads an answer in opledger's form, {"error":{"message","problems","reason"}}, or a proxy's. */
function refusal(what: string, { status, headers, body }: Reply): OpledgerError {
  let said: Json = {};
  try {
    const answer = JSON.parse(body) as { error?: unknown } | null;
    if (isObject(answer?.error)) said = answer.error;
  } catch {
    // it is not opledger's
  }
  const message = typeof said.message === "string" ? said.message : body.slice(0, 200).trim();
  const seconds = headers.get("Retry-After") ?? "";
  return errorOf(isFine(status) ? 503 : status, `${what}: ${status} ${message}`.trimEnd(), {
    problems: Array.isArray(said.problems) ? said.problems.map(String) : [],
    reason: typeof said.reason === "string" ? said.reason : "",
    retryAfterMs: /^\d+$/.test(seconds) ? 1000 * Number(seconds) : 0,
  });
}
