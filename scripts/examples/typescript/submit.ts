// Submits a job to Gemini, once for its id however often it is started.
//
//     npm run submit batch files/reviews reviews-2026-11-22
//     npm run submit batch reviews.jsonl reviews-2026-11-22
//     npm run submit video 'a cat on a train' cat-17
//     npm run submit interaction 'Summarise the reviews of November' summary-2026-11
//
// The last word is an id of your own, which no other job has. Where an earlier run with it died, this
// one waits until opledger knows whether that submitted, for PATIENCE seconds at most, 900 if it is
// not set.

import { batch, interaction, upload, video } from "./gemini.js";
import { checkedUrl, checkRequests, Mark, Opledger } from "opledger";

const kinds = {
  batch: { create: batch, collection: "batches" },
  video: { create: video, collection: "operations" },
  interaction: { create: interaction, collection: "interactions" },
} as const;

function isKind(word: string | undefined): word is keyof typeof kinds {
  return word !== undefined && Object.hasOwn(kinds, word);
}

function patienceMs(): number {
  const text = process.env.PATIENCE ?? "900";
  const seconds = text.trim() ? Number(text) : NaN;
  if (!(seconds >= 0 && seconds < Infinity)) {
    throw new RangeError(`PATIENCE is ${JSON.stringify(text)}; set it to a number of seconds, such as 900`);
  }
  return 1000 * seconds;
}

/** Returns what each of the checks finds, so that all of it can be corrected at once. */
async function mistakes(...checks: (() => unknown)[]): Promise<string[]> {
  const found: string[] = [];
  for (const check of checks) {
    try {
      await check();
    } catch (error) {
      found.push((error as Error).message);
    }
  }
  return found;
}

async function main([kind, what, correlationId]: string[]): Promise<void> {
  if (!isKind(kind) || !what || !correlationId) {
    throw new Error("usage: submit batch FILE ID | video PROMPT ID | interaction TEXT ID");
  }
  const { create, collection } = kinds[kind];
  const { GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: gemini } = process.env;
  const client = () => new Opledger(process.env.OPLEDGER_URL ?? "http://127.0.0.1:8080");
  const ofFile = kind === "batch" && !what.startsWith("files/");
  const wrong = await mistakes(
    () => {
      if (!key) throw new Error("GEMINI_API_KEY is not set; opledger serve --simulate prints one");
    },
    () => gemini === undefined || checkedUrl("GOOGLE_GEMINI_BASE_URL", gemini),
    client,
    patienceMs,
    () => new Mark(correlationId),
    async () => {
      if (ofFile) console.log(await checkRequests(what), "requests in", what);
    },
  );
  if (wrong.length > 0) throw new Error(wrong.join("\n"));
  const opledger = client();
  const found = ofFile ? await opledger.find(correlationId) : undefined;
  const input = ofFile && !found ? await upload(what) : what; // before the intent: it may take long
  const { operation, known } = found ?? await opledger.submitOnce(
    correlationId,
    (mark) => create(input, mark),
    { collection, jobKind: `example-${kind}`, patienceMs: patienceMs() },
  );
  console.log(operation.key, known ? "was submitted before" : "submitted");
  console.error("waits until it ends, ten minutes at most; it may be stopped");
  console.log(operation.key, (await opledger.wait(operation.key)).state);
}

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
