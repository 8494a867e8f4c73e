/** Lease-based leader election, fenced by the local monotonic clock (docs/decisions/0014). */
import { getLogger } from "@logtape/logtape";
import type { KubeClient } from "../client.ts";
import { systemClock } from "../../base/clock.ts";
import { aborted } from "../../base/aborted.ts";
import { createSleeper } from "../../base/sleeper.ts";
import { isAlreadyExists, isConflict, KubeError, messageOf, TransportError } from "../errors.ts";
import { FencedError } from "./fence.ts";
import { KUBERNETES_KINDS } from "../kubernetes_kinds.ts";
import { LeaseView, type LeaseViewOptions } from "./lease_view.ts";
import { getOrUndefined } from "../upsert.ts";
import {
  DEFAULT_TIMES,
  type ElectionTimes,
  electionTimesProblem,
  RETRY_JITTER,
} from "./election_times.ts";

/** Options of {@link createLeaderElector}. */
export interface LeaderElectorOptions
  extends
    Pick<LeaseViewOptions, "namespace" | "name" | "identity" | "onLeader">,
    Partial<Pick<LeaseViewOptions, "annotations" | "clock">>,
    Partial<ElectionTimes> {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  /**
   * Work of the leader; its signal aborts when the lease is lost or the process stops. When the work ends
   * by itself, the lease is released.
   */
  readonly onStarted: (signal: AbortSignal) => Promise<void>;
  /** Called when the lease was lost or released and the work has ended. */
  readonly onStopped?: () => void;
  readonly random?: () => number;
}

const LEASE = KUBERNETES_KINDS.lease;
const logger = getLogger(["milepost", "kube", "leader_election"]);

/** Bounds of an attempt to take or to renew the lease. */
interface AttemptBounds {
  readonly signal: AbortSignal;
  /** For all of its calls, in milliseconds. */
  readonly deadlineMs: number;
}

const OPTION_NAMES = { leaseMs: "leaseMs", renewMs: "renewMs", retryMs: "retryMs" } as const;

/** Deadline of each of the two calls that release the lease. */
const RELEASE_DEADLINE_MS = 750;
/** Share of the renew deadline that one call may take: an answer that is lost leaves time for another call. */
const CALL_SHARE = 0.5;
/** Least time between two reads that `refresh` asks for. */
const REFRESH_EVERY_MS = 200;

