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
import { checkRequests, Opledger } from "./opledger.js";

const kinds = {
  batch: { create: batch, collection: "batches" },
  video: { create: video, collection: "operations" },
  interaction: { create: interaction, collection: "interactions" },
} as const;

function isKind(word: string | undefined): word is keyof typeof kinds {
  return word !== undefined && Object.hasOwn(kinds, word);
}

async function main([kind, what, correlationId]: string[]): Promise<void> {
  if (!isKind(kind) || !what || !correlationId) {
    throw new Error("usage: submit batch FILE ID | video PROMPT ID | interaction TEXT ID");
  }
  if (!process.env.GEMINI_API_KEY) { // before the intent is recorded
    throw new Error("GEMINI_API_KEY is not set; opledger serve --simulate prints one");
  }
  const { create, collection } = kinds[kind];
  const opledger = new Opledger(process.env.OPLEDGER_URL ?? "http://127.0.0.1:8080");
  let input = what;
  if (kind === "batch" && !what.startsWith("files/")) { // before the intent: it may take long
    console.log(await checkRequests(what), "requests are uploaded");
    input = await upload(what);
  }
  const { operation, known } = await opledger.submitOnce(
    correlationId,
    (mark) => create(input, mark),
    {
      collection,
      jobKind: `example-${kind}`,
      patienceMs: 1000 * Number(process.env.PATIENCE ?? 900),
    },
  );
  console.log(operation.key, known ? "was submitted before" : "submitted");
  console.log(operation.key, (await opledger.wait(operation.key)).state);
}

main(process.argv.slice(2)).catch((error: Error) => {
  console.error(error.message);
  process.exitCode = 1;
});
