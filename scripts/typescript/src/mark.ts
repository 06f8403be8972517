/**
 * What an operation must carry, so that it is found even if its submitter dies.
 *
 * @example
 * const mark = new Mark("reviews-1");
 * console.log(mark.displayName("my reviews")); // my reviews opledger:reviews-1
 * console.log(mark.userMetadata({ tenant: "a" })); // { tenant: 'a', opledger_correlation_id: 'reviews-1' }
 */
export class Mark {
  /** @throws RangeError for an id that it cannot carry */
  constructor(readonly correlationId: string) {
    const bytes = Buffer.byteLength(correlationId);
    if (bytes < 1 || bytes > 100 || /[\p{C}\p{Z}\ufffd]/u.test(correlationId)) {
      const quoted = JSON.stringify(correlationId);
      throw new RangeError(`the correlation id ${quoted} is not 1 to 100 printable bytes, no spaces`);
    }
  }

  /** Returns the display name of a batch: own, cut to fit, and the id, as Gemini lists it. */
  displayName(own = ""): string {
    const mark = `opledger:${this.correlationId}`;
    const room = 128 - Buffer.byteLength(` ${mark}`);
    const cut = Buffer.from(own.trim()).subarray(0, room).toString().replace(/\ufffd+$/, "");
    return `${cut} ${mark}`.trim();
  }

  /** Returns the user metadata of a webhook config: own, and the id, which events repeat. */
  userMetadata(own: Record<string, unknown> = {}): Record<string, unknown> {
    return { ...own, opledger_correlation_id: this.correlationId };
  }
}
