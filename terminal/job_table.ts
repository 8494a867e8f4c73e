/** Table of jobs, as `milepost get` prints it: each whole, in columns as wide as they need to be. Pure. */
import type { JobRow } from "../crds/wire/row.ts";
import { ageOf, leftText, valueText } from "./readings.ts";
import { safeText } from "./shown_text.ts";
import { type Look, styled, styleOfState } from "./styles.ts";
import { textTable } from "./text_table.ts";

/** How it is drawn. */
export interface TableLook extends Pick<Look, "colours"> {
  readonly nowMs: number;
  /** Whether the namespaces have a column. */
  readonly namespaced: boolean;
}

interface Column {
  readonly title: string;
  readonly cell: (row: JobRow) => string;
}

/** Returns the lines of the table, the first one with the titles. */
export function jobTable(rows: readonly JobRow[], { namespaced, ...look }: TableLook): string[] {
  const severalKinds = new Set(rows.map(({ kind }) => kind)).size > 1;
  const columns: Column[] = [
    ...(namespaced ? [{ title: "NAMESPACE", cell: (it: JobRow) => safeText(it.namespace) }] : []),
    { title: "NAME", cell: ({ name }) => safeText(name) },
    ...(severalKinds
      ? [{ title: "KIND", cell: ({ kind }: JobRow) => safeText(kind.split(".")[0] ?? kind) }]
      : []),
    { title: "STATE", cell: ({ state }) => styled(look, styleOfState(state), state) },
    { title: "DONE", cell: ({ progress }) => progress === undefined ? "" : `${progress} %` },
    { title: "ETA", cell: (row) => leftText(row) ?? "" },
    { title: "AGE", cell: ({ created }) => ageOf(created, look.nowMs) },
    {
      title: "METRICS",
      cell: ({ metrics = [] }) =>
        metrics.map(({ name, value }) => `${safeText(name)} ${valueText(value)}`).join("  "),
    },
  ];
  return textTable(
    columns.map(({ title }) => title),
    rows.map((row) => columns.map(({ cell }) => cell(row))),
  );
}
