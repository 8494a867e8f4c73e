/** Feeds of the jobs that streams of this replica follow: one feed a job, many jobs a call to the owner. */
import type { JobRef } from "../crds/job_kind.ts";
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../platform/base/clock.ts";
import { messageOf } from "../platform/kube/errors.ts";
import {
  type FollowedJob,
  followedJob,
  FollowedJobs,
  type Known,
  listen,
  type Outage,
} from "./followed_group.ts";
import type { JobVersion, PollOwner } from "./owner_poll.ts";

/** Feeds by job. */
export type JobFeeds<Value> = ReturnType<typeof createJobFeeds<JobVersion, Value>>;

/** Longest time for which the owner waits for news, in milliseconds. */
const POLL_MS = 10_000;
/** Shortest time between two calls, in milliseconds: news that come together go together. */
const PACE_MS = 50;
/** Pauses after calls without an answer. */
const RETRY = { firstMs: 200, longestMs: 4000 } as const;

const NO_OWNER: Outage = { reason: "no replica owns the status of jobs right now" };

/** Creates {@link JobFeeds}; nothing runs without a subscriber. */
export function createJobFeeds<State extends JobVersion, Value>(
  { poll, valueAfter, clock, random = Math.random, jobsPerCall = 500 }: {
    readonly poll: PollOwner<State>;
    /** Returns what subscribers get of a state, after what they had; undefined: nothing. */
    readonly valueAfter: (state: State, before: Value | undefined) => Value | undefined;
    readonly clock: Clock;
    /** 0 to 1. Default `Math.random`. */
    readonly random?: () => number;
    /** Jobs of one call. Default 500. */
    readonly jobsPerCall?: number;
  },
) {
  const log = getLogger(["milepost", "http"]);
  type Group = FollowedJobs<Value>;
  const groups = new Set<Group>();
  const byUid = new Map<string, { readonly feed: FollowedJob<Value>; readonly group: Group }>();
  const closed = new AbortController();

  /** Asks for the jobs as they are followed now, and passes the answer on to these. Returns whether there was one. */
  async function ask(group: Group, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const asked = group.all;
    const entries = asked.map(({ job, cursor }) => ({ job, cursor }));
    const states = await poll(entries, waitMs, signal).catch((error: unknown) => {
      log.error("cannot read the state of jobs from its owner; retrying", {
        problem: messageOf(error),
      });
      return undefined;
    });
    // A job that was left and is followed anew has no part in it: its cursor is another one.
    const feeds = new Map(asked.map((it) => [it.job.uid, it]));
    for (const state of states ?? []) {
      const feed = feeds.get(state.uid);
      if (feed === undefined) continue;
      feed.cursor = state.cursor;
      group.keep(feed, valueAfter(state, feed.value) ?? feed.value);
    }
    return states !== undefined;
  }

  async function open(group: Group, signal: AbortSignal): Promise<Outage> {
    // The first answer comes at once, so that the end of an outage is told.
    for (let waitMs = 0; !signal.aborted; waitMs = POLL_MS) {
      if (!await ask(group, waitMs, signal)) break;
      group.heard();
      group.setOutage(undefined);
      await clock.sleep(PACE_MS, signal);
    }
    return NO_OWNER;
  }

  function groupWithRoom(): Group {
    for (const group of groups) if (group.size < jobsPerCall) return group;
    const group = new FollowedJobs<Value>({
      open,
      clock,
      random,
      signal: closed.signal,
      togetherMs: 0,
      openEveryMs: PACE_MS,
      goodMs: 0,
      retry: RETRY,
    });
    groups.add(group);
    return group;
  }

  function opened(job: JobRef) {
    const followed = { feed: followedJob<Value>(job), group: groupWithRoom() };
    byUid.set(job.uid, followed);
    followed.group.add(followed.feed);
    return followed;
  }

  return {
    /** Returns the number of jobs that are followed. */
    jobs: (): number => byUid.size,
    /** Calls the listener with what is known of the job, if anything is, and with each change of that. Returns a function that stops this. */
    follow(job: JobRef, listener: (known: Known<Value>) => void): () => void {
      const { feed, group } = byUid.get(job.uid) ?? opened(job);
      const remove = listen(feed, group.knownOf(feed), listener);
      return () => {
        remove();
        if (feed.listeners.size > 0 || byUid.get(job.uid)?.feed !== feed) return;
        byUid.delete(job.uid);
        group.remove(feed);
        if (group.size > 0) return;
        void group.ended.then(() => group.size === 0 && groups.delete(group));
      };
    },
    /** Ends every feed; resolves when nothing runs any more. */
    async close(): Promise<void> {
      closed.abort();
      await Promise.all([...groups].map((group) => group.ended));
    },
  };
}
