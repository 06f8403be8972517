// Runs the examples of the comments and of the README: each says in a comment what its console.log prints.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { format } from "node:util";

import * as opledger from "../src/index.js";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const BUILT = join(PACKAGE, "dist", "docs");

interface Example {
  at: string;
  code: string;
  /** What it prints. */
  prints: string[];
}

interface Console {
  log(...values: unknown[]): void;
}

/**
 * Compiles all examples as a user of the package does, and runs them one after the other as they are read.
 *
 * @param given what they need beside the package
 * @param folder where they are run
 */
export async function runExamples(given: Record<string, unknown>, folder: string): Promise<void> {
  const examples = [...readdirSync(join(PACKAGE, "src")).sort().flatMap(examplesOf), ...blocksOf("README.md")];
  hasExamples();
  const names = { ...given, writeFile };
  mkdirSync(BUILT, { recursive: true });
  const functions = examples.map(({ code }, i) => `export async function run${i}(console: Console) {\n${code}\n}\n`);
  writeFileSync(join(BUILT, "examples.ts"), [
    `import { ${Object.keys(opledger).join(", ")} } from "opledger";`,
    'import { writeFile } from "node:fs/promises";',
    "interface Console { log(...values: unknown[]): void }",
    "declare const createBatch: (mark: Mark) => Promise<string>;",
    ...functions,
  ].join("\n"));
  const options = { outDir: ".", rootDir: ".", declaration: false, noUnusedLocals: false };
  writeFileSync(join(BUILT, "tsconfig.json"), JSON.stringify({
    extends: "../../tsconfig.json", compilerOptions: options, include: ["*.ts"], exclude: [],
  }));
  try {
    execFileSync(join(PACKAGE, "node_modules", ".bin", "tsc"), ["-p", BUILT], { encoding: "utf8" });
  } catch (error) {
    assert.fail((error as { stdout: string }).stdout);
  }
  const before = process.cwd();
  process.chdir(folder);
  Object.assign(globalThis, names);
  try {
    const compiled: unknown = await import(pathToFileURL(join(BUILT, "examples.js")).href);
    const run = compiled as Record<string, (console: Console) => Promise<void>>;
    for (const [i, { at, prints }] of examples.entries()) {
      const printed: string[] = [];
      await run[`run${i}`]?.({ log: (...values) => printed.push(format(...values)) });
      assert.deepEqual(printed, prints, at);
    }
  } finally {
    process.chdir(before);
  }
}

/** Each class and function that is exported, and each call of a client and its jobs, has an example in its comment. */
function hasExamples(): void {
  const files = readdirSync(join(PACKAGE, "src"));
  const source = files.map((name) => readFileSync(join(PACKAGE, "src", name), "utf8")).join("");
  const exported = Object.keys(opledger).map((name) => `export (?:async )?(?:class|function) ${name}\\b`);
  const calls = [opledger.Opledger, opledger.Jobs].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype));
  const called = calls.filter((name) => name !== "constructor").map((name) => `  (?:async )?\\*?${name}\\(`);
  for (const pattern of [...exported, ...called]) {
    assert.match(source, new RegExp(`@example\n(?: +\\*.*\n)+? +\\*/\n${pattern}`), pattern);
  }
}

/** Returns the examples of the comments of a file. Each ends with its comment. */
function examplesOf(name: string): Example[] {
  const text = readFileSync(join(PACKAGE, "src", name), "utf8");
  return [...text.matchAll(/^( *) \* @example\n((?:\1 \*.*\n)+?)\1 \*\//gm)].map(([, , code = ""], i) =>
    exampleOf(`${name}, example ${i + 1}`, code.replace(/^ *\* ?/gm, "")));
}

/** Returns the code of a document. */
function blocksOf(name: string): Example[] {
  const text = readFileSync(join(PACKAGE, name), "utf8");
  return [...text.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code = ""], i) =>
    exampleOf(`${name}, block ${i + 1}`, code.replace(/^import .*\n/gm, "")));
}

/** What an example prints stands behind each console.log, or in the line below it. */
function exampleOf(at: string, code: string): Example {
  const prints = [...code.matchAll(/console\.log\(.*\);(?:\s*\}*)?\n?\s*\/\/ (.*)$/gm)].map(([, said = ""]) => said);
  assert.equal(prints.length, code.split("console.log(").length - 1, `${at}: not each console.log says what it prints`);
  return { at, code, prints };
}
