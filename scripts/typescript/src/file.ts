/** A file of requests or of results, which may be larger than memory. */

import { createHash, randomUUID } from "node:crypto";
import { open, rm, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const READ_BYTES = 1 << 20;

/** A file that is open, until close is called. */
export class LocalFile {
  #end = 0; // where the next bytes are written

  private constructor(private readonly handle: FileHandle) {}

  static async open(path: string | URL): Promise<LocalFile> {
    return new LocalFile(await open(path, "r"));
  }

  /** Opens a new file that has no name, so that nothing is left of it once it is closed, however this process ends. */
  static async temporary(): Promise<LocalFile> {
    const path = join(tmpdir(), `opledger-${randomUUID()}`);
    const handle = await open(path, "wx+", 0o600);
    await rm(path);
    return new LocalFile(handle);
  }

  async close(): Promise<void> {
    await this.handle.close();
  }

  async clear(): Promise<void> {
    await this.handle.truncate(0);
    this.#end = 0;
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length;) {
      const { bytesWritten } = await this.handle.write(bytes, written, bytes.length - written, this.#end);
      written += bytesWritten;
      this.#end += bytesWritten;
    }
  }

  async size(): Promise<number> {
    return (await this.handle.stat()).size;
  }

  /** Returns so many bytes from a place on, fewer at the end of the file. */
  async read(at: number, bytes: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(bytes);
    let length = 0;
    while (length < bytes) {
      const { bytesRead } = await this.handle.read(buffer, length, bytes - length, at + length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return buffer.subarray(0, length);
  }

  async sha256(): Promise<string> {
    const hash = createHash("sha256");
    for await (const piece of this.#pieces()) hash.update(piece);
    return hash.digest("hex");
  }

  /** Yields its lines, without their ends. A line separator of Unicode, which JSON may have in a text, ends none. */
  async *lines(): AsyncGenerator<Buffer, void, undefined> {
    let begun: Buffer[] = []; // the pieces of a line that has not ended
    for await (const piece of this.#pieces()) {
      let from = 0;
      for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
        yield Buffer.concat([...begun, piece.subarray(from, end)]);
        begun = [];
        from = end + 1;
      }
      if (from < piece.length) begun.push(piece.subarray(from));
    }
    if (begun.length > 0) yield Buffer.concat(begun);
  }

  async *#pieces(): AsyncGenerator<Buffer, void, undefined> {
    for (let at = 0; ;) {
      const piece = await this.read(at, READ_BYTES);
      if (piece.length === 0) return;
      yield piece;
      at += piece.length;
    }
  }
}
