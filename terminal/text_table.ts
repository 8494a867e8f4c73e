/** Table of text: each column as wide as its widest cell. Pure. */
import { columnsOf } from "./shown_text.ts";

/** Returns the header and the rows as lines. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const widths = header.map((title, column) =>
    Math.max(columnsOf(title), ...rows.map((row) => columnsOf(row[column] ?? "")))
  );
  const filled = (cell: string, column: number) =>
    cell + " ".repeat((widths[column] ?? 0) - columnsOf(cell));
  return [header, ...rows].map((row) => row.map(filled).join("  ").trimEnd());
}
