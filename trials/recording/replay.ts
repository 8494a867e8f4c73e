/** Replay of a log's rows, for an owner that did not write them. Pure. */
import { readGoFloat } from "../../platform/base/go_float.ts";
import type { ObservationRow } from "./observation_row.ts";
import type { Report } from "../rules/rule.ts";
import { microsOf } from "./micros.ts";
import { PODS_MAX, type RecordState, replayedDigest, startRecord } from "./record.ts";
import type { RecordScope } from "./pod_sample.ts";
import { changed, type Entry, newest, remember, REMEMBERED_MIN } from "./window.ts";

/** The rows of one time: a sample, or the part of it that is in the log. */
interface Moment {
  readonly time: bigint;
  /** UID of the pod; undefined if the log does not say. */
  readonly run: string | undefined;
  readonly content: Report[];
}

/** The newest samples, oldest first, and the time of the next older one, if any. */
interface Moments {
  readonly moments: readonly Moment[];
  readonly before?: bigint;
}

/** Groups rows, which every sink returns by time. */
function momentsOf({ names }: RecordScope, rows: readonly ObservationRow[]): Moments {
  const moments: Moment[] = [];
  for (let index = rows.length - 1; index >= 0; index--) {
    const { time: text = "", name = "", value = "", run } = rows[index] ?? {};
    // Such as Katib's own row for a metric that was never reported.
    const isForeign = (names !== undefined && !names.has(name)) || readGoFloat(value) === undefined;
    const time = isForeign ? undefined : microsOf(text);
    if (time === undefined) continue;
    const newest = moments.at(-1);
    if (newest?.time === time) newest.content.push({ name, value });
    else if (moments.length === REMEMBERED_MIN) {
      return { moments: moments.reverse(), before: time };
    } else moments.push({ time, run, content: [{ name, value }] });
  }
  return { moments: moments.reverse() };
}

/** Returns the last row of each pod, the newest last; of too many pods the others' last row is the floor. */
function lastRows({ moments, before }: Moments): Pick<RecordState, "pods" | "floor"> {
  const pods = new Map<string, bigint>();
  let floor = before;
  for (const { time, run } of moments.toReversed()) {
    if (run === undefined || pods.has(run)) continue;
    if (pods.size === PODS_MAX) {
      floor = time;
      break;
    }
    pods.set(run, time);
  }
  return { pods: new Map([...pods].reverse()), ...(floor !== undefined && { floor }) };
}

/**
 * Returns the state to continue recording with after these rows: all rows of the log by time. A row without
 * a run may be any pod's until a retry shows whose it is. Samples are therefore not moved behind it, so that
 * the next owner, too, knows a row by its sample's time.
 */
export function replay(scope: RecordScope, rows: readonly ObservationRow[]): RecordState {
  const newest = momentsOf(scope, rows);
  let state: RecordState = { ...startRecord(scope), ...lastRows(newest) };
  let previous: bigint | undefined;
  for (const { time, run, content } of newest.moments) {
    // A sample with the time of another, or an earlier one, was recorded right after that.
    const isMoved = previous !== undefined && time === previous + 1n;
    const pushed = isMoved ? time - 1n : time;
    const digest = replayedDigest(content, run);
    const entry: Entry = { pushed, recorded: time, digest, isReplayed: true };
    const window = remember(state.window, entry);
    state = {
      ...state,
      window,
      latest: time,
      tail: { entry, content, ...(run !== undefined && { run }) },
    };
    previous = time;
  }
  return state;
}

/**
 * Adds to the replayed state when the samples that this owner wrote, or tried to write, were sent. The retry
 * of a sample whose time was moved is moved elsewhere, and known only by the time that was sent.
 */
export function withSentTimes(state: RecordState, known: RecordState): RecordState {
  const sent = new Map<bigint, bigint>();
  newest(known.window, ({ recorded, pushed, isReplayed }) => {
    // Times that replay itself infers are never later than the row.
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
