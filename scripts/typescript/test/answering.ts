// A server on this machine that answers as it is told, and a client of it whose clock only its pauses move.

import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach } from "node:test";

import { Opledger, type Environment } from "../src/index.js";

const UNREPORTED = {
  outputFile: null, inline: null, errorCode: null, errorMessage: null, counts: null,
};
export const RECORD = { key: "batches/abc", name: "batches/abc", state: "RUNNING", result: UNREPORTED };
export const SETTLED = {
  ...RECORD, state: "SUCCEEDED", result: { ...UNREPORTED, outputFile: "files/out", inline: false },
};
export const AWAY = { status: 503, body: { error: { code: 503, message: "the store is away" } } };

export type Answer = { status: number; body: unknown; headers?: Record<string, string> } | "hang up";

/** A server, what it is asked, and how a client of it waits. */
export class Answering {
  answers: Answer[] = [];
  requests: { asked: string; body: unknown; headers: IncomingHttpHeaders }[] = [];
  pauses: number[] = [];
  logged: string[] = [];
  url = "";
  client!: Opledger;
  readonly #server: Server;

  constructor() {
    this.#server = createServer(async (request, response) => {
      const chunks: Buffer[] = await request.toArray();
      const text = Buffer.concat(chunks).toString();
      const isJson = request.headers["content-type"] === "application/json";
      const asked = `${request.method} ${request.url}`;
      this.requests.push({ asked, body: isJson ? JSON.parse(text) : text, headers: request.headers });
      const answer = this.answers.shift();
      if (answer === undefined || answer === "hang up") {
        request.socket.destroy();
        return;
      }
      response.writeHead(answer.status, answer.headers);
      response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
    });
    before(async () => {
      await new Promise<void>((listening) => this.#server.listen(0, "127.0.0.1", listening));
      this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    });
    beforeEach(() => {
      [this.answers, this.requests, this.pauses, this.logged] = [[], [], [], []];
      this.client = new Opledger(`${this.url}/`, { token: "", ...this.environment() });
    });
    after(() => {
      this.#server.closeAllConnections();
      this.#server.close();
    });
  }

  /** Breaks off what is not answered whole. */
  hangUp(): void {
    this.#server.closeAllConnections();
  }

  /** Returns a clock that only pauses move. */
  environment(): Environment {
    let now = 0;
    return {
      now: () => now,
      sleep: async (ms) => {
        this.pauses.push(ms);
        now += ms;
      },
      random: () => 1,
      log: (line) => this.logged.push(line),
    };
  }

  /** Returns what was asked. */
  get asked(): string[] {
    return this.requests.map((request) => request.asked);
  }
}

/** Returns the error of a call, which is of a kind. */
export async function failure<E extends Error>(
  promise: Promise<unknown>, kind: abstract new (...args: never[]) => E,
): Promise<E> {
  const error = await promise.then(() => assert.fail("no error"), (e: unknown) => e);
  assert.ok(error instanceof kind, String(error));
  return error;
}
