/** Log of the job that `top` shows: its newest lines, as wide as the screen. */
import type { JobRef } from "../crds/job_kind.ts";
import { messageOf } from "../platform/kube/errors.ts";
import { type LogParts, printLogs } from "./followed_logs.ts";
import { safeText, wrapped } from "./shown_text.ts";

/** Lines that are kept, and characters of one that are shown. */
const LIMITS = { lines: 5_000, characters: 4_096 } as const;
/** Lines of each rank before the newest with which it begins. */
const TAIL = 500;

/** Begins to read it; `onNews` is called when there is more of it. */
export function createTopLog(
  job: JobRef,
  { isPrevious, onNews, ...parts }:
    & Pick<LogParts, "client" | "keptPods" | "clock" | "signal">
    & { readonly isPrevious: boolean; readonly onNews: () => void },
) {
  const over = new AbortController();
  const texts: string[] = [];
  let shown: string[] = [];
  let [width, gone] = [0, 0];

  function add(text: string): void {
    const line = text.slice(0, LIMITS.characters);
    texts.push(line);
    if (width > 0) shown.push(...wrapped(line, width));
    // In large steps, so that a line costs no copy of all others.
    if (texts.length > 2 * LIMITS.lines) texts.splice(0, texts.length - LIMITS.lines);
    if (shown.length > 2 * LIMITS.lines) {
      gone += shown.length - LIMITS.lines;
      shown.splice(0, shown.length - LIMITS.lines);
    }
    onNews();
  }

  const choice = { rank: undefined, follow: !isPrevious, previous: isPrevious, tail: TAIL };
  const tell = (text: string) => add(`* ${safeText(text)}`);
  const signal = AbortSignal.any([parts.signal, over.signal]);
  printLogs(job, choice, { ...parts, signal, print: add, warn: tell }).then(
    (count) => {
      if (count === 0) {
        tell(isPrevious ? "No container has restarted." : "No pod has a log yet.");
      } else if (!isPrevious) tell("The log has ended.");
    },
    (error) => tell(`The log cannot be read: ${messageOf(error)}`),
  );
  return {
    uid: job.uid,
    isPrevious,
    /** Returns the lines, as wide as that. */
    lines(columns: number): readonly string[] {
      if (columns !== width) {
        shown = texts.flatMap((it) => wrapped(it, columns)).slice(-2 * LIMITS.lines);
      }
      width = columns;
      return shown;
    },
    /** Returns how many of those lines have gone from the beginning since it was last asked. */
    takeGone(): number {
      const count = gone;
      gone = 0;
      return count;
    },
    stop: (): void => over.abort(),
  };
}

/** The log. */
export type TopLog = ReturnType<typeof createTopLog>;
