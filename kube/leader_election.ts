/** Lease-based leader election, fenced by the local monotonic clock (docs/decisions/0040). */
import { getLogger } from "@logtape/logtape";
import type { KubeClient } from "./client.ts";
import { rfc3339Micro } from "../crds/timestamps.ts";
import { type Clock, systemClock } from "./clock.ts";
import { isAlreadyExists, isConflict, messageOf } from "./errors.ts";
import { LEASE_KIND, type LeaseObject } from "./lease_object.ts";
import { getOrUndefined } from "./upsert.ts";
import { DEFAULT_TIMES, electionTimesProblem, RETRY_JITTER } from "./election_times.ts";

/** A candidate for leadership. */
export interface LeaderElector {
  /**
   * Whether this one leads and has renewed within the renew deadline. Ask before each act of a leader.
   * It stays true until the work has ended, also after `run` was aborted.
   */
  readonly leading: boolean;
  /** Identity of the leader, as last seen. */
  readonly leader: string | undefined;
  /**
   * The highest number of the lease's changes of hands that was seen: a fence. It never falls, also if the
   * Lease is deleted.
   */
  readonly transitions: number;
  /** The lease as last seen: its annotations say what its holder wants others to know. */
  readonly lease: LeaseObject | undefined;
  /** Makes a candidate read the Lease now, because a request found no leader; at most every 200 ms. */
  refresh(): void;
  /** Competes until `signal` aborts, then releases the lease. Call it once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createLeaderElector}. */
export interface LeaderElectorOptions {
  client: Pick<KubeClient, "get" | "create" | "replace">;
  namespace: string;
  /** Name of the Lease. */
  name: string;
  /** Identity of this candidate, unique to this process. */
  identity: string;
  /** Put on the Lease by its holder. */
  annotations?: Readonly<Record<string, string>>;
  /**
   * Work of the leader; its signal aborts when the lease is lost or the process stops. When the work ends
   * by itself, the lease is released.
   */
  onStarted: (signal: AbortSignal) => Promise<void>;
  /** Called when the lease was lost or released and the work has ended. */
  onStopped?: () => void;
  /** Called when another leader was seen. */
  onLeader?: (identity: string) => void;
  clock?: Clock;
  random?: () => number;
  /** Time without a renewal after which any candidate may take the Lease, in milliseconds. Default 15000. */
  leaseMs?: number;
  /** After this long without a renewal the leader stops. Below `leaseMs`. Default 10000. */
  renewMs?: number;
  /** Time between attempts, plus up to a fifth. Default 2000. */
  retryMs?: number;
}

const logger = getLogger(["milepost", "kube", "leader_election"]);

const OPTION_NAMES = { leaseMs: "leaseMs", renewMs: "renewMs", retryMs: "retryMs" } as const;

/** A Lease as it was read, with the local time: the holder's own times are not used. */
interface Observation {
  readonly record: string;
  readonly at: number;
}

/** Deadline of each of the two calls that release the lease. */
const RELEASE_DEADLINE_MS = 750;
/** Least time between two reads that {@link LeaderElector.refresh} asks for. */
const REFRESH_EVERY_MS = 200;

/** A candidate; it competes with {@link LeaderElector.run}. */
export function createLeaderElector(options: LeaderElectorOptions): LeaderElector {
  const { client, namespace, name, identity, onStarted, onStopped, onLeader } = options;
  const { clock = systemClock, random = Math.random, annotations = {} } = options;
  const { leaseMs, renewMs, retryMs } = { ...DEFAULT_TIMES, ...options };
  const problem = electionTimesProblem({ leaseMs, renewMs, retryMs }, OPTION_NAMES);
  if (problem !== undefined) throw new RangeError(`leader election: ${problem}`);
  let observed: Observation | undefined;
  let renewedAt = -Infinity;
  let held = false;
  let leader: string | undefined;
  let transitions = 0;
  let seen: LeaseObject | undefined;
  /** While the Lease is gone: when whoever held it has stopped leading. */
  let goneUntil: number | undefined;
  let wake: AbortController | undefined;
  let readAt = -Infinity;

  const fresh = () => clock.monotonic() - renewedAt < renewMs;

  /** The lease duration, as last seen and at least its own, in milliseconds. */
  const durationMs = () => Math.max((seen?.spec?.leaseDurationSeconds ?? 0) * 1000, leaseMs);

  /**
   * Notes that the Lease is gone. Its holder renewed it last before this, and leads for less than one
   * lease duration from now on, unless it puts the Lease back.
   */
  function observeGone(): void {
    if (goneUntil !== undefined) return;
    goneUntil = clock.monotonic() + durationMs();
    if (!held) {
      logger.warn("found no Lease; waiting because its holder may still lead", { namespace, name });
    }
  }

  function observe(lease: LeaseObject): void {
    const holder = lease.spec?.holderIdentity || undefined;
    if (holder !== undefined) goneUntil = undefined;
    else if (seen !== undefined && seen.metadata?.uid !== lease.metadata?.uid) observeGone();
    const record = JSON.stringify(lease.spec ?? {});
    if (observed?.record !== record) observed = { record, at: clock.monotonic() };
    transitions = Math.max(transitions, lease.spec?.leaseTransitions ?? 0);
    seen = lease;
    if (holder === leader) return;
    leader = holder;
    if (holder !== undefined) onLeader?.(holder);
  }

  /** The lease as this one would hold it. If there is none, it is put back as it was last seen. */
  function claim(old: LeaseObject | undefined): LeaseObject {
    const now = rfc3339Micro(clock.now());
    const isRenewal = held || (goneUntil === undefined && leader === identity);
    const { labels, annotations: others } = seen?.metadata ?? {};
    return {
      metadata: {
        ...(old?.metadata ?? (labels && { labels })),
        name,
        namespace,
        annotations: { ...others, ...annotations },
      },
      spec: {
        ...seen?.spec,
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseMs / 1000),
        acquireTime: isRenewal ? seen?.spec?.acquireTime ?? now : now,
        renewTime: now,
        leaseTransitions: isRenewal ? transitions : transitions + 1,
      },
    };
  }

