/** Checks a file of requests before it is sent anywhere. */

import { createHash } from "node:crypto";

import { said } from "./errors.js";
import { LocalFile } from "./file.js";
import { isObject } from "./json.js";

const LISTED = 20; // wrong lines of a file that an error lists

/**
 * Checks a file of requests, one {"key":…,"request":{…}} a line, and returns how many it has.
 *
 * Upload it, and submit the batch with the file. Requests inside a batch have results without their keys, and not
 * always in order.
 *
 * @throws RangeError, which lists the lines that are wrong
 *
 * @example
 * await writeFile("reviews.jsonl", '{"key":"a","request":{"contents":[]}}\n');
 * console.log(await checkRequests("reviews.jsonl")); // 1
 */
export async function checkRequests(path: string | URL): Promise<number> {
  const file = await LocalFile.open(path);
  try {
    return await check(String(path), file.lines());
  } finally {
    await file.close();
  }
}

async function check(path: string, given: AsyncIterable<Buffer>): Promise<number> {
  const lines = new Map<string, number>(); // of each key, whose digest takes less memory
  const wrong: string[] = [];
  let [number, count] = [0, 0];
  for await (const bytes of given) {
    number++;
    const line = bytes.toString();
    if (!line.trim()) continue;
    const { key, problems } = readRequest(line, number);
    if (key) {
      const digest = createHash("sha256").update(key).digest("base64");
      const first = lines.get(digest);
      if (first) problems.push(`its key ${JSON.stringify(key)} is that of line ${first}`);
      else lines.set(digest, number);
    }
    if (problems.length === 0) continue;
    count++;
    if (count <= LISTED) wrong.push(`line ${number}: ${problems.join(", and ")}`);
  }
  if (count > LISTED) wrong.push(`and ${count - LISTED} more`);
  if (count > 0) {
    const are = count === 1 ? "1 line is wrong" : `${count} lines are wrong`;
    throw new RangeError([`${path}: ${are}`, ...wrong].join("\n  "));
  }
  if (lines.size === 0) throw new RangeError(`${path} has no requests`);
  return lines.size;
}

/** Returns the key of a line of requests, or "", and what is wrong with it. */
function readRequest(line: string, number: number): { key: string; problems: string[] } {
  const problems: string[] = [];
  if (number === 1 && line.startsWith("\ufeff")) {
    line = line.slice(1);
    problems.push("it begins with a byte order mark; save the file as UTF-8 without one");
  }
  let request: unknown;
  try {
    request = JSON.parse(line);
  } catch (error) {
    return { key: "", problems: [...problems, `it is not JSON: ${said(error)}`] };
  }
  if (!isObject(request)) return { key: "", problems: [...problems, 'it is not {"key":…,"request":{…}}'] };
  const { key, request: body } = request;
  if (typeof key === "number") {
    problems.push(`its key ${key} is a number; write "${key}"`);
  } else if (typeof key !== "string" || !key) {
    problems.push("it has no key, a text by which its result is told from others");
  }
  if (!isObject(body) || Object.keys(body).length === 0) {
    problems.push('it has no request, as in "request":{"contents":[…]}');
  }
  return { key: typeof key === "string" ? key : "", problems };
}
