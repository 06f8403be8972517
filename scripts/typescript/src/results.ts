/** The results of a batch or a job: a download, then one line at a time. */

import { type Caller, type CallOptions, readAs } from "./calls.js";
import { OpledgerError, NotSettledError, ResultsError } from "./errors.js";
import { LocalFile } from "./file.js";
import { fields, isObject, stringify, type Json } from "./json.js";
import { jobIdOf, jobOf, type Job } from "./model.js";
import { quoted, read } from "./operations.js";
import { Result } from "./result.js";

/** Of a job: its results, those that are not done, each with its request, or the lines that no request asked for. */
export type Kind = "results" | "failed" | "unmatched";

export interface JobResultsOptions extends CallOptions {
  kind?: Kind;
  /** Its results and those of its redrives, each key once. */
  merged?: boolean;
  /** Of a job that has not ended: those that are final so far. */
  partial?: boolean;
}

export interface ResultsOptions extends JobResultsOptions {
  /** gs://BUCKET/NAME: the object to which an effect has written them, deployed. */
  at?: string;
}

/** Where results are that opledger does not send. */
export interface Places {
  /** Job storage, gs://BUCKET/PREFIX; empty: with serve. */
  storage: string;
  /** Cloud Storage. */
  google: string;
  /** Gemini, where there is a key for it; else empty. */
  gemini: string;
}

/** They are downloaded whole first, so that a slow reader holds no connection. */
export async function* results(
  caller: Caller, places: Places, name: string, options: ResultsOptions,
): AsyncGenerator<Result, void, undefined> {
  const file = await LocalFile.temporary();
  try {
    const expected = await new Download(caller, places, file, options).of(name);
    let lines = 0;
    for await (const line of file.lines()) {
      const text = line.toString();
      if (text.trim()) yield resultOf(name, ++lines, text);
    }
    if (expected > lines) {
      const of = name.startsWith("jobs/") ? "lines" : "requests";
      const remedy = "read them again, and submit the requests without a line again";
      throw new ResultsError(`${name} has ${expected} ${of}, and its results have ${lines} lines`, { remedy });
    }
  } finally {
    await file.close();
  }
}

class Download {
  constructor(
    private readonly caller: Caller, private readonly places: Places, private readonly file: LocalFile,
    private readonly options: ResultsOptions,
  ) {}

  /** Writes results into the file, and returns how many lines there should be; 0: it is not known. */
  async of(name: string): Promise<number> {
    const { at, merged, partial } = this.options;
    if (at) {
      await this.object(at);
      return 0;
    }
    if (name.startsWith("jobs/")) {
      jobIdOf(name);
      if (!this.places.storage) return await this.ofServe(name);
      if (!merged && !partial) return await this.ofStorage(name);
      const instead = "with storage read the results of each job that has ended";
      throw new RangeError(`merged and partial need opledger serve; ${instead}`);
    }
    if (!name.includes("batches/")) {
      throw new RangeError(`${JSON.stringify(name)} is neither a batch nor a job, as batches/… and jobs/… are`);
    }
    const batch = `batches/${name.split("/").at(-1)}`;
    try {
      return await this.ofServe(batch);
    } catch (error) {
      if (!(error instanceof OpledgerError && error.status === 501 && this.places.gemini)) throw error;
      await this.ofGemini(batch);
      return 0;
    }
  }

  private async ofServe(name: string): Promise<number> {
    const { kind = "results", merged = false, partial = false } = this.options;
    const query = new URLSearchParams();
    if (kind !== "results") query.set("kind", kind);
    if (merged) query.set("merged", "true");
    const url = `/operations/${quoted(name)}/results${query.size > 0 ? `?${query}` : ""}`;
    const { headers } = await this.exchange({ url });
    const isJob = name.startsWith("jobs/");
    if (isJob && headers.get("Opledger-Complete") === "false" && !partial) await this.throwNotSettled(name);
    if (isJob && !merged && !partial) return linesOf(await this.job(name), kind);
    return Number(headers.get("Opledger-Requests") ?? 0);
  }

