// Receives the effects of opledger, and verifies them with the library of Standard Webhooks.
//
//     OPLEDGER_EFFECT_SECRET=whsec_… npm run receiver

import { createServer, type IncomingMessage } from "node:http";

import { Webhook } from "standardwebhooks";

import { Inbox } from "./inbox.js";
import type { Completion } from "./opledger.js";

const MAX_BODY = 64 << 20; // bytes; an item of a batch has 32 MiB at most

const secret = process.env.OPLEDGER_EFFECT_SECRET;
if (!secret) {
  console.error("OPLEDGER_EFFECT_SECRET is not set; opledger serve --forward-to prints one");
  process.exit(1);
}
const webhook = new Webhook(secret);
const folder = process.env.INBOX ?? "inbox";
let inbox: Inbox;
try {
  inbox = new Inbox(folder);
} catch (error) {
  const what = `INBOX is ${JSON.stringify(folder)}: ${(error as Error).message}`;
  console.error(`${what}; set it to a folder that can be made, or is there`);
  process.exit(1);
}

/** Returns the status to answer. */
async function receive(request: IncomingMessage): Promise<number> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY) chunks.push(chunk);
  }
  if (size > MAX_BODY) return 413; // not in the loop: leaving it ends the connection, unanswered
  const body = Buffer.concat(chunks);
  let completion: Completion;
  try {
    completion = webhook.verify(body, request.headers as Record<string, string>) as Completion;
  } catch (error) {
    console.error("refused:", (error as Error).message);
    return 401; // it is sent again: a secret that is being changed loses nothing
  }
  const accepted = await inbox.accept(completion.idempotencyKey, body);
  console.log(accepted ? "accepted" : "repeated", completion.idempotencyKey, completion.state);
  return 200; // a repeat, too: what it asks for is done
}

const server = createServer((request, response) => {
  receive(request)
    .catch((error: unknown) => {
      console.error("not stored:", error);
      return 503; // it is sent again
    })
    .then((status) => response.writeHead(status).end());
});
server.on("error", (error) => {
  console.error(`cannot listen: ${error.message}; set PORT to a free one, and say the same to`);
  console.error("opledger serve --forward-to http://127.0.0.1:PORT/completions");
  process.exit(1);
});
server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address) {
    console.log(`receives on http://127.0.0.1:${address.port}/completions`);
  }
});
