// opledger serve with a simulated Gemini, and a door in front of it at which a test may do anything.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import type { Mark } from "../src/index.js";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** Returns the command opledger: OPLEDGER_COMMAND, else one that is built of this repository. */
function command(folder: string): string {
  const { OPLEDGER_COMMAND: given } = process.env;
  if (given) return given;
  const path = join(folder, "opledger");
  execFileSync("go", ["build", "-o", path, "./scripts/opledger"], { cwd: ROOT, stdio: "inherit" });
  return path;
}

/** A process of opledger serve. Started again, it has the same ledger and the same address. */
export class Serve {
  readonly #folder = mkdtempSync(join(tmpdir(), "opledger-typescript-"));
  readonly #command = command(this.#folder);
  readonly #flags: readonly string[];
  readonly #env: Record<string, string>;
  #ports = ["0", "0"];
  #process: ChildProcess | undefined;
  /** What it says to export. */
  exports: Record<string, string> = {};

  constructor(flags: readonly string[] = [], env: Record<string, string> = {}) {
    this.#flags = flags;
    this.#env = env;
  }

  get url(): string {
    return this.exports.OPLEDGER_URL ?? "";
  }

  async start(): Promise<void> {
    const foreign = (name: string) => !/^(OPLEDGER|GEMINI|GOOGLE)_/.test(name);
    const clean = Object.entries(process.env).filter(([name]) => foreign(name));
    const [port, gemini] = this.#ports as [string, string];
    const store = `sqlite:${join(this.#folder, "ledger.db")}`;
    const flags = ["--simulate", "--speed", "1000", "--port", port, "--simulate-port", gemini, "--store", store];
    this.#process = spawn(this.#command, ["serve", ...flags, ...this.#flags], {
      cwd: this.#folder, env: { ...Object.fromEntries(clean), TMPDIR: this.#folder, ...this.#env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said: string[] = [];
    this.#process.stderr!.setEncoding("utf8").on("data", (text: string) => said.push(text));
    for await (const line of createInterface({ input: this.#process.stdout! })) {
      said.push(line);
      if (!line.includes("export GEMINI_API_KEY=")) continue;
      this.exports = Object.fromEntries(line.trim().split(/\s+/).slice(1).map((word) => word.split(/=(.*)/s)));
      this.#ports = ["OPLEDGER_URL", "GOOGLE_GEMINI_BASE_URL"].map((name) => this.exports[name]?.split(":")[2] ?? "");
      this.#process.stdout!.resume();
      return;
    }
    throw new Error(`serve did not start: ${said.join("\n")}`);
  }

  async kill(): Promise<void> {
    if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

type Guard = (what: string, headers: IncomingHttpHeaders) => boolean | Promise<boolean>;

/** Passes requests on to serve, but where a guard says that one, or its answer, does not pass. */
export class Door {
  before: Guard = () => true;
  after: Guard = () => true;
  url = "";
  readonly #server = createServer((asked, response) => {
    this.#pass(asked, response).catch(() => asked.socket.destroy());
  });

  constructor(private readonly serve: Serve) {}

  async open(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #pass(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = `${asked.method} ${asked.url}`;
    const body = Buffer.concat((await asked.toArray()) as Buffer[]);
    if (!(await this.before(what, asked.headers))) throw new Error("it does not pass");
    const passed = request(this.serve.url + asked.url, { method: asked.method, headers: asked.headers });
    passed.end(body);
    const [answer] = (await once(passed, "response")) as [IncomingMessage];
    const content = Buffer.concat((await answer.toArray()) as Buffer[]);
    if (!(await this.after(what, asked.headers))) throw new Error("its answer does not pass");
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    response.end(content);
  }
}

/** Creates a batch at Gemini, as the examples of submitOnce do. */
export async function createBatch(mark: Mark): Promise<string> {
  const batch = {
    displayName: mark.displayName("doc"), inputConfig: { fileName: "files/reviews" },
    webhookConfig: { userMetadata: mark.userMetadata() },
  };
  const url = `${process.env.GOOGLE_GEMINI_BASE_URL}/v1beta/models/gemini-3.5-flash:batchGenerateContent`;
  const headers = { "Content-Type": "application/json", "x-goog-api-key": "key" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify({ batch }) });
  return ((await answer.json()) as { name: string }).name;
}
