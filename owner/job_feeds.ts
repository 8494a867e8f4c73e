/** Feeds of the jobs that streams of this replica follow: one feed a job, many jobs a call to the owner. */
import type { JobKind, JobRef } from "../crds/job_kind.ts";
import { getLogger } from "@logtape/logtape";
import { backoffMs } from "../platform/base/backoff.ts";
import type { Clock } from "../platform/base/clock.ts";
import { createListeners, type Listeners } from "../platform/base/listeners.ts";
import { messageOf } from "../platform/kube/errors.ts";
import type { JobVersion, PollOwner } from "./owner_poll.ts";

/** Options of {@link createJobFeeds}. */
export interface JobFeedsOptions<State extends JobVersion, Value> {
  readonly poll: PollOwner<State>;
  /** Returns what subscribers get of a state; undefined: nothing. */
  readonly select: (state: State) => Value | undefined;
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  /** Jobs of one call. Default 500. */
  readonly jobsPerCall?: number;
}

/** Feeds by job. */
export interface JobFeeds<Value> {
  /** Calls the listener with the job's value and each newer one. Returns a function that stops this. */
  follow(job: JobRef, listener: (value: Value) => void): () => void;
  /** Returns the number of jobs that are followed. */
  jobs(): number;
  /** Ends every feed; resolves when nothing runs any more. */
  close(): Promise<void>;
}

/** Longest time for which the owner waits for news, in milliseconds. */
const POLL_MS = 10_000;
/** Shortest time between two calls of a group, in milliseconds: news that come together go together. */
const PACE_MS = 50;
/** Pauses after calls without an answer. */
const RETRY = { firstMs: 200, longestMs: 4000 } as const;

interface Feed<Value> {
  readonly job: JobRef;
  readonly listeners: Listeners<Value>;
  cursor?: string;
  latest?: Value;
}

/** Jobs of one kind that are asked for by one call at a time. */
interface Group<Value> {
  readonly kind: JobKind;
  /** By UID; those that had news last stand last. */
  readonly feeds: Map<string, Feed<Value>>;
  /** Breaks off the call under way: a job was added, or no subscriber is left. */
  cut: () => void;
  isRunning: boolean;
  running: Promise<void>;
}

/** Passes the news of an answer on; jobs with news go to the end of the line. */
function deliver<State extends JobVersion, Value>(
  group: Group<Value>,
  states: readonly State[],
  select: JobFeedsOptions<State, Value>["select"],
): void {
  for (const state of states) {
    const { uid, cursor } = state;
    const feed = group.feeds.get(uid);
    if (feed === undefined) continue;
    feed.cursor = cursor;
    group.feeds.delete(uid);
    group.feeds.set(uid, feed);
    const value = select(state);
    if (value === undefined) continue;
    feed.latest = value;
    feed.listeners.notify(value);
  }
}

/** Creates {@link JobFeeds}; nothing runs without a subscriber. */
export function createJobFeeds<State extends JobVersion, Value>(
  options: JobFeedsOptions<State, Value>,
): JobFeeds<Value> {
  const { poll, select, clock, random = Math.random, jobsPerCall = 500 } = options;
  const log = getLogger(["milepost", "http"]);
  const groups = new Set<Group<Value>>();
  const byUid = new Map<string, { readonly feed: Feed<Value>; readonly group: Group<Value> }>();
  const closed = new AbortController();

  /** Makes one call. Returns how long to pause after it. */
  async function round(group: Group<Value>, failures: number): Promise<number | undefined> {
    const over = new AbortController();
    group.cut = () => over.abort();
    const entries = [...group.feeds.values()].map(({ job, cursor }) => ({ job, cursor }));
    const states = await poll(entries, POLL_MS, over.signal).catch((error: unknown) => {
      log.error("cannot read the state of jobs from its owner; retrying", {
        problem: messageOf(error),
      });
      return undefined;
    });
    if (states !== undefined) deliver(group, states, select);
    if (states !== undefined || over.signal.aborted) return undefined;
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
    const feed: Feed<Value> = { job, listeners: createListeners() };
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
      const remove = feed.listeners.add(listener);
      if (feed.latest !== undefined) listener(feed.latest);
      return () => {
        remove();
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
