import { fields, isObject, type Json } from "./json.js";
import type { Outcome } from "./model.js";

/** Gemini's count of tokens; it has more fields than these. */
export interface Usage {
  readonly promptTokenCount?: number;
  readonly cachedContentTokenCount?: number;
  readonly candidatesTokenCount?: number;
  readonly thoughtsTokenCount?: number;
  readonly totalTokenCount?: number;
}

/**
 * What became of one request of a batch or a job.
 *
 * @example
 * const content = { parts: [{ text: "good" }] };
 * console.log(Result.of({ key: "a", response: { candidates: [{ content }] } }).text); // good
 */
export class Result {
  private constructor(
    /** The key of the request; empty where Gemini lost it. */
    readonly key: string,
    /** Gemini's response; null where there is none. */
    readonly response: Json | null,
    /** Why there is none, as Gemini or opledger says. */
    readonly error: Json | null,
    /** Of a batch: done or failed. */
    readonly outcome: Outcome,
    /** The whole line. */
    readonly line: Json,
  ) {}

  /** Returns the result that a line says. */
  static of(line: Json): Result {
    const response = isObject(line.response) ? line.response : null;
    const error = isObject(line.error) ? line.error : null;
    const outcome = String(line.outcome || (response ? "done" : "failed"));
    return new Result(String(line.key ?? ""), response, error, outcome, line);
  }

  /** The text of the first candidate, without thoughts; empty where it has none. */
  get text(): string {
    const candidates = this.response?.candidates;
    const parts = fields(fields(Array.isArray(candidates) ? candidates[0] : undefined).content).parts;
    if (!Array.isArray(parts)) return "";
    return parts.map(fields).filter((part) => !part.thought).map((part) => part.text ?? "").join("");
  }

  /** Gemini's usageMetadata of the response; empty where there is none. */
  get usage(): Usage {
    return fields(this.response?.usageMetadata) as Usage;
  }

  /** Why it is not done; empty where it is. */
  get why(): string {
    return String(this.line.why || this.error?.message || "");
  }

  /** How often the request was sent; 0 where it is not known. */
  get attempts(): number {
    return Number(this.line.attempts ?? 0);
  }
}
