// Rates the reviews of a CSV overnight, into another CSV. Started again at any time, it goes on where it was.
//
//     npm run nightly reviews.csv rated.csv nightly-2026-11-28
//
// reviews.csv has the columns id and text, and may have others, which are kept. The last word is an id of your own,
// which no other job has. The exit code is 0 only if the job succeeded: with at most 2 % of the reviews not rated.

import { open, readFile, rename } from "node:fs/promises";

import { Opledger, type Request, type Result } from "opledger";

import { parseCsv, writeCsv } from "./csv.js";

const QUESTION = "Rate this review from 1 to 5. Answer with the digit alone.\n\n";

type Row = Record<string, string>;

function* requests(rows: Iterable<Row>): Generator<Request> {
  for (const { id = "", text = "" } of rows) yield [id, QUESTION + text];
}

async function run(source: string, target: string, jobId: string): Promise<boolean> {
  const { jobs } = new Opledger(); // OPLEDGER_URL, or opledger serve on this machine
  const rows = parseCsv(await readFile(source, "utf8"));
  if (!rows[0]?.id || rows[0].text === undefined) throw new Error(`${source} has no rows with the columns id and text`);
  const options = { model: "gemini-3.5-flash", config: { temperature: 0 }, maxFailures: "2%" } as const;
  const submitted = await jobs.submit(jobId, requests(rows), options);
  console.log(submitted.key, submitted.known ? "was submitted before" : "submitted");
  const job = await jobs.wait(jobId);
  console.log(job.key, job.state, job.why, job.counts);
  const results = new Map<string, Result>();
  for await (const result of jobs.results(jobId)) results.set(result.key, result);
  const rated = rows.map((row) => {
    const result = results.get(row.id ?? "");
    return { ...row, rating: result?.text ?? "", outcome: result?.outcome ?? "" };
  });
  const file = await open(`${target}.new`, "w");
  try {
    await file.writeFile(writeCsv(rated));
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${target}.new`, target); // it is whole, or not there
  return job.succeeded;
}

const [source, target, jobId] = process.argv.slice(2);
if (!source || !target || !jobId) {
  console.error("usage: nightly SOURCE TARGET ID");
  process.exitCode = 2;
} else {
  try {
    process.exitCode = (await run(source, target, jobId)) ? 0 : 1;
  } catch (error) {
    console.error(String(error));
    process.exitCode = 1;
  }
}
