/** What a receiver of effects has accepted, by idempotency key: a repeat changes nothing. */

import { createHash, randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { link, open, rm } from "node:fs/promises";
import { join } from "node:path";

/**
 * A folder with a file for each completion. Processes may share it.
 *
 * @example
 * const inbox = new Inbox("inbox");
 * const body = Buffer.from('{"state":"SUCCEEDED"}');
 * console.log(await inbox.accept("gemini:batches/abc#publish", body)); // true
 * console.log(await inbox.accept("gemini:batches/abc#publish", body)); // false
 */
export class Inbox {
  readonly #folder: string;

  /** @throws the error of a folder that cannot be made */
  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.#folder = folder;
  }

  /**
   * Stores a completion whole, or not at all; false where it is a repeat.
   *
   * With a database this is one row under a unique key. What else the completion changes belongs in the same
   * transaction: it is changed once, wherever the process dies. A system without one is given the key, to refuse a
   * repeat.
   *
   * @throws the error of a file that cannot be written: answer 503, and the completion is sent again
   */
  async accept(key: string, body: Uint8Array): Promise<boolean> {
    const name = createHash("sha256").update(key).digest("hex");
    const temporary = join(this.#folder, `${randomUUID()}.tmp`);
    try {
      const file = await open(temporary, "wx");
      try {
        await file.writeFile(body);
        await file.sync();
      } finally {
        await file.close();
      }
      await link(temporary, join(this.#folder, `${name}.json`)); // fails where there is one
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
      throw error;
    } finally {
      await rm(temporary, { force: true });
    }
  }
}
