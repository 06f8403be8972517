// CSV as RFC 4180 has it and Excel writes it, without a package.

/** Returns the rows of a table, by the names in its first line. */
export function parseCsv(text: string): Record<string, string>[] {
  const table: string[][] = [];
  const bare = text.replace(/^\ufeff/, ""); // a byte order mark
  const cells = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r?\n|$)/gy;
  for (let row: string[] = []; cells.lastIndex < bare.length || row.length > 0;) {
    const found = cells.exec(bare);
    if (!found) throw new RangeError(`row ${table.length + 1} of the table has a quote that does not end`);
    const [, quoted, plain = "", end] = found;
    row.push(quoted?.replaceAll('""', '"') ?? plain);
    if (end === ",") continue;
    if (row.length > 1 || row[0]) table.push(row);
    row = [];
  }
  const [names = [], ...rows] = table;
  return rows.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i] ?? ""])));
}

/** Returns rows as a table, with the names of the first one. */
export function writeCsv(rows: readonly Record<string, string>[]): string {
  const cell = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const table = [Object.keys(rows[0] ?? {}), ...rows.map((row) => Object.values(row))];
  return table.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}
