/** The calls that read operations, and those that end them. */

import { userInfo } from "node:os";

import type { Bounds, Caller, CallOptions } from "./calls.js";
import { NotFoundError, NotSettledError, OpledgerError, UnavailableError } from "./errors.js";
import { number, text, type Json } from "./json.js";
import { Mark } from "./mark.js";
import { Operation, operationOf, type Collection, type State, type Submitted } from "./model.js";

/** Which operations are listed. */
export interface OperationFilters extends CallOptions {
  /** Only those in this state, or in one of several. */
  state?: State | readonly State[];
  collection?: Collection | "jobs";
  /** Only those of this kind, a pattern such as "nightly-*". */
  jobKind?: string;
  /** Only those that have not ended, the next to be looked up first. */
  pending?: boolean;
  /** Only those that are not older, such as "2026-11-24T00:00:00Z". */
  since?: string | Date;
  /** Only the one with this id; no other filter goes with it. */
  correlationId?: string;
  /** How many are read in one request; 100. */
  pageSize?: number;
}

/** Who decides something, and why. */
export interface Decision extends CallOptions {
  /** The reason, which is recorded. */
  why: string;
  /** Who decides it; without it the user of this process. */
  by?: string;
}

export interface ChangesOptions extends CallOptions {
  /** Between two reads, 30 s at most; 5 s. The end comes without that delay. */
  everyMs?: number;
}

const LONGEST_WAIT_MS = 30_000; // that opledger allows in one request
const EVERY_MS = 5_000;
const LONGEST_EVERY_MS = 86_400_000; // no timer takes what is infinite
const EARLY_MS = 2_000;

/** Returns a name as a path has it. */
export function quoted(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** Returns an operation once it has ended, or after a wait. */
export async function read(caller: Caller, name: string, waitMs: number, bounds: Bounds): Promise<Operation> {
  const path = `/operations/${quoted(name)}?wait=${Math.floor(waitMs)}ms`;
  return await caller.call("GET", path, undefined, bounds, operationOf);
}

export async function find(
  caller: Caller, correlationId: string, options: CallOptions,
): Promise<Submitted | undefined> {
  const path = `/intents/${encodeURIComponent(new Mark(correlationId).correlationId)}`;
  let bound: string;
  try {
    bound = await caller.call("GET", path, undefined, caller.bounds(options), (intent) =>
      text(intent, "state") === "BOUND" ? text(intent, "operation") : "");
  } catch (error) {
    // An older opledger has no such route.
    if (error instanceof NotFoundError || (error instanceof OpledgerError && error.status === 405)) return undefined;
    throw error;
  }
  return bound ? { operation: await read(caller, bound, 0, caller.bounds(options)), known: true } : undefined;
}

export async function wait(caller: Caller, name: string, options: CallOptions): Promise<Operation> {
  const { now, sleep } = caller.environment;
  const reading = new Reading(caller, name, caller.bounds(options));
  for (;;) {
    const began = now();
    const asked = reading.longest(LONGEST_WAIT_MS);
    const operation = await reading.next(asked);
    if (operation.settled) return operation;
    reading.inTime();
    // A server that is stopping answers early: the next one is not asked at once.
    await sleep(Math.max(0, Math.min(EARLY_MS, began + asked - now())), options.signal);
  }
}

export async function* changes(
  caller: Caller, name: string, { everyMs = EVERY_MS, timeoutMs = Infinity, ...options }: ChangesOptions,
): AsyncGenerator<Operation, void, undefined> {
  const { now, sleep } = caller.environment;
  const reading = new Reading(caller, name, caller.bounds({ ...options, timeoutMs }));
  const every = Math.min(everyMs, LONGEST_EVERY_MS);
  for (let version: unknown = null; ;) {
    const began = now();
    const operation = await reading.next(reading.longest(Math.min(every, LONGEST_WAIT_MS)));
    if (operation.record.version !== version) {
      version = operation.record.version;
      yield operation;
    }
    if (operation.settled) return;
    reading.inTime();
    await sleep(Math.max(0, began + every - now()), options.signal);
  }
}

/** The reads of an operation until it has ended. */
class Reading {
  #last: Operation;

  constructor(private readonly caller: Caller, name: string, private readonly bounds: Bounds) {
    this.#last = new Operation(name, name, "");
  }

  /** Returns how long one read may wait. */
  longest(mostMs: number): number {
    return Math.max(0, Math.min(mostMs, this.bounds.deadline - this.caller.environment.now()));
  }

  /** Returns it once it has ended, or after a wait. @throws NotSettledError where opledger is away */
  async next(waitMs: number): Promise<Operation> {
    try {
      return (this.#last = await read(this.caller, this.#last.key, waitMs, this.bounds));
    } catch (error) {
      throw error instanceof UnavailableError ? new NotSettledError(this.#last, error) : error;
    }
  }

  /** @throws NotSettledError where the time is over */
  inTime(): void {
    if (this.caller.environment.now() >= this.bounds.deadline) throw new NotSettledError(this.#last);
  }
}

export async function* operations(
  caller: Caller, filters: OperationFilters,
): AsyncGenerator<Operation, void, undefined> {
  const { correlationId, state, collection, jobKind, pending, since, pageSize = 100 } = filters;
  const given = {
    collection, jobKind, pending: pending && "true", since: since instanceof Date ? since.toISOString() : since,
  };
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value) as [string, string][]);
  for (const one of [state ?? []].flat()) query.append("state", one);
  if (correlationId) {
    const others = [...new Set(query.keys())].join(", ");
    if (others) throw new RangeError(`correlationId names one operation; leave out ${others}`);
    const found = await find(caller, correlationId, filters);
    if (found) yield found.operation;
    return;
  }
  query.set("limit", String(pageSize));
  for (;;) {
    const page = await caller.call("GET", `/operations?${query}`, undefined, caller.bounds(filters), pageOf);
    yield* page.operations;
    if (!page.next) return;
    query.set("after", page.next);
  }
}

function pageOf({ operations, next }: Json): { operations: Operation[]; next: string } {
  if (!Array.isArray(operations)) throw new TypeError("it has no list of operations");
  return { operations: operations.map((record) => operationOf(record as Json)), next: String(next ?? "") };
}

export async function cancel(caller: Caller, name: string, decision: Decision): Promise<Operation> {
  const path = `/operations/${quoted(name)}:cancel`;
  await caller.call("POST", path, decided(decision), caller.bounds(decision), () => undefined);
  return await read(caller, name, 0, caller.bounds(decision));
}

export async function forget(caller: Caller, name: string, options: CallOptions): Promise<number> {
  const path = `/operations/${quoted(name)}`;
  try {
    return await caller.call("DELETE", path, undefined, caller.bounds(options), (answer) => number(answer, "deleted"));
  } catch (error) {
    if (error instanceof NotFoundError) return 0; // a repeat whose first answer was lost
    throw error;
  }
}

/** Returns who decides, and why, as a request has it. */
export function decided({ by, why }: Decision): Json {
  return { by: by || user(), why };
}

function user(): string {
  try {
    return userInfo().username;
  } catch {
    return "opledger"; // a container has users without a name
  }
}
