/** Rows of jobs on a terminal: as many columns as its width has room for, or whole. Pure. */
import type { JobRow } from "../crds/wire/row.ts";
import { type Points, progressBar, sparkline } from "./plots.ts";
import { ageOf, changeText, leftText, toldMessage, valueText } from "./readings.ts";
import { columnsOf, cut, fit, safeText } from "./shown_text.ts";
import { ellipsisOf, type Look, styled, styleOfState } from "./styles.ts";
import { textTable } from "./text_table.ts";

/** How rows are drawn. */
export interface RowsLook extends Look {
  readonly columns: number;
  readonly nowMs: number;
  /** Whether names stand with their namespaces. */
  readonly namespaced: boolean;
  /** The last values of a metric of a job, for its sparkline. */
  readonly pointsOf?: (uid: string, metric: string) => Points;
}

/** A column of a fixed width. */
interface Column {
  readonly title: string;
  readonly width: number;
  readonly align?: "right";
  cell(row: JobRow, look: RowsLook): string;
}

const STATE: Column = { title: "STATE", width: 12, cell: ({ state }) => state };
const percentText = (progress: number) => `${progress} %`.padStart(PERCENT_WIDTH);
const PERCENT_WIDTH = 5;
const PERCENT: Column = {
  title: "DONE",
  width: PERCENT_WIDTH,
  align: "right",
  cell: ({ progress }) => progress === undefined ? "" : percentText(progress),
};
const BAR_WIDTH = 8;
/** Instead of only the number. */
const BAR: Column = {
  title: "PROGRESS",
  width: BAR_WIDTH + 1 + PERCENT_WIDTH,
  cell: ({ progress }, { characters }) =>
    progress === undefined
      ? ""
      : `${progressBar(progress, BAR_WIDTH, characters)} ${percentText(progress)}`,
};
const ETA: Column = {
  title: "ETA",
  width: 6,
  align: "right",
  cell: (row) => leftText(row) ?? "",
};
const KIND_WIDTH = 12;
const KIND: Column = {
  title: "KIND",
  width: KIND_WIDTH,
  cell: ({ kind }) => kind.split(".")[0] ?? kind,
};
const AGE: Column = {
  title: "AGE",
  width: 5,
  align: "right",
  cell: ({ created }, { nowMs }) => ageOf(created, nowMs),
};
/** How far a job is; empty for many that have failed or wait. */
const MEASURES: readonly Column[] = [PERCENT, BAR, ETA];
/** The columns of a terminal of at least so many columns, from left to right. */
const BY_WIDTH: readonly { readonly from: number; readonly columns: readonly Column[] }[] = [
  { from: 100, columns: [KIND, STATE, BAR, ETA, AGE] },
  { from: 72, columns: [STATE, BAR, ETA] },
  { from: 52, columns: [STATE, PERCENT, ETA] },
  { from: 32, columns: [STATE, PERCENT] },
  { from: 16, columns: [PERCENT] },
];

const GAP = 2;
const NAME = { least: 8, most: 40, share: 0.28 } as const;
/** Below this there are no metrics. */
const LEAST_METRICS = 12;
const SPARK_WIDTH = { least: 4, most: 10 } as const;

const nameOf = ({ namespace, name }: JobRow, { namespaced }: RowsLook) =>
  safeText(namespaced ? `${namespace}/${name}` : name);

interface Layout {
  readonly name: number;
  readonly shown: readonly Column[];
  /** 0: none. */
  readonly metrics: number;
}

const areOfSeveralKinds = (rows: readonly JobRow[]) =>
  rows.some(({ kind }) => kind !== rows[0]?.kind);

/** Returns which columns there is room for, and how wide those are that stretch. */
function layoutOf(rows: readonly JobRow[], look: RowsLook): Layout {
  const { columns } = look;
  const severalKinds = areOfSeveralKinds(rows);
  const shown = (BY_WIDTH.find(({ from }) => columns >= from)?.columns ?? [])
    .filter((it) => it !== KIND || severalKinds);
  const room = columns - shown.reduce((sum, { width }) => sum + GAP + width, 0);
  const longest = rows.reduce((most, row) => Math.max(most, columnsOf(nameOf(row, look))), 0);
  const hasMetrics = rows.some((row) =>
    (row.metrics ?? []).length > 0 || reasonText(row, look) !== undefined
  );
  const wanted = Math.min(NAME.most, Math.max(NAME.least, longest));
  const most = hasMetrics ? Math.max(NAME.least, Math.floor(columns * NAME.share)) : room;
  const metrics = room - Math.min(wanted, most) - GAP;
  if (!hasMetrics || metrics < LEAST_METRICS) return { name: Math.max(1, room), shown, metrics: 0 };
  return { name: Math.min(wanted, most), shown, metrics };
}

