// Receives the effects of opledger, and verifies them with the library of Standard Webhooks.
//
//     OPLEDGER_EFFECT_SECRET=whsec_… npm run receiver

import { createServer, type IncomingMessage } from "node:http";

import { Webhook } from "standardwebhooks";

import { Inbox, type Completion } from "opledger";

const MAX_BODY = 64 << 20; // bytes; an item of a batch has 32 MiB at most

/** Ends because a setting is wrong. */
function wrong(what: string): never {
  console.error(what);
  process.exit(2);
}

function webhookOf(secret: string): Webhook {
  try {
    // The library takes a shorter one, too, that could be guessed.
    if (/^whsec_.{24}/.test(secret)) return new Webhook(secret);
  } catch {
    // it is no base64
  }
  const what = 'OPLEDGER_EFFECT_SECRET is not "whsec_" and the base64 of at least 16 bytes';
  wrong(`${what}; opledger serve --forward-to prints one`);
}

function inboxOf(folder: string): Inbox {
  try {
    return new Inbox(folder);
  } catch (error) {
    const what = `INBOX is ${JSON.stringify(folder)}: ${(error as Error).message}`;
    wrong(`${what}; set it to a folder that can be made, or is there`);
  }
}

function cannotListen(error: Error): never {
  const remedy = "set PORT to a free one, and say the same to";
  wrong(`cannot listen: ${error.message}; ${remedy}\nopledger serve --forward-to http://127.0.0.1:PORT/completions`);
}

const webhook = webhookOf(process.env.OPLEDGER_EFFECT_SECRET ?? "");
const inbox = inboxOf(process.env.INBOX ?? "inbox");

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
server.on("error", cannotListen);
try {
  server.listen(Number(process.env.PORT ?? 9000), "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object" && address) {
      console.log(`receives on http://127.0.0.1:${address.port}/completions`);
    }
  });
} catch (error) {
  cannotListen(error as Error); // it is no port
}
