/** Reads what others wrote as JSON, and writes JSON without losing anything silently. */

/** An object of JSON. */
export type Json = Readonly<Record<string, unknown>>;

/** Returns the members of an object of JSON; none of what is no object. */
export function fields(value: unknown): Json {
  return isObject(value) ? value : {};
}

export function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns a text, or the number, of an answer. @throws TypeError: the answer is not opledger's */
export function text(of: Json, name: string): string {
  const value = of[name];
  if (typeof value !== "string") throw new TypeError(`${name} is ${JSON.stringify(value)}, and no text`);
  return value;
}

export function number(of: Json, name: string): number {
  const value = of[name];
  if (typeof value !== "number") throw new TypeError(`${name} is ${JSON.stringify(value)}, and no number`);
  return value;
}

export function object(of: Json, name: string): Json {
  const value = of[name];
  if (!isObject(value)) throw new TypeError(`${name} is ${JSON.stringify(value)}, and no object`);
  return value;
}

/**
 * Returns a value as JSON, bytes as base64.
 *
 * @throws RangeError for what JSON.stringify would drop, empty or replace: a function, a Map, NaN
 */
export function stringify(what: string, value: unknown): string {
  try {
    return JSON.stringify(value, replaced);
  } catch (error) {
    const { message } = error as Error;
    throw new RangeError(`${what} cannot be JSON: ${message.split("\n")[0]}`, { cause: error });
  }
}

function replaced(this: Record<string, unknown>, name: string, plain: unknown): unknown {
  const given = this[name]; // before its own toJSON, which makes an object of each Buffer
  if (given instanceof Uint8Array) return Buffer.from(given).toString("base64");
  const lost = ["function", "symbol", "bigint"].includes(typeof plain) || given instanceof Map || given instanceof Set;
  if (lost || (typeof plain === "number" && !Number.isFinite(plain))) {
    const kind = typeof plain === "object" ? (given as object).constructor.name : typeof plain;
    throw new RangeError(`${name || "it"} is ${kind === "number" ? String(plain) : `a ${kind}`}`);
  }
  return plain;
}