/** The layout of a row that tells a reason: it takes the room of measures that say nothing. */
function layoutWith(layout: Layout, row: JobRow, look: RowsLook): Layout {
  const measures = layout.shown.filter((it) => MEASURES.includes(it));
  const areEmpty = measures.every((it) => it.cell(row, look) === "");
  const freed = measures.reduce((sum, { width }) => sum + GAP + width, 0);
  const metrics = layout.metrics === 0 ? freed - GAP : layout.metrics + freed;
  if (reasonText(row, look) === undefined || !areEmpty || metrics < LEAST_METRICS) return layout;
  return { ...layout, metrics, shown: layout.shown.filter((it) => !measures.includes(it)) };
}

/** What is told of a job that fails, waits or is being stopped, instead of its metrics. */
function reasonText(row: JobRow, { nowMs }: Pick<RowsLook, "nowMs">): string | undefined {
  const message = toldMessage(row);
  const told = [changeText(row, nowMs) ?? [], message === undefined ? [] : safeText(message)];
  return told.flat().join(": ") || undefined;
}

/** Returns the newest values, each with the line of those before it, as many as there is room for. */
function metricsText(row: JobRow, columns: number, look: RowsLook): string {
  const { pointsOf, characters } = look;
  const reason = reasonText(row, look);
  if (reason !== undefined) return cut(reason, columns, ellipsisOf(look));
  let text = "";
  for (const { name, value } of row.metrics ?? []) {
    const one = `${text === "" ? "" : "  "}${safeText(name)} ${valueText(value)}`;
    const room = columns - columnsOf(text + one);
    if (room < 0) return text === "" ? cut(one, columns, ellipsisOf(look)) : text;
    const points = pointsOf?.(row.uid, name) ?? [];
    const width = Math.min(room - 1, SPARK_WIDTH.most);
    const hasLine = points.length > 1 && width >= SPARK_WIDTH.least;
    text += hasLine ? `${one} ${sparkline(points, width, characters)}` : one;
  }
  return text;
}

function lineOf(
  { name, shown, metrics }: Layout,
  cells: {
    readonly name: string;
    readonly of: (column: Column) => string;
    readonly metrics: string;
  },
  end: string,
): string {
  const gap = " ".repeat(GAP);
  const fixed = shown.filter((it) => it !== AGE).map(cells.of);
  return [
    fit(cells.name, name, end),
    ...fixed,
    ...(metrics > 0 ? [fit(cells.metrics, metrics, end)] : []),
    ...(shown.includes(AGE) ? [cells.of(AGE)] : []),
  ].join(gap);
}

/** Returns the header and the line of each row, all of the width of the look. */
export function jobRows(
  rows: readonly JobRow[],
  look: RowsLook,
): { readonly header: string; readonly lines: readonly string[] } {
  const layout = layoutOf(rows, look);
  const end = ellipsisOf(look);
  const header = lineOf(layout, {
    name: look.namespaced ? "NAMESPACE/NAME" : "NAME",
    of: ({ title, width, align }) => fit(title, width, end, align),
    metrics: "METRICS",
  }, end);
  const lines = rows.map((row) => {
    const ofRow = layoutWith(layout, row, look);
    return lineOf(ofRow, {
      name: nameOf(row, look),
      of: (column) => {
        const cell = fit(column.cell(row, look), column.width, end, column.align);
        return column === STATE ? styled(look, styleOfState(row.state), cell) : cell;
      },
      metrics: metricsText(row, ofRow.metrics, look),
    }, end);
  });
  return { header, lines };
}

/** Returns the header and the lines of a table in which nothing is cut, each column as wide as it has to be. */
export function jobTable(rows: readonly JobRow[], look: Omit<RowsLook, "pointsOf">): string[] {
  const fixed = [...(areOfSeveralKinds(rows) ? [KIND] : []), STATE, PERCENT, ETA, AGE];
  const titles = [look.namespaced ? ["NAMESPACE"] : [], "NAME", fixed.map(({ title }) => title)];
  const cellsOf = (row: JobRow) => [
    ...(look.namespaced ? [safeText(row.namespace)] : []),
    safeText(row.name),
    ...fixed.map((it) =>
      styled(look, it === STATE ? styleOfState(row.state) : undefined, it.cell(row, look).trim())
    ),
    metricsText(row, Infinity, look),
  ];
  return textTable([...titles.flat(), "METRICS"], rows.map(cellsOf));
}