  /** Writes the results of a job from job storage. */
  private async ofStorage(name: string): Promise<number> {
    const { kind = "results" } = this.options;
    const job = await this.job(name);
    if (!job.settled) await this.throwNotSettled(name);
    const expected = linesOf(job, kind);
    const stored = fields(fields(job.progress.output)[kind]).name;
    const { storage } = job.progress;
    if (stored && storage) {
      await this.object(`${storage}/${stored}`);
    } else if (expected > 0) {
      const remedy = "read jobs.get: its progress says where they are";
      throw new ResultsError(`${name} has ${expected} lines of ${kind}, and names no object that has them`, { remedy });
    }
    return expected;
  }

  /** Writes the results of a batch as Gemini has them, with the caller's own key. */
  private async ofGemini(batch: string): Promise<void> {
    const bounds = this.caller.bounds(this.options);
    const reply = await this.caller.exchange(
      { method: "GET", url: `${this.places.gemini}/v1beta/${batch}`, auth: "gemini" }, bounds,
    );
    const output = readAs(`GET ${batch}`, reply, ({ metadata, response }) => {
      const { output } = fields(metadata);
      return isObject(output) ? output : fields(response);
    });
    if (output.responsesFile) {
      const file = String(output.responsesFile).split("/").at(-1);
      await this.exchange({ url: `${this.places.gemini}/v1beta/files/${file}:download?alt=media`, auth: "gemini" });
      return;
    }
    const { inlinedResponses } = fields(output.inlinedResponses);
    if (!Array.isArray(inlinedResponses)) {
      const remedy = "wait until it has ended; a failed batch has none";
      throw new ResultsError(`Gemini has no results of ${batch}`, { remedy });
    }
    for (const { key, metadata, response, error } of inlinedResponses.map(fields)) {
      const line = { key: key || fields(metadata).key || "", response, error };
      await this.file.write(Buffer.from(`${stringify("a result", line)}\n`));
    }
  }

  private async object(at: string): Promise<void> {
    const { bucket, name } = objectOf(at);
    const url = `${this.places.google}/storage/v1/b/${bucket}/o/${encodeURIComponent(name)}?alt=media`;
    await this.exchange({ url, auth: "google" });
  }

  private async exchange(send: { url: string; auth?: "gemini" | "google" }): Promise<{ headers: Headers }> {
    return await this.caller.exchange({ method: "GET", into: this.file, ...send }, this.caller.bounds(this.options));
  }

  private async job(name: string): Promise<Job> {
    const path = `/jobs/${jobIdOf(name)}`;
    return await this.caller.call("GET", path, undefined, this.caller.bounds(this.options), (answer) => jobOf(answer));
  }

  private async throwNotSettled(name: string): Promise<never> {
    throw new NotSettledError(await read(this.caller, name, 0, this.caller.bounds(this.options)));
  }
}

/** Returns the bucket and the name of gs://BUCKET/NAME. @throws RangeError */
export function objectOf(at: string): { bucket: string; name: string } {
  const [, bucket, name] = /^gs:\/\/([^/?#]+)\/+([^?#]+)$/.exec(at) ?? [];
  if (!bucket || !name) throw new RangeError(`${JSON.stringify(at)} is no object; write gs://BUCKET/NAME`);
  return { bucket, name };
}

/** Returns how many lines of a kind the results of a job have that has ended. */
function linesOf(job: Job, kind: Kind): number {
  const counts = Object.entries(job.counts).filter(([outcome]) =>
    kind === "unmatched" ? outcome === kind : outcome !== "unmatched" && (kind === "results" || outcome !== "done"));
  return counts.reduce((sum, [, count]) => sum + count, 0);
}

function resultOf(name: string, number: number, line: string): Result {
  let read: unknown;
  try {
    read = JSON.parse(line);
  } catch {
    read = undefined;
  }
  if (isObject(read)) return Result.of(read as Json);
  const what = `line ${number} of the results of ${name} is no object of JSON: ${JSON.stringify(line.slice(0, 100))}`;
  throw new ResultsError(what, { remedy: "read them again" });
}
