/** Display of the demo: bars on a terminal, plain lines in a pipe, JSON with `--json`. */
import type { JobSummary, JobView } from "./job_view.ts";
import { barLine, plainLine, summaryTable } from "./rendering.ts";

/** One way to show jobs. */
export interface Display {
  /** A word to people; nothing in JSON. */
  note(text: string): void;
  /** A job has changed; `all` in the order in which they were made. */
  changed(view: JobView, all: readonly JobView[]): void;
  finished(summaries: readonly JobSummary[]): void;
}

type Write = (text: string) => void;

/** Bars that are drawn over. */
function terminalDisplay(write: Write): Display {
  let drawn = 0;
  return {
    note(text) {
      write(`${text}\n`);
      drawn = 0;
    },
    changed(_view, all) {
      const width = Math.max(...all.map((it) => it.job.length));
      const up = drawn > 0 ? `\x1b[${drawn}A` : "";
      write(up + all.map((it) => `\x1b[2K${barLine(it, width)}\n`).join(""));
      drawn = all.length;
    },
    finished(summaries) {
      write(`\n${summaryTable(summaries)}\n`);
    },
  };
}

/** A line for each change of a state, and for each further tenth of progress. */
function plainDisplay(write: Write): Display {
  const shown = new Map<string, string>();
  return {
    note: (text) => write(`${text}\n`),
    changed(view) {
      const step = `${view.state} ${Math.floor((view.progressPercentage ?? -1) / 10)}`;
      if (shown.get(view.job) === step) return;
      shown.set(view.job, step);
      write(`${plainLine(view)}\n`);
    },
    finished: (summaries) => write(`\n${summaryTable(summaries)}\n`),
  };
}

/** One JSON object per line. */
function jsonDisplay(write: Write): Display {
  return {
    note: () => {},
    changed: (view) => write(`${JSON.stringify(view)}\n`),
    finished: (summaries) => write(`${JSON.stringify({ summary: summaries })}\n`),
  };
}

/** The display to use: JSON on request, bars on a terminal, else plain lines. */
export function chooseDisplay(json: boolean, isTerminal: boolean, write: Write): Display {
  if (json) return jsonDisplay(write);
  return isTerminal ? terminalDisplay(write) : plainDisplay(write);
}
