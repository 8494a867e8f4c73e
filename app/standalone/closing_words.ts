/** Closing words of a standalone: which jobs end with it, and what stays. */
import type { JobRow } from "../../crds/wire/row.ts";
import { safeText } from "../../terminal/shown_text.ts";

/** Jobs that are named. */
const NAMED = 5;

/**
 * Returns the words, as comments of a shell; without `rows` nobody knows which jobs there are. `dataDir` is where all is
 * kept, if it is. Pure.
 */
export function closingWords(
  rows: readonly JobRow[] | undefined,
  dataDir: string | undefined,
): string {
  const running = rows?.filter(({ state }) => state === "Running") ?? [];
  const names = running.slice(0, NAMED).map((it) => safeText(`${it.namespace}/${it.name}`));
  const more = running.length > NAMED ? ` and ${running.length - NAMED} more` : "";
  const ended = rows === undefined
    ? "which jobs run could not be read; their pods end with it"
    : running.length === 0
    ? "no job runs"
    : `the pods of ${names.join(", ")}${more} end with it`;
  const fate = rows !== undefined && running.length === 0
    ? ""
    : "# at the next start they have failed, and their jobs go on if they may restart them\n";
  return dataDir === undefined
    ? `# stopping: ${ended}; nothing is kept, as there was no --data-dir\n`
    : `# stopping: ${ended}; ${dataDir} keeps jobs, curves and logs for the next start\n${fate}`;
}
