// Creates operations with @google/genai: one request each, which returns Gemini's name.

import { GoogleGenAI } from "@google/genai";

import { AnsweredError, NotSentError, type Mark } from "opledger";

// Gemini runs, and charges for, each creation that it gets, so none may be repeated. Batches and
// videos are sent once by default; an interaction five times, unless maxRetries is 0.
const gemini = new GoogleGenAI({
  apiKey: process.env.GEMINI_API_KEY ?? "",
  httpOptions: {
    timeout: 60_000,
    fetch: (input, init) => fetch(input, { ...init, redirect: "manual" }), // another host would get the key
  },
});

/** Uploads a file of requests, and returns its name, such as files/abc. */
export async function upload(path: string): Promise<string> {
  const file = await gemini.files.upload({ file: path, config: { mimeType: "application/jsonl" } });
  return file.name ?? "";
}

const UNSENT = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"]; // there was no connection

/** Marks Gemini's answer, or that no connection was made. gemini repeats nothing before it. */
async function once<T>(created: Promise<T>): Promise<T> {
  try {
    return await created;
  } catch (error) {
    for (let cause = error; cause instanceof Error; cause = cause.cause) {
      if (UNSENT.includes((cause as NodeJS.ErrnoException).code ?? "")) {
        throw new NotSentError("no connection was made", { cause });
      }
    }
    if (error instanceof Error && "status" in error && typeof error.status === "number") {
      throw new AnsweredError(error.status, `HTTP status ${error.status}`, { cause: error });
    }
    throw error;
  }
}

/** @param file uploaded to Gemini before, such as files/reviews */
export async function batch(file: string, mark: Mark): Promise<string> {
  const created = await once(gemini.batches.create({
    model: "gemini-3.5-flash",
    src: file,
    config: {
      displayName: mark.displayName("reviews"),
      webhookConfig: { userMetadata: mark.userMetadata() },
    },
  }));
  return created.name ?? "";
}

export async function video(prompt: string, mark: Mark): Promise<string> {
  const created = await once(gemini.models.generateVideos({
    model: "veo-3.1-generate-preview",
    source: { prompt },
    config: { webhookConfig: { userMetadata: mark.userMetadata() } },
  }));
  return created.name ?? "";
}

export async function interaction(text: string, mark: Mark): Promise<string> {
  const created = await once(gemini.interactions.create(
    {
      model: "gemini-3.5-flash",
      input: text,
      background: true, // else there is no operation to track
      store: true,
      webhook_config: { user_metadata: mark.userMetadata() },
    },
    { maxRetries: 0 },
  ));
  return created.id ? `interactions/${created.id}` : "";
}
