/** Following of one search until it ends: drawn over at a terminal, elsewhere a line for each change. */
import type { Clock } from "../platform/base/clock.ts";
import { isTransient, messageOf } from "../platform/kube/errors.ts";
import type { ShownSearch, ShownTrial } from "../crds/wire/searches.ts";
import type { Size } from "./plots.ts";
import { changedTrials, REPORT_FRAME, searchReport, trialLine } from "./search_report.ts";
import { cut } from "./shown_text.ts";
import { ellipsisOf, type Look } from "./styles.ts";

/** Time between two reads, in milliseconds. */
const POLL_MS = 1_000;

/** What is followed, and how it is shown. */
export interface FollowedSearch {
  /** Reads it; undefined if it is not there. */
  readonly read: (signal: AbortSignal) => Promise<ShownSearch | undefined>;
  /** Of its object. */
  readonly kind: string;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  readonly look: Look;
  /** Undefined where there is no terminal. */
  readonly size: (() => Size) | undefined;
  /** How a change is written where there is no terminal. Default: for people. */
  readonly lineOf?: (search: ShownSearch, trial: ShownTrial) => string;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Ends the following. */
  readonly signal: AbortSignal;
}

/** Returns what shows a search as it is now. */
function showing({ kind, print, look, size, clock, lineOf = trialLine }: FollowedSearch) {
  let drawn = 0;
  let before: ShownSearch | undefined;
  return (search: ShownSearch): void => {
    const nowMs = clock.now();
    if (size === undefined) {
      print(changedTrials(before, search).map((it) => `${lineOf(search, it)}\n`).join(""));
      before = search;
      return;
    }
    const { columns, rows } = size();
    const trials = Math.max(1, rows - REPORT_FRAME);
    const lines = searchReport(kind, search, { ...look, columns, nowMs, trials })
      .slice(0, rows - 1).map((line) => `${cut(line, columns, ellipsisOf(look))}\n`);
    print(`${drawn > 0 ? `\x1b[${drawn}A` : ""}\x1b[J${lines.join("")}`);
    drawn = lines.length;
  };
}

/** Shows a search until it has ended, and returns it. Throws if it is gone, and what `signal` aborts with. */
export async function followSearch(followed: FollowedSearch): Promise<ShownSearch> {
  const { read, warn, clock, signal } = followed;
  const show = showing(followed);
  let problem = "";
  for (;;) {
    try {
      const search = await read(signal);
      if (search === undefined) throw new Error("the search was deleted while it was followed");
      problem = "";
      show(search);
      if (search.state === "Complete" || search.state === "Failed") return search;
    } catch (error) {
      if (!isTransient(error)) throw error;
      if (problem === "") warn(`cannot be read now, it is tried again: ${messageOf(error)}`);
      problem = messageOf(error);
    }
    await clock.sleep(POLL_MS, signal);
    signal.throwIfAborted();
  }
}
