/** The requests of a job, as lines of JSON. */

import { contentsOf, isFlat, settingsOf, under, type Contents } from "./contents.js";
import { LocalFile } from "./file.js";
import { fields, isObject, stringify, type Json } from "./json.js";

/** A request, and the key by which its result is told from others. */
export interface RequestLine {
  readonly key: string | number;
  /** As Gemini takes it in a file, or with contents and config as @google/genai has them. */
  readonly request: object;
}

/** A line, or a key with what @google/genai takes as contents: also a row of a CSV with these two cells. */
export type Request = RequestLine | readonly [key: string | number, contents: Contents] | readonly string[];

/** The path of a file of JSON Lines, or requests of any (async) iterable, such as a generator. */
export type Requests = string | URL | Iterable<Request> | AsyncIterable<Request>;

const WRITE_BYTES = 1 << 20;

/**
 * Returns a line of a job, of what @google/genai's generateContent takes.
 *
 * @param config its GenerateContentConfig
 * @throws RangeError where something cannot be sent in a file, such as a tool that is a function
 *
 * @example
 * const line = request("a", "Is it good?", { temperature: 0, systemInstruction: "Say yes or no." });
 * console.log(JSON.stringify(line.request.contents)); // [{"role":"user","parts":[{"text":"Is it good?"}]}]
 * console.log(JSON.stringify(line.request.generationConfig)); // {"temperature":0}
 * console.log(JSON.stringify(line.request.systemInstruction)); // {"parts":[{"text":"Say yes or no."}]}
 */
export function request(
  key: string | number, contents: Contents, config?: object,
): { key: string; request: Readonly<Record<string, unknown>> } {
  return { key: String(key), request: { contents: contentsOf(contents), ...settingsOf(config) } };
}

/** Returns a request as a line. @throws RangeError */
export function lineOf(given: unknown, config?: object): string {
  const line = Array.isArray(given) ? pairOf(given, config) : objectOf(given, config);
  const { key, request: body, ...others } = line;
  return `${stringify(`the request ${JSON.stringify(key)}`, { key, request: body, ...others })}\n`;
}

function pairOf(pair: unknown[], config?: object): Json {
  const [key, contents] = pair;
  if (pair.length !== 2 || !(typeof key === "string" || typeof key === "number")) throw noRequest(pair);
  return request(key, contents as Contents, config);
}

function objectOf(given: unknown, config?: object): Json {
  if (!isObject(given)) throw noRequest(given);
  const body = fields(given.request);
  const { contents, config: own, ...others } = body;
  if (Object.keys(body).length === 0) return given;
  const converted = "config" in body || isFlat(contents) // as @google/genai's inline requests are written
    ? { ...others, contents: contentsOf(contents), ...settingsOf(own as object) }
    : body;
  const key = typeof given.key === "number" ? String(given.key) : given.key;
  return { ...given, key, request: config ? under(settingsOf(config), converted) : converted };
}

function noRequest(given: unknown): RangeError {
  const shown = (JSON.stringify(given) ?? String(given)).slice(0, 100);
  return new RangeError(`${shown} is neither a line with key and request, nor a pair of a key and contents`);
}

/**
 * Writes requests into a file as lines, and returns how many there are.
 *
 * @throws RangeError where one cannot be sent, and what the iterable or the file throws
 */
export async function writeRequests(
  file: LocalFile, requests: Requests, config: object | undefined, keyField: string,
): Promise<number> {
  if (!isPath(requests) && !(Symbol.iterator in requests || Symbol.asyncIterator in requests)) {
    throw new RangeError("requests are an object: give its entries, pairs of a key and contents, or a list of lines");
  }
  let [count, bytes, waiting] = [0, 0, [] as Buffer[]];
  for await (const given of isPath(requests) ? linesOf(requests, keyField) : requests) {
    const line = Buffer.from(lineOf(given, config));
    count++;
    bytes += line.length;
    waiting.push(line);
    if (bytes < WRITE_BYTES) continue;
    await file.write(Buffer.concat(waiting));
    [bytes, waiting] = [0, []];
  }
  await file.write(Buffer.concat(waiting));
  return count;
}

/** Whether requests are the path of a file. */
export function isPath(requests: Requests): requests is string | URL {
  return typeof requests === "string" || requests instanceof URL;
}

/** Sees that a file begins as JSON Lines do, before it is sent. @throws RangeError where it does not, as a CSV */
export async function checkLines(file: LocalFile, path: string | URL, keyField: string): Promise<void> {
  const first = (await file.read(0, 1000)).toString().trimStart(); // also without a byte order mark
  if (first && !first.startsWith("{")) throw noLine(path, keyField, first);
}

async function* linesOf(path: string | URL, keyField: string): AsyncGenerator<Json, void, undefined> {
  const file = await LocalFile.open(path);
  try {
    for await (const bytes of file.lines()) {
      const line = bytes.toString().replace(/^\ufeff/, "").trim();
      if (line) yield renamed(path, keyField || "key", line);
    }
  } finally {
    await file.close();
  }
}

function renamed(path: string | URL, keyField: string, line: string): Json {
  let given: unknown;
  try {
    given = JSON.parse(line);
  } catch {
    given = undefined;
  }
  if (!isObject(given)) throw noLine(path, keyField, line);
  return { key: given[keyField], request: given.request };
}

function noLine(path: string | URL, keyField: string, line: string): RangeError {
  const shown = JSON.stringify(line.split(/\r?\n/, 1)[0]?.slice(0, 100));
  const what = `${String(path)}: the line ${shown} is not {"${keyField}":…,"request":{…}}`;
  return new RangeError(`${what}; of a CSV give its rows, pairs of a key and contents`);
}
