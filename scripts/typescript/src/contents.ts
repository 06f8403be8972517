/** Contents and config as @google/genai takes them, as Gemini has them in a file of requests. */

import { fields, isObject, type Json } from "./json.js";

/** A text, a content, a part, a file, or a list of them, as @google/genai takes them. */
export type Contents = string | object;

const BESIDE = [ // settings of the flat config that are beside generationConfig
  "systemInstruction", "tools", "toolConfig", "safetySettings", "cachedContent", "serviceTier",
];
const SDK = [ // of the SDK, not of Gemini
  "httpOptions", "abortSignal", "shouldReturnHttpResponse", "automaticFunctionCalling",
];
const VERTEX = [ // not of Gemini
  "labels", "routingConfig", "modelSelectionConfig", "audioTimestamp", "modelArmorConfig",
];

/** Whether contents are not a list of contents, as Gemini takes them. */
export function isFlat(contents: unknown): boolean {
  if (!Array.isArray(contents)) return contents !== undefined && contents !== null;
  return contents.some((content) => !("parts" in fields(content)));
}

/**
 * Returns contents as @google/genai makes them: what stands alone is of the user, parts in a row are one content.
 *
 * @throws RangeError
 */
export function contentsOf(given: unknown): Json[] {
  if (given === undefined || given === null) throw new RangeError("a request has no contents");
  const contents: { role?: unknown; parts?: unknown }[] = [];
  let row: Json[] = [];
  const endRow = () => {
    if (row.length > 0) contents.push({ role: "user", parts: row });
    row = [];
  };
  for (const item of Array.isArray(given) ? (given as unknown[]) : [given]) {
    if (isObject(item) && ("parts" in item || "role" in item)) {
      endRow();
      contents.push({ role: "user", ...item });
    } else if (Array.isArray(item)) {
      contents.push({ role: "user", parts: item });
    } else {
      row.push(partOf(item));
    }
  }
  endRow();
  return contents.map((content) => ({ ...content, parts: [content.parts].flat().map(partOf) }));
}

function partOf(given: unknown): Json {
  if (typeof given === "string") return { text: given };
  const { uri, mimeType } = fields(given);
  if (uri && mimeType) return { fileData: { fileUri: uri, mimeType } }; // a file that was uploaded
  if (Object.keys(fields(given)).length > 0) return fields(given);
  throw new RangeError(`${JSON.stringify(given) ?? String(given)} is not a part: give a text, or a Part or File`);
}

/**
 * Returns the settings of a flat config, where Gemini has each.
 *
 * @throws RangeError for a tool that calls a function of this program, and for what Vertex AI alone has
 */
export function settingsOf(config: object | undefined): Json {
  const body: Record<string, unknown> = {};
  const generation: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config ?? {}) as [string, unknown][]) {
    if (value === undefined || value === null || SDK.includes(name)) continue;
    if (VERTEX.includes(name)) {
      throw new RangeError(`config has ${name}, which Vertex AI has and the Gemini API has not`);
    } else if (name === "systemInstruction") {
      body[name] = { parts: contentsOf(value).flatMap(({ parts }) => parts) };
    } else if (name === "tools" && [value].flat().some(calls)) {
      throw new RangeError("a tool calls a function of this program, which a batch cannot: give a FunctionDeclaration");
    } else if (BESIDE.includes(name)) {
      body[name] = value;
    } else if (name === "generationConfig") {
      Object.assign(generation, value);
    } else if (name === "speechConfig" && typeof value === "string") {
      generation[name] = { voiceConfig: { prebuiltVoiceConfig: { voiceName: value } } };
    } else {
      generation[name] = value;
    }
  }
  if (Object.keys(generation).length > 0) body.generationConfig = generation;
  return body;
}

function calls(tool: unknown): boolean {
  return typeof tool === "function" || typeof fields(tool).callTool === "function";
}

/** Returns a request with settings, where it has none of its own. */
export function under(shared: Json, own: Json): Json {
  const generationConfig = { ...fields(shared.generationConfig), ...fields(own.generationConfig) };
  const body = { ...shared, ...own };
  return Object.keys(generationConfig).length > 0 ? { ...body, generationConfig } : body;
}
