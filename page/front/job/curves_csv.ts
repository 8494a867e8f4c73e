/** Charts as a table of CSV: a line for each point of each job, as far as they are shown. Pure. */
import { placing, textOfCode } from "../charts/curve_rows.ts";
import type { TimeRange } from "../charts/zoom_range.ts";
import type { AxisKind } from "../url_state.ts";
import type { JobChart } from "./job_charts.ts";

const HEADER = "job,metric,time,step,last,min,max";

/** Returns a field; one that a spreadsheet would take for a formula begins with an apostrophe, as texts do there. */
function field(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns the charts as CSV (RFC 4180): of each bucket its last, least and greatest value, of one without a number what it was. */
export function csvOf(
  charts: readonly JobChart[],
  axis: AxisKind,
  { from, to }: TimeRange = { from: -Infinity, to: Infinity },
): string {
  const unit = axis === "step" ? 1 : 1000;
  const lines = charts.flatMap(({ title, lines }) =>
    lines.flatMap((line) => {
      const placed = placing(line, axis);
      const others = line.nonFinite.map((it) => ({ it, values: [textOfCode(it[3]), "", ""] }));
      return [
        ...line.points.map((it) => ({ it, values: [it[3], it[1], it[2]] })),
        ...others,
      ]
        .sort(({ it: [one] }, { it: [other] }) => one - other)
        .flatMap(({ it, values }) => {
          const { step, place = NaN } = placed(it);
          if (!(place * unit >= from && place * unit <= to)) return [];
          const time = new Date(it[0]).toISOString();
          return [[field(line.label), field(title), time, step ?? "", ...values].join(",")];
        });
    })
  );
  return `${[HEADER, ...lines].join("\r\n")}\r\n`;
}
