/** Results of a benchmark, and their table. */

/** One number with its goal. */
export interface Measure {
  readonly name: string;
  readonly value: number;
  /** Such as `ms`, `s`, `%`, `/s`, `MB`, `×`. */
  readonly unit: string;
  /** Goal of the value; without one it is shown for comparison. */
  readonly goal?: { readonly is: "below" | "at least" | "at most"; readonly limit: number };
  /** The value that it is compared with, of the same run and unit. */
  readonly beside?: { readonly name: string; readonly value: number };
  /** How it was measured, or why it missed. */
  readonly note?: string;
}

/** A benchmark, which yields a measure for each line of its table. */
export interface Benchmark {
  readonly about: string;
  /** Whether it has options of its own; they follow its name. */
  readonly takesOptions?: boolean;
  /** Runs it. `say` is called with a line about its progress. */
  run(say: (text: string) => void, options: readonly string[]): Promise<Measure[]>;
}

/** Whether the goal was reached; undefined if there is none. */
export function isMet({ value, goal }: Measure): boolean | undefined {
  if (goal === undefined) return undefined;
  if (goal.is === "below") return value < goal.limit;
  return goal.is === "at most" ? value <= goal.limit : value >= goal.limit;
}

/** Ratio of the value to the one beside it. */
export function ratioOf({ value, beside }: Measure): number | undefined {
  return beside === undefined || beside.value === 0 ? undefined : value / beside.value;
}

function text(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits);
}

function cells(measure: Measure): string[] {
  const { name, value, unit, goal, beside } = measure;
  const met = isMet(measure);
  const ratio = ratioOf(measure);
  return [
    name,
    `${text(value)} ${unit}`,
    goal === undefined ? "" : `${goal.is} ${text(goal.limit)} ${unit}`,
    met === undefined ? "" : met ? "met" : "missed",
    beside === undefined ? "" : `${text(beside.value)} ${unit} (${beside.name})`,
    ratio === undefined ? "" : `${ratio.toFixed(2)}×`,
  ];
}

const HEADINGS = ["measure", "value", "goal", "", "beside", "ratio"];

/** The measures as a table, and below it their notes. */
export function tableOf(measures: readonly Measure[]): string {
  const rows = [HEADINGS, ...measures.map(cells)];
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length))
  );
  const lines = rows.map((row) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ").trimEnd()
  );
  const notes = measures.flatMap(({ name, note }) =>
    note === undefined ? [] : [`${name}: ${note}`]
  );
  return [...lines, ...(notes.length > 0 ? ["", ...notes] : [])].join("\n") + "\n";
}

/** The measures as one JSON object. */
export function jsonOf(measures: readonly Measure[]): string {
  const results = measures.map((it) => ({ ...it, met: isMet(it), ratio: ratioOf(it) }));
  return `${JSON.stringify({ results })}\n`;
}

/** The value below which the share `part` of the values lies. Throws for no values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))];
  if (found === undefined) throw new Error("there is nothing to take a quantile of");
  return found;
}
