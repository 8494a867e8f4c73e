/** Feeds of the jobs that streams of this replica read: one feed a job, many jobs a call to the owner. */
import type { JobKind, JobRef } from "../../crds/job_kind.ts";
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../../kube/backoff.ts";
import type { Clock } from "../../kube/clock.ts";
import { messageOf } from "../../kube/errors.ts";
import type { JobStatus, ReadEntry, Reading } from "./reading.ts";

/**
 * Asks the owner, wherever it is, for what differs from the cursors; it may wait up to `waitMs` until
 * something does. Returns undefined if there is no owner, or no answer.
 */
export type PollOwner = (
  entries: readonly ReadEntry[],
  waitMs: number,
  signal: AbortSignal,
) => Promise<readonly Reading[] | undefined>;

/** Options of {@link createFeeds}. */
export interface FeedsOptions<Value> {
  readonly poll: PollOwner;
  /** Returns what followers get of a reading; undefined: nothing. */
  readonly valueOf: (reading: Reading) => Value | undefined;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Jobs of one call. Default 500. */
  readonly jobsPerCall?: number;
}

/** Options of {@link createStatusFeeds}. */
export type StatusFeedsOptions = Omit<FeedsOptions<JobStatus>, "valueOf">;

/** Feeds by job. */
export interface Feeds<Value> {
  /** Calls the listener with the job's value and each newer one. Returns how to stop that. */
  follow(job: JobRef, listener: (value: Value) => void): () => void;
  /** Jobs that are followed. */
  jobs(): number;
  /** Ends every feed; resolves when nothing runs any more. */
  close(): Promise<void>;
}

/** How long the owner may wait for news, in milliseconds. */
const POLL_MS = 10_000;
/** Between two calls of a group at the least, in milliseconds: news that come together go together. */
const PACE_MS = 50;
/** Pauses after calls without an answer. */
const RETRY = { firstMs: 200, longestMs: 4000 } as const;

interface Feed<Value> {
  readonly job: JobRef;
  readonly listeners: Set<(value: Value) => void>;
  cursor?: string;
  latest?: Value;
}

/** Jobs of one kind that are asked for by one call at a time. */
interface Group<Value> {
  readonly kind: JobKind;
  /** By UID; those that had news last stand last. */
  readonly feeds: Map<string, Feed<Value>>;
  /** Breaks off the call under way: there is a new follower, or none is left. */
  cut: () => void;
  isRunning: boolean;
  running: Promise<void>;
}

/** The newest statuses by job. */
export type StatusFeeds = Feeds<JobStatus>;

/** Creates {@link StatusFeeds}; nothing runs without a follower. */
export function createStatusFeeds(options: StatusFeedsOptions): StatusFeeds {
  return createFeeds({ ...options, valueOf: ({ status }) => status });
}

/** Passes the news of an answer on; jobs with news go to the end of the line. */
function deliver<Value>(
  group: Group<Value>,
  readings: readonly Reading[],
  valueOf: FeedsOptions<Value>["valueOf"],
): void {
  for (const reading of readings) {
    const { uid, cursor } = reading;
    const feed = group.feeds.get(uid);
    if (feed === undefined) continue;
    feed.cursor = cursor;
    group.feeds.delete(uid);
    group.feeds.set(uid, feed);
    const value = valueOf(reading);
    if (value === undefined) continue;
    feed.latest = value;
    for (const listener of feed.listeners) listener(value);
  }
}

/** Creates {@link Feeds}; nothing runs without a follower. */
export function createFeeds<Value>(options: FeedsOptions<Value>): Feeds<Value> {
  const { poll, valueOf, clock, random = Math.random, jobsPerCall = 500 } = options;
  const log = getLogger(["milepost", "status"]);
  const groups = new Set<Group<Value>>();
  const byUid = new Map<string, { readonly feed: Feed<Value>; readonly group: Group<Value> }>();
  const closed = new AbortController();

  /** Makes one call. Returns how long to pause after it. */
  async function round(group: Group<Value>, failures: number): Promise<number | undefined> {
    const over = new AbortController();
    group.cut = () => over.abort();
    const entries = [...group.feeds.values()].map(({ job, cursor }) => ({ job, cursor }));
    const readings = await poll(entries, POLL_MS, over.signal).catch((error: unknown) => {
      log.error("cannot read the state of jobs from its owner; retrying", {
        problem: messageOf(error),
      });
      return undefined;
    });
    if (readings !== undefined) deliver(group, readings, valueOf);
    if (readings !== undefined || over.signal.aborted) return undefined;
    return backoffMs(failures + 1, RETRY, random);
  }

  async function run(group: Group<Value>): Promise<void> {
    let failures = 0;
    while (group.feeds.size > 0 && !closed.signal.aborted) {
      const pauseMs = await round(group, failures);
      failures = pauseMs === undefined ? 0 : failures + 1;
      await clock.sleep(pauseMs ?? PACE_MS, closed.signal);
    }
    group.isRunning = false;
    groups.delete(group);
  }

  function groupWithRoom(kind: JobKind): Group<Value> {
    for (const group of groups) {
      if (group.kind === kind && group.feeds.size < jobsPerCall) return group;
    }
    const group: Group<Value> = {
      kind,
      feeds: new Map(),
      cut() {},
      isRunning: false,
      running: Promise.resolve(),
    };
    groups.add(group);
    return group;
  }

  function open(job: JobRef): { feed: Feed<Value>; group: Group<Value> } {
    const feed: Feed<Value> = { job, listeners: new Set() };
    const group = groupWithRoom(job.kind);
    group.feeds.set(job.uid, feed);
    const opened = { feed, group };
    byUid.set(job.uid, opened);
    if (group.isRunning) group.cut();
    else {
      group.isRunning = true;
      group.running = run(group);
    }
    return opened;
  }

  return {
    jobs: () => byUid.size,
    follow(job, listener) {
      const { feed, group } = byUid.get(job.uid) ?? open(job);
      feed.listeners.add(listener);
      if (feed.latest !== undefined) listener(feed.latest);
      return () => {
        feed.listeners.delete(listener);
        if (feed.listeners.size > 0 || byUid.get(job.uid)?.feed !== feed) return;
        byUid.delete(job.uid);
        group.feeds.delete(job.uid);
        if (group.feeds.size === 0) group.cut();
      };
    },
    async close() {
      closed.abort();
      for (const group of groups) group.cut();
      await Promise.all([...groups].map((group) => group.running));
    },
  };
}