/** A candidate; it competes with `run`. */
export function createLeaderElector(options: LeaderElectorOptions) {
  const { client, namespace, name, identity, onStarted, onStopped, onLeader } = options;
  const { clock = systemClock, random = Math.random, annotations = {} } = options;
  const { leaseMs, renewMs, retryMs } = { ...DEFAULT_TIMES, ...options };
  const problem = electionTimesProblem({ leaseMs, renewMs, retryMs }, OPTION_NAMES);
  if (problem !== undefined) throw new RangeError(`leader election: ${problem}`);
  const view = new LeaseView({ namespace, name, identity, annotations, leaseMs, clock, onLeader });
  let renewedAt = -Infinity;
  let held = false;
  let term = AbortSignal.abort(new FencedError());
  /** Whether the last attempt failed: connections that are kept open may be dead. */
  let newConnection = false;
  /** Whether the last attempt that failed was refused by an answer. */
  let isAnswered = false;
  const sleeper = createSleeper(clock);
  let readAt = -Infinity;

  /** Milliseconds until a leader that does not renew must have stopped. */
  const leftMs = () => renewedAt + renewMs - clock.monotonic();
  const fresh = () => leftMs() > 0;
  const takenForMs = () => view.takenForMs({ held, fresh: fresh() });

  /** Takes or renews the lease within one deadline. The time counts from before the request was sent. */
  async function attempt({ signal, deadlineMs }: AttemptBounds): Promise<boolean> {
    const began = clock.monotonic();
    const bounds = () => {
      const left = began + deadlineMs - clock.monotonic();
      if (left <= 0) throw new TransportError(`not done within ${deadlineMs} ms`);
      const longest = Math.min(renewMs * CALL_SHARE, left);
      return { signal, newConnection, deadlineMs: longest, honorRetryAfter: false };
    };
    const old = await getOrUndefined(client, LEASE, { namespace, name }, bounds());
    signal.throwIfAborted();
    if (old === undefined) view.observeGone(held);
    else view.observe(old, held);
    if (takenForMs() > 0) return false;
    const next = view.claim(old, held);
    const written = old === undefined
      ? await client.create(LEASE, next, bounds())
      : await client.replace(LEASE, next, bounds());
    signal.throwIfAborted();
    view.observe(written, held);
    renewedAt = began;
    return true;
  }

  async function attemptOrLog(bounds: AttemptBounds): Promise<boolean> {
    const { signal } = bounds;
    try {
      const isHeld = await attempt(bounds);
      newConnection = false;
      return isHeld;
    } catch (error) {
      const race = isConflict(error) || isAlreadyExists(error);
      newConnection = !race;
      isAnswered = error instanceof KubeError;
      if (!signal.aborted && !race) {
        logger.warn("cannot take or renew the lease", { namespace, name, error: messageOf(error) });
      }
      return false;
    }
  }

  const pauseMs = (atMostMs = retryMs) => atMostMs * (1 + RETRY_JITTER * random());

  async function acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      readAt = clock.monotonic();
      if (await attemptOrLog({ signal, deadlineMs: Math.min(renewMs, 2 * retryMs) })) return true;
      // A candidate reads twice as often as the holder renews, and when the lease ends: so a dead
      // holder is replaced within the lease and one retry period.
      const endsInMs = takenForMs() || Infinity;
      await sleeper.sleep(pauseMs(Math.min(retryMs / 2, endsInMs)), signal);
    }
    return false;
  }

  /** Renews until the lease is lost or `signal` aborts. */
  async function keep(signal: AbortSignal): Promise<void> {
    let restMs = pauseMs();
    for (;;) {
      await clock.sleep(Math.min(leftMs(), restMs), signal);
      if (signal.aborted || !fresh()) return;
      const began = clock.monotonic();
      const renewed = await attemptOrLog({ signal, deadlineMs: leftMs() });
      if (!renewed && (!fresh() || view.leader !== identity)) return;
      // The time in which no answer came was the rest: the next attempt begins at once. Who refuses has a whole one.
      const restedMs = renewed || isAnswered ? 0 : clock.monotonic() - began;
      restMs = Math.max(0, pauseMs() - restedMs);
    }
  }

  /** Aborts the term when it was not renewed in time, whatever its calls do. */
  async function endInTime(over: AbortController): Promise<void> {
    while (!over.signal.aborted) {
      if (!fresh()) return over.abort(new Error("the Lease was not renewed in time"));
      await clock.sleep(leftMs(), over.signal);
    }
  }

  async function release(): Promise<void> {
    const signal = new AbortController().signal;
    const bounds = {
      signal,
      newConnection,
      deadlineMs: RELEASE_DEADLINE_MS,
      honorRetryAfter: false,
    };
    try {
      const lease = await client.get(LEASE, { namespace, name }, bounds);
      if (lease.spec?.holderIdentity !== identity) return;
      const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
      await client.replace(LEASE, { ...lease, spec }, bounds);
      view.leader = undefined;
    } catch (error) {
      logger.warn("cannot release the lease", { namespace, name, error: messageOf(error) });
    }
  }

  async function lead(signal: AbortSignal): Promise<void> {
    const working = new AbortController();
    const over = new AbortController();
    held = true;
    term = over.signal;
    logger.info("leading", { namespace, name, identity, transitions: view.transitions });
    const ended = new AbortController();
    const work = (async () => await onStarted(working.signal))().catch((error) => {
      logger.error("the work of the leader failed", { namespace, name, error });
    }).finally(() => ended.abort());
    const ending = endInTime(over);
    const last = AbortSignal.any([signal, ended.signal, over.signal]);
    await Promise.race([keep(last), aborted(over.signal)]);
    const releases = signal.aborted || ended.signal.aborted;
    // The last writes of a leader that releases its lease are still a leader's.
    if (!releases) held = false;
    const lost = new Error("no longer the leader");
    if (!releases) over.abort(lost);
    working.abort(lost);
    await work;
    held = false;
    over.abort(new Error("the term has ended"));
    await ending;
    if (releases) await release();
    logger.info("stopped leading", { namespace, name, identity });
    onStopped?.();
    if (releases) await clock.sleep(pauseMs(), signal);
  }

  return {
    /**
     * Whether this one leads and has renewed within the renew deadline. Ask before each act of a leader.
     * It stays true until the work has ended, also after `run` was aborted.
     */
    get leading(): boolean {
      return held && fresh();
    },
    /**
     * Aborts when all calls of the term that runs now have to have ended: when the renew deadline has passed, or
     * the work has ended. Aborted while no term runs.
     */
    get term(): AbortSignal {
      return term;
    },
    /** The Lease as last seen: its annotations say what its holder wants others to know. */
    view,
    /** Makes a candidate read the Lease now, because a request found no leader; at most every 200 ms. */
    refresh(): void {
      if (clock.monotonic() - readAt >= REFRESH_EVERY_MS) sleeper.wake();
    },
    /** Competes until `signal` aborts, then releases the lease. Call it once. */
    async run(signal: AbortSignal): Promise<void> {
      while (await acquire(signal)) await lead(signal);
    },
  };
}

/** A candidate for leadership. */
export type LeaderElector = ReturnType<typeof createLeaderElector>;