  /** Milliseconds for which another one still holds the lease, or may; 0 if it can be taken. */
  function takenForMs(): number {
    if (goneUntil !== undefined) {
      return held && fresh() ? 0 : Math.max(0, goneUntil - clock.monotonic());
    }
    if (leader === undefined || leader === identity) return 0;
    return Math.max(0, (observed?.at ?? 0) + durationMs() - clock.monotonic());
  }

  /** Takes or renews the lease. The time counts from before the request was sent. */
  async function attempt(signal: AbortSignal, deadlineMs: number): Promise<boolean> {
    const began = clock.monotonic();
    const bounds = { signal, deadlineMs, honorRetryAfter: false };
    const old = await getOrUndefined(client, LEASE_KIND, { namespace, name }, bounds);
    if (old === undefined) observeGone();
    else observe(old);
    if (takenForMs() > 0) return false;
    const next = claim(old);
    observe(
      old === undefined
        ? await client.create(LEASE_KIND, next, bounds)
        : await client.replace(LEASE_KIND, next, bounds),
    );
    renewedAt = began;
    return true;
  }

  async function attemptOrLog(signal: AbortSignal, deadlineMs: number): Promise<boolean> {
    try {
      return await attempt(signal, deadlineMs);
    } catch (error) {
      const race = isConflict(error) || isAlreadyExists(error);
      if (!signal.aborted && !race) {
        logger.warn("cannot take or renew the lease", { namespace, name, error: messageOf(error) });
      }
      return false;
    }
  }

  const pause = (signal: AbortSignal, atMostMs = Infinity) =>
    clock.sleep(Math.min(atMostMs, retryMs) * (1 + RETRY_JITTER * random()), signal);

  async function acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      readAt = clock.monotonic();
      if (await attemptOrLog(signal, Math.min(renewMs, 2 * retryMs))) return true;
      wake = new AbortController();
      // A candidate reads twice as often as the holder renews, and when the lease ends: so a dead
      // holder is replaced within the lease and one retry period.
      const endsInMs = takenForMs() || Infinity;
      await pause(AbortSignal.any([signal, wake.signal]), Math.min(retryMs / 2, endsInMs));
      wake = undefined;
    }
    return false;
  }

  /** Returns when the lease is lost or `signal` aborts. */
  async function keep(signal: AbortSignal): Promise<void> {
    const left = () => renewedAt + renewMs - clock.monotonic();
    for (;;) {
      await clock.sleep(Math.min(left(), retryMs * (1 + RETRY_JITTER * random())), signal);
      if (signal.aborted || left() <= 0) return;
      const renewed = await attemptOrLog(signal, left());
      if (!renewed && (!fresh() || leader !== identity)) return;
    }
  }

  async function release(): Promise<void> {
    const signal = new AbortController().signal;
    const bounds = { signal, deadlineMs: RELEASE_DEADLINE_MS, honorRetryAfter: false };
    try {
      const lease = await client.get(LEASE_KIND, { namespace, name }, bounds);
      if (lease.spec?.holderIdentity !== identity) return;
      const spec = { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1 };
      await client.replace(LEASE_KIND, { ...lease, spec }, bounds);
      leader = undefined;
    } catch (error) {
      logger.warn("cannot release the lease", { namespace, name, error: messageOf(error) });
    }
  }

  async function lead(signal: AbortSignal): Promise<void> {
    const term = new AbortController();
    held = true;
    logger.info("leading", { namespace, name, identity, transitions });
    const ended = new AbortController();
    const work = (async () => await onStarted(term.signal))().catch((error) => {
      logger.error("the work of the leader failed", { namespace, name, error });
    }).finally(() => ended.abort());
    await keep(AbortSignal.any([signal, ended.signal]));
    const releases = signal.aborted || ended.signal.aborted;
    // The last writes of a leader that releases its lease are still a leader's.
    if (!releases) held = false;
    term.abort(new Error("no longer the leader"));
    await work;
    held = false;
    if (releases) await release();
    logger.info("stopped leading", { namespace, name, identity });
    onStopped?.();
    if (releases) await pause(signal);
  }

  return {
    get leading() {
      return held && fresh();
    },
    get leader() {
      return leader;
    },
    get transitions() {
      return transitions;
    },
    get lease() {
      return seen;
    },
    refresh() {
      if (clock.monotonic() - readAt >= REFRESH_EVERY_MS) wake?.abort();
    },
    async run(signal) {
      while (await acquire(signal)) await lead(signal);
    },
  };
}
