/** Recording of samples as rows: each sample once, each pod's in the order of time. Pure. */
import type { ObservationRow } from "./observation_row.ts";
import { type Content, contentOf, digestOf } from "./content.ts";
import { microsOf, timeOf } from "./micros.ts";
import type { PodSample, Recorded, RecordScope } from "./pod_sample.ts";
import { EMPTY_WINDOW, type Entry, exchange, newest, remember, type Window } from "./window.ts";

/** Pods of one log whose last row is remembered; a log has one pod at a time, and few in all. */
export const PODS_MAX = 16;

/** State of a log. Immutable: recording returns a new state. */
export interface RecordState {
  readonly scope: RecordScope;
  /** The last row of each pod; the pod that recorded last comes last. */
  readonly pods: ReadonlyMap<string, bigint>;
  /** Pods that are not among these may have rows up to this time. */
  readonly floor?: bigint;
  /** The latest time with which a sample was recorded or sent. */
  readonly latest?: bigint;
  readonly window: Window;
  /** The newest rows that were replayed; the log may lack the rest of their sample. */
  readonly tail?: { readonly entry: Entry; readonly content: Content; readonly run?: string };
}

/** Returns the state of an empty log. */
export function startRecord(scope: RecordScope): RecordState {
  return { scope, pods: new Map(), window: EMPTY_WINDOW };
}

const ONE = 1n;

/** Whether an entry was moved behind a later row, and may have been sent with this time. */
function isMovedFrom({ pushed, recorded }: Entry, time: bigint): boolean {
  return pushed < recorded && time <= pushed;
}

/** Returns the digest of a replayed sample, by which its retry is recognized: only its pod's if that is known. */
export function replayedDigest(content: Content, run: string | undefined): number {
  return run === undefined ? digestOf(content) : digestOf(content, run);
}

/** Returns the replayed entry that may be this sample, at best one sent or recorded at its time. */
function replayed(window: Window, { pod, time, sent, content }: Read): Entry | undefined {
  const digests = [replayedDigest(content, pod), replayedDigest(content, undefined)];
  const isMeant = ({ isReplayed, digest }: Entry) => isReplayed && digests.includes(digest);
  return newest(window, (entry) => isMeant(entry) && entry.pushed === sent && sent !== time) ??
    newest(window, (entry) => isMeant(entry) && entry.recorded === time) ??
    newest(window, (entry) => isMeant(entry) && isMovedFrom(entry, time));
}

/** A parsed sample. */
interface Read {
  readonly pod: string;
  readonly time: bigint;
  /** Before it was clamped. */
  readonly sent: bigint;
  /** A digest with pod and sequence, which distinguishes pushes of the same content. */
  readonly identity: number;
  readonly content: Content;
}

function readSample(sample: PodSample, content: Content): Read {
  const { pod, metrics, sequence, time: text, sentTime = text } = sample;
  const time = microsOf(text);
  if (time === undefined) throw new RangeError(`"${text}" is not an RFC 3339 time`);
  const sent = microsOf(sentTime) ?? time;
  return { pod, time, sent, content, identity: digestOf(metrics, pod, String(sequence ?? "")) };
}

/** Returns the entry that this sample is a retry of, if any. */
function earlier(state: RecordState, read: Read): Entry | undefined {
  const { window, latest } = state;
  const { time, sent, identity } = read;
  // The usual case.
  if (latest === undefined || (time > latest && sent > latest)) return undefined;
  const own = newest(
    window,
    (entry) => !entry.isReplayed && entry.pushed === sent && entry.digest === identity,
  );
  if (own !== undefined) return own;
  return replayed(window, read);
}

/** Returns the missing rows of a sample of which a former owner wrote only some, as its last. */
function missing({ tail }: RecordState, { pod, time, content }: Read): Content | undefined {
  if (tail === undefined || (tail.run !== undefined && tail.run !== pod)) return undefined;
  if (time !== tail.entry.recorded && !isMovedFrom(tail.entry, time)) return undefined;
  const has = (row: Content[number]) =>
    tail.content.some((one) => one.name === row.name && one.value === row.value);
  const rest = content.filter((row) => !has(row));
  return rest.length === content.length - tail.content.length ? rest : undefined;
}

/**
 * Returns the time to record a sample with: its own if that is after the pod's last row, else the microsecond
 * after that row; never the time of another row. The first sample of a pod keeps its time, since another pod,
 * whose clock is ahead, may have later rows.
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

/** Adds a row of the pod at this time; of too many pods the one that was silent longest is forgotten. */
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

/** Assigns a replayed entry to this sample, so that no other sample of the same content matches it. */
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

/** Returns the state after a retry; a replayed row at the sample's time is known to be the pod's. */
function afterRetry(state: RecordState, entry: Entry, read: Read): RecordState {
  const after = claimed(state, entry, read);
  return entry.isReplayed && entry.recorded === read.time ? withRow(after, read, read.time) : after;
}

function rowsAt(time: bigint, content: Content, { step }: PodSample): ObservationRow[] {
  const text = timeOf(time);
  return content.map((row) => ({ time: text, ...row, ...(step !== undefined && { step }) }));
}

/**
 * Records a sample as rows with its time. The same time, sequence and metrics again are a retry, unless
 * {@link REMEMBERED_MIN} samples came in between. The time of a new sample that is not after the pod's last
 * row becomes the microsecond after it. Throws a RangeError for an invalid time.
 */
export function record(state: RecordState, sample: PodSample): Recorded<RecordState> {
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
      rows: rowsAt(entry.recorded, rest, sample),
      reports: reports.filter(({ name }) => rest.some((row) => row.name === name)),
    };
  }
  const time = freeTime(state, read);
  const added = { pushed: read.sent, recorded: time, digest: read.identity, isReplayed: false };
  return {
    state: { ...withRow(state, read, time), window: remember(state.window, added) },
    verdict: "new",
    rows: rowsAt(time, content, sample),
    reports,
    warnings,
  };
}
