/** What is known of a log by its rows: for an owner who did not write them. Pure. */
import { readGoFloat } from "../../crds/go_float.ts";
import type { ObservationRow } from "./observation_row.ts";
import type { Report } from "../rules/rule.ts";
import { digestOf } from "./content.ts";
import { microsOf } from "./micros.ts";
import { type RecordState, startRecord } from "./record.ts";
import type { RecordScope } from "./sample.ts";
import { changed, type Entry, newest, remember, REMEMBERED_MIN } from "./window.ts";

/** The rows of one time: a sample, or what is in the log of it. */
interface Moment {
  readonly time: bigint;
  readonly content: Report[];
}

/** The newest samples, oldest first, and when the next older one was, if there is any. */
interface Moments {
  readonly moments: readonly Moment[];
  readonly before?: bigint;
}

/** Rows stand by time, as every sink gives them. */
function momentsOf({ names }: RecordScope, rows: readonly ObservationRow[]): Moments {
  const moments: Moment[] = [];
  for (let index = rows.length - 1; index >= 0; index--) {
    const { time: text = "", name = "", value = "" } = rows[index] ?? {};
    // Such as Katib's own row for a metric that never came.
    const isForeign = (names !== undefined && !names.has(name)) || readGoFloat(value) === undefined;
    const time = isForeign ? undefined : microsOf(text);
    if (time === undefined) continue;
    const newest = moments.at(-1);
    if (newest?.time === time) newest.content.push({ name, value });
    else if (moments.length === REMEMBERED_MIN) {
      return { moments: moments.reverse(), before: time };
    } else moments.push({ time, content: [{ name, value }] });
  }
  return { moments: moments.reverse() };
}

/**
 * The state that recording goes on with after these rows, every row of the log by time. Which pod wrote
 * them is not known: each counts as any pod's, until a sample turns out to be its retry. So no pod is moved
 * behind them: a row that has its sample's time is told from all others by the next owner, too.
 */
export function replay(scope: RecordScope, rows: readonly ObservationRow[]): RecordState {
  const { moments, before } = momentsOf(scope, rows);
  let state: RecordState = {
    ...startRecord(scope),
    ...(before !== undefined && { floor: before }),
  };
  let previous: bigint | undefined;
  for (const { time, content } of moments) {
    // What had the time of another, or an earlier one, was recorded right behind it.
    const isMoved = previous !== undefined && time === previous + 1n;
    const pushed = isMoved ? time - 1n : time;
    const entry: Entry = { pushed, recorded: time, digest: digestOf(content), isReplayed: true };
    const window = remember(state.window, entry);
    state = { ...state, window, latest: time, tail: { entry, content } };
    previous = time;
  }
  return state;
}

/**
 * The replayed state with what this owner knows besides, of when the samples were sent that it wrote, or
 * tried to: the retry of one that was moved is moved elsewhere, and known by that alone.
 */
export function withSentTimes(state: RecordState, known: RecordState): RecordState {
  const sent = new Map<bigint, bigint>();
  newest(known.window, ({ recorded, pushed, isReplayed }) => {
    // What replay itself infers is never later than the row.
    const isKnown = isReplayed ? pushed > recorded : pushed !== recorded;
    if (isKnown) sent.set(recorded, pushed);
    return false;
  });
  if (sent.size === 0) return state;
  const window = changed(state.window, (entry) => {
    const pushed = sent.get(entry.recorded);
    return pushed === undefined ? entry : { ...entry, pushed };
  });
  const { latest = 0n } = state;
  return { ...state, window, latest: [...sent.values()].reduce((a, b) => a > b ? a : b, latest) };
}
