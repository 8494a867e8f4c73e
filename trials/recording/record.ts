/** Turns samples into rows: each once, in the order of their times. Pure. */
import type { ObservationRow } from "./observation_row.ts";
import { type Content, contentOf, digestOf } from "./content.ts";
import { microsOf, timeOf } from "./micros.ts";
import type { Recorded, RecordScope, Sample } from "./sample.ts";
import { EMPTY_WINDOW, type Entry, exchange, newest, remember, type Window } from "./window.ts";

/** Pods of one log whose last row is remembered; it has one at a time, and a few over its life. */
const PODS_MAX = 16;

/** What is known of a log. A value: recording makes another. */
export interface RecordState {
  readonly scope: RecordScope;
  /** Of each pod its last row, the pod that recorded last at the end. */
  readonly pods: ReadonlyMap<string, bigint>;
  /** A pod that is not among these may have rows up to here, of which nothing else is remembered. */
  readonly floor?: bigint;
  /** No sample was recorded, and none was sent, with a later time. */
  readonly latest?: bigint;
  readonly window: Window;
  /** The newest rows that were replayed: their sample may be in the log in part. */
  readonly tail?: { readonly entry: Entry; readonly content: Content };
}

/** The state of an empty log. */
export function startRecord(scope: RecordScope): RecordState {
  return { scope, pods: new Map(), window: EMPTY_WINDOW };
}

const ONE = 1n;

/** Whether an entry was moved behind a row that was later, and can have come with this time. */
function isMovedFrom({ pushed, recorded }: Entry, time: bigint): boolean {
  return pushed < recorded && time <= pushed;
}

/** The replayed entry that can be what came with this time: best the one that was sent so, or is at it. */
function replayed(window: Window, { time, sent, content }: Read): Entry | undefined {
  const digest = digestOf(content);
  const isMeant = (entry: Entry) => entry.isReplayed && entry.digest === digest;
  return newest(window, (entry) => isMeant(entry) && entry.pushed === sent && sent !== time) ??
    newest(window, (entry) => isMeant(entry) && entry.recorded === time) ??
    newest(window, (entry) => isMeant(entry) && isMovedFrom(entry, time));
}

/** A sample that was read. */
interface Read {
  readonly pod: string;
  readonly time: bigint;
  /** Before it was clamped. */
  readonly sent: bigint;
  /** With pod and sequence, so that it tells pushes apart that say the same. */
  readonly identity: number;
  readonly content: Content;
}

function readSample(sample: Sample, content: Content): Read {
  const { pod, metrics, sequence, time: text, sentTime = text } = sample;
  const time = microsOf(text);
  if (time === undefined) throw new RangeError(`"${text}" is no RFC 3339 time`);
  const sent = microsOf(sentTime) ?? time;
  return { pod, time, sent, content, identity: digestOf(metrics, pod, String(sequence ?? "")) };
}

/** The entry that this sample is a retry of. */
function earlier(state: RecordState, read: Read): Entry | undefined {
  const { window, latest } = state;
  const { time, sent, identity } = read;
  // Nearly always.
  if (latest === undefined || (time > latest && sent > latest)) return undefined;
  const own = newest(
    window,
    (entry) => !entry.isReplayed && entry.pushed === sent && entry.digest === identity,
  );
  if (own !== undefined) return own;
  return replayed(window, read);
}

/** The rows of a sample of which the log has some, as the last that its former owner wrote. */
function missing({ tail }: RecordState, { time, content }: Read): Content | undefined {
  if (tail === undefined) return undefined;
  if (time !== tail.entry.recorded && !isMovedFrom(tail.entry, time)) return undefined;
  const has = (row: Content[number]) =>
    tail.content.some((one) => one.name === row.name && one.value === row.value);
  const rest = content.filter((row) => !has(row));
  return rest.length === content.length - tail.content.length ? rest : undefined;
}

/**
 * Its own time where that is after the pod's last row, else the microsecond after that; no other row's. A
 * pod of which no row is known keeps its own: another pod's rows may be later, by a clock that is ahead.
 */
function freeTime({ window, pods, floor, latest }: RecordState, { pod, time }: Read): bigint {
  const last = pods.get(pod) ?? floor;
  let free = last === undefined || time > last ? time : last + ONE;
  const isTaken = (one: bigint) =>
    latest !== undefined && one <= latest &&
    newest(window, ({ recorded }) => recorded === one) !== undefined;
  while (isTaken(free)) free += ONE;
  return free;
}

const later = (one: bigint, other: bigint | undefined) =>
  other === undefined || one > other ? one : other;

/** With a row of the pod at this time; of too many pods the one that was silent longest is forgotten. */
function withRow(state: RecordState, { pod, sent }: Read, time: bigint): RecordState {
  const pods = new Map(state.pods);
  pods.delete(pod);
  pods.set(pod, later(time, state.pods.get(pod)));
  const latest = later(sent, later(time, state.latest));
  const [silent] = pods;
  if (pods.size <= PODS_MAX || silent === undefined) return { ...state, pods, latest };
  pods.delete(silent[0]);
  return { ...state, pods, latest, floor: later(silent[1], state.floor) };
}

/** From now on a replayed entry is this sample's: another one of the same content is another. */
function claimed(state: RecordState, entry: Entry, { sent, identity }: Read): RecordState {
  if (!entry.isReplayed) return state;
  const own: Entry = {
    pushed: sent,
    recorded: entry.recorded,
    digest: identity,
    isReplayed: false,
  };
  const { tail, ...rest } = { ...state, window: exchange(state.window, entry, own) };
  return tail === undefined || tail.entry.recorded === entry.recorded ? rest : { ...rest, tail };
}

/** The state after a retry: that a pod wrote a replayed row is known where the row has its sample's time. */
function afterRetry(state: RecordState, entry: Entry, read: Read): RecordState {
  const after = claimed(state, entry, read);
  return entry.isReplayed && entry.recorded === read.time ? withRow(after, read, read.time) : after;
}

function rowsAt(time: bigint, content: Content): ObservationRow[] {
  const text = timeOf(time);
  return content.map((row) => ({ time: text, ...row }));
}

/**
 * What becomes of a sample. Its rows carry its time. The same time, sequence and metrics again are a
 * retry, as long as no {@link REMEMBERED_MIN} samples came in between; else a time that is not after the
 * pod's last row becomes the microsecond after it. Throws a RangeError where the time is none.
 */
export function record(state: RecordState, sample: Sample): Recorded<RecordState> {
  const { content, reports, warnings } = contentOf(state.scope, sample.metrics);
  const read = readSample(sample, content);
  const done = { state, verdict: "new" as const, rows: [], reports: [], warnings };
  if (content.length === 0) return done;
  const entry = earlier(state, read);
  if (entry !== undefined) {
    return { ...done, state: afterRetry(state, entry, read), verdict: "retry" };
  }
  const rest = missing(state, read);
  if (rest !== undefined && state.tail !== undefined) {
    const { entry } = state.tail;
    return {
      ...done,
      state: withRow(claimed(state, entry, read), read, entry.recorded),
      rows: rowsAt(entry.recorded, rest),
      reports: reports.filter(({ name }) => rest.some((row) => row.name === name)),
    };
  }
  const time = freeTime(state, read);
  const added = { pushed: read.sent, recorded: time, digest: read.identity, isReplayed: false };
  return {
    state: { ...withRow(state, read, time), window: remember(state.window, added) },
    verdict: "new",
    rows: rowsAt(time, content),
    reports,
    warnings,
  };
}
