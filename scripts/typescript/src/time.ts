/** The time of a client, and how it is told. */

import { setTimeout as pause } from "node:timers/promises";

/** What a client needs of its surroundings. */
export interface Environment {
  /** Milliseconds that never run backwards. */
  now(): number;
  sleep(ms: number, signal?: AbortSignal): Promise<unknown>;
  /** From 0 to 1. */
  random(): number;
  /** Gets a line when a call waits; stderr unless it is given. */
  log(line: string): void;
}

export const REAL: Environment = {
  now: () => performance.now(),
  sleep: (ms, signal) => pause(ms, undefined, signal && { signal }).catch((error: unknown) => {
    signal?.throwIfAborted(); // the caller's reason, and not an AbortError that has it
    throw error;
  }),
  random: Math.random,
  log: (line) => console.error(line),
};

const LAST_MS = 253_402_300_799_000; // the end of the year 9999

/** Returns the time in so many milliseconds. */
export function timeIn(ms: number): string {
  return new Date(Math.min(Date.now() + ms, LAST_MS)).toISOString().replace(/\.\d+/, "");
}
