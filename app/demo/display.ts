/** Display of the demo: the rows of `milepost top` on a terminal, its lines in a pipe, JSON with `--json`. */
import type { Clock } from "../../platform/base/clock.ts";
import type { JobRow } from "../../crds/wire/row.ts";
import { jobRows } from "../../terminal/job_rows.ts";
import { plainLine, plainStep } from "../../terminal/plain_lines.ts";
import type { Points, Size } from "../../terminal/plots.ts";
import { safeJson } from "../../terminal/shown_text.ts";
import { type Look, styled } from "../../terminal/styles.ts";
import { type JobSummary, metricsByName, summaryTable } from "./job_summary.ts";

/** One way to show jobs. */
export interface Display {
  /** A word to people; nothing in JSON. */
  note(text: string): void;
  /** A job has changed; `all` in the order in which they were made. */
  changed(row: JobRow, all: readonly JobRow[]): void;
  finished(summaries: readonly JobSummary[]): void;
}

/** What it is written with. */
export interface DisplayParts {
  readonly write: (text: string) => void;
  readonly json: boolean;
  /** Undefined where there is no terminal. */
  readonly terminal?: { readonly look: Look; readonly size: () => Size };
  readonly clock: Pick<Clock, "now">;
}

/** Values of a metric that its line is drawn from. */
const MAX_POINTS = 128;

/** Rows that are drawn over. */
function terminalDisplay(
  write: DisplayParts["write"],
  { look, size }: NonNullable<DisplayParts["terminal"]>,
  clock: Pick<Clock, "now">,
): Display {
  let drawn = 0;
  /** Values of each metric so far, by job and name. */
  const points = new Map<string, Points>();
  const key = (uid: string, metric: string) => JSON.stringify([uid, metric]);

  function remember({ uid, metrics = [] }: JobRow, nowMs: number): void {
    for (const { name, value } of metrics) {
      const known = points.get(key(uid, name)) ?? [];
      points.set(key(uid, name), [...known.slice(1 - MAX_POINTS), [nowMs, Number(value)]]);
    }
  }

  return {
    note(text) {
      write(`${text}\n`);
      drawn = 0;
    },
    changed(row, all) {
      const nowMs = clock.now();
      remember(row, nowMs);
      const { header, lines } = jobRows(all, {
        ...look,
        columns: size().columns,
        nowMs,
        namespaced: false,
        pointsOf: (uid, metric) => points.get(key(uid, metric)) ?? [],
      });
      const up = drawn > 0 ? `\x1b[${drawn}A` : "";
      const shown = [styled(look, "dim", header), ...lines];
      write(up + shown.map((line) => `\x1b[2K${line.trimEnd()}\n`).join(""));
      drawn = shown.length;
    },
    finished(summaries) {
      write(`\n${summaryTable(summaries)}\n`);
    },
  };
}

/** A line for each change of a state, and for each further tenth of progress. */
function plainDisplay(write: DisplayParts["write"], clock: DisplayParts["clock"]): Display {
  const shown = new Map<string, string>();
  return {
    note: (text) => write(`${text}\n`),
    changed(row) {
      const step = plainStep(row);
      if (shown.get(row.uid) === step) return;
      shown.set(row.uid, step);
      write(`${plainLine(row, clock.now())}\n`);
    },
    finished: (summaries) => write(`\n${summaryTable(summaries)}\n`),
  };
}

/** A change as scripts read it; the summary at the end names its jobs alike. */
function changeOf({ name, state, progress, remainingSeconds, metrics }: JobRow) {
  return {
    job: name,
    state,
    ...(progress !== undefined && { progressPercentage: progress }),
    ...(remainingSeconds !== undefined && { estimatedRemainingSeconds: remainingSeconds }),
    metrics: metricsByName(metrics),
  };
}

/** One JSON object per line. */
function jsonDisplay(write: DisplayParts["write"]): Display {
  return {
    note: () => {},
    changed: (row) => write(`${safeJson(changeOf(row))}\n`),
    finished: (summaries) => write(`${safeJson({ summary: summaries })}\n`),
  };
}

/** The display to use: JSON on request, rows on a terminal, else plain lines. */
export function chooseDisplay({ json, terminal, write, clock }: DisplayParts): Display {
  if (json) return jsonDisplay(write);
  return terminal === undefined
    ? plainDisplay(write, clock)
    : terminalDisplay(write, terminal, clock);
}
