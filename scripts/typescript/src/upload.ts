/** Brings the input of a job to opledger, or to its bucket, in pieces. */

import { bodyOf, LONGEST_PAUSE_MS, readAs, type Bounds, type Caller, type CallOptions } from "./calls.js";
import { ConflictError, UnavailableError, type OpledgerError } from "./errors.js";
import type { LocalFile } from "./file.js";
import { fields, type Json } from "./json.js";
import { objectOf } from "./results.js";

/** A file of requests. */
export interface Input {
  file: LocalFile;
  size: number;
  sha256: string;
}

const PIECE_BYTES = 8 << 20; // of an upload in one request; a multiple of 256 KiB
const PIECE_MS = 600_000; // in which a piece may arrive
const STORED_WITHIN_MS = 1_800_000; // in which the server stores an input whose bytes have all arrived

/** Sends opledger what has not arrived, and returns the input that POST /jobs/{id} takes. */
export async function uploadToServe(
  caller: Caller, jobId: string, input: Input, keyField: string, options: CallOptions,
): Promise<Json> {
  const { now, sleep } = caller.environment;
  const query = keyField ? `?${new URLSearchParams({ keyField })}` : "";
  const url = `/jobs/${jobId}/input/${input.sha256}${query}`;
  let [most, until, turns] = [-1, 0, 0]; // turns: since the last progress
  for (let stores = false, waits = false; ;) {
    const head = await caller.exchange({ method: "HEAD", url }, caller.bounds(options));
    const offset = Number(head.headers.get("Upload-Offset") ?? 0) || 0;
    const whole = head.headers.get("Upload-Complete") === "?1" || offset >= input.size;
    if (offset > most) [most, until, turns] = [offset, caller.bounds(options).deadline, 0];
    if (whole && !stores) { // a large input takes minutes
      [stores, until, turns] = [true, Math.max(until, now() + STORED_WITHIN_MS), 0];
    }
    let error: OpledgerError;
    try { // once: a server that has the bytes answers before it has read them, and the connection breaks
      const once = { deadline: until, retries: 0, signal: options.signal };
      const given = await sendPiece(caller, url, input, whole ? -1 : offset, once);
      if (given) return given;
      if (!whole && turns === 0) {
        turns = 1; // until the next HEAD says that more has arrived
        continue;
      }
      error = new UnavailableError(`PUT ${url} is answered, and the upload does not go on`, { status: 503 });
    } catch (failed) {
      if (!(failed instanceof UnavailableError || failed instanceof ConflictError)) throw failed;
      error = failed;
    }
    const wait = Math.min(Math.max(error.retryAfterMs, 500), LONGEST_PAUSE_MS);
    if (now() + wait > until || turns >= caller.bounds(options).retries) throw error;
    if (!waits) caller.logsWait(error.what, until);
    waits = true;
    turns++;
    await sleep(wait, options.signal);
  }
}

/** Sends the piece from an offset on; with -1 asks whether all is stored. Returns the input once it is. */
async function sendPiece(
  caller: Caller, url: string, { file, size }: Input, offset: number, bounds: Bounds,
): Promise<Json | undefined> {
  const body = offset < 0 ? Buffer.alloc(0) : await file.read(offset, PIECE_BYTES);
  const range = offset < 0 ? "*" : `${offset}-${offset + body.length - 1}`;
  const headers = { "Content-Range": `bytes ${range}/${size}`, "Content-Type": "application/octet-stream" };
  const reply = await caller.exchange({ method: "PUT", url, body, headers, attemptMs: PIECE_MS }, bounds);
  const given = readAs(`PUT ${url}`, reply, (answer) => fields(answer.input));
  return Object.keys(given).length > 0 ? given : undefined;
}

/** Creates the object that the steps of a deployed job read. One that is there has the same bytes. */
export async function uploadToBucket(
  caller: Caller, google: string, at: string, { file, size }: Input, options: CallOptions,
): Promise<void> {
  const { bucket, name } = objectOf(at);
  const begun = await caller.exchange({
    method: "POST",
    url: `${google}/upload/storage/v1/b/${bucket}/o?uploadType=resumable&ifGenerationMatch=0`,
    body: bodyOf({ name }),
    headers: { "X-Upload-Content-Length": String(size) },
    auth: "google",
    accept: [412],
  }, caller.bounds(options));
  if (begun.status === 412) return;
  const session = begun.headers.get("Location");
  if (!session) {
    const what = `Cloud Storage began no upload to ${bucket}: its answer has no Location`;
    throw new UnavailableError(what, { status: 503 });
  }
  for (let offset = 0; offset < size;) {
    const body = await file.read(offset, PIECE_BYTES);
    const end = offset + body.length;
    const whole = end >= size ? size : "*"; // of which the last piece alone says that it ends there
    const { status, headers } = await caller.exchange({
      method: "PUT",
      url: session,
      body,
      headers: { "Content-Range": `bytes ${offset}-${end - 1}/${whole}`, "Content-Type": "application/octet-stream" },
      auth: "none", // the URL is the permission
      accept: [308, 412],
      attemptMs: PIECE_MS,
    }, caller.bounds(options));
    if (status !== 308) return;
    const arrived = Number(headers.get("Range")?.split("-").at(-1) ?? -1) + 1;
    if (!(arrived > offset)) {
      throw new UnavailableError(`the upload to ${bucket} does not go on after ${offset} bytes`, { status: 503 });
    }
    offset = arrived;
  }
}
