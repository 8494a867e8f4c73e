/** Jobs that one user may list: of each kind that is served, cluster-wide or in the namespaces that are read. */
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { AccessObject } from "../../platform/http/callers/reader_access.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { KubeError, messageOf, TransportError } from "../../platform/kube/errors.ts";
import {
  createServedInformer,
  type ServedInformer,
  type WatchedScope,
} from "../../platform/kube/watching/served_informer.ts";
import { servedOf } from "../../platform/kube/watching/served_kinds.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import { createPoll } from "../../platform/base/poll.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { createSwitch, type Turnable } from "../../platform/base/switch.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";
import type { UserRights } from "./user_rights.ts";

/** Namespaces that are read one by one, at most. */
const MAX_NAMESPACES = LIST_LIMITS.namespaces;
/** Between two polls of what is served, and of what the user may list, in milliseconds. */
const POLL_MS = 60_000;
/** A namespace is given up for another one when nobody has asked for it for so long: open views ask each minute. */
const UNUSED_MS = 120_000;
/** How long who asks for a namespace waits for its jobs, in milliseconds. */
const SYNC_WAIT_MS = 5_000;
/** Pages of lists that are in memory at a time. */
const PAGES_AT_A_TIME = 2;

/** The jobs of one kind, and where the user may list them. */
interface UserKind {
  readonly cache: ServedInformer<AnyJob>;
  readonly served: Turnable<WatchedScope>;
}

/** Returns the namespaces that are watched one by one. */
const watched = ({ served: { on } }: UserKind) => typeof on === "object" ? on : [];
/** Returns whether the jobs of a namespace are held, or about to be. */
const holds = (kind: UserKind, namespace: string) =>
  kind.served.on === true || watched(kind).includes(namespace);

/** Creates them; they are empty until they run. */
export function createUserJobs(options: {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly kinds: JobKinds;
  readonly rights: Pick<UserRights, "may">;
  /** Where the user may not list all: those that are read first. */
  readonly namespaces: readonly string[];
  /** Whether no others are listed, whatever the user may. Default: false. */
  readonly noOthers?: boolean;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
}) {
  const { client, clock, kinds, rights, random, noOthers = false } = options;
  const places = createSemaphore(PAGES_AT_A_TIME);
  function userKind(kind: JobKind): UserKind {
    const served = createSwitch<WatchedScope>();
    // Whether the API server is away is found out at once, and not at the next question.
    const onFailure = () => poll.wake();
    const cache = createServedInformer<AnyJob>({ client, clock, kind, places, served, onFailure });
    return { cache, served };
  }
  const userKinds = new Map(kinds.all.map((kind) => [kind, userKind(kind)]));
  const caches = new Map([...userKinds].map(([kind, { cache }]) => [kind, cache]));
  /** With the time at which somebody last asked for them. */
  const namespaces = new Map(options.namespaces.map((it) => [it, Infinity]));
  /** Whoever asked for their jobs was answered before all of them were there. */
  const slow = new Map<string, ServedInformer<AnyJob>>();
  let outage: string | undefined;
  /** Namespaces that were named, and in which the user may list no kind. */
  let denied: readonly string[] = [];
  let isRunning = false;

  /** Returns where the user may list jobs of the kind; undefined if nobody can say now. */
  async function scopeOf(kind: JobKind): Promise<WatchedScope | undefined> {
    const everywhere = !noOthers && await rights.may({ kind }, "list");
    if (everywhere !== false) return everywhere;
    const all = [...namespaces.keys()];
    const answers = await Promise.all(
      all.map((namespace) => rights.may({ kind, namespace }, "list")),
    );
    if (answers.includes(undefined)) return undefined;
    return all.filter((_, index) => answers[index]);
  }

  /** Returns the namespaces that were named, and of which no kind is held. */
  function deniedNamespaces(): string[] {
    const held = [...userKinds.values()].filter(({ cache }) => !cache.resting);
    if (held.length === 0) return [];
    return options.namespaces.filter((it) => !held.some((kind) => holds(kind, it)));
  }

  /** Returns whether all rights are known. */
  async function ask(signal: AbortSignal): Promise<boolean> {
    const served = new Set(await servedOf(client, kinds.all, signal));
    outage = undefined;
    const found = await Promise.all([...userKinds].map(async ([kind, { served: where }]) => {
      const scope = served.has(kind) && await scopeOf(kind);
      if (scope !== undefined) where.turn(scope);
      return scope;
    }));
    const isKnown = !found.includes(undefined);
    if (isKnown) denied = deniedNamespaces();
    return isKnown;
  }

  function onFailure(error: unknown): void {
    if (error instanceof KubeError && error.code === 401) {
      outage = "the API server does not accept the user's credentials any more";
    } else if (error instanceof TransportError) {
      outage = "the API server cannot be reached now: what is shown may be old";
    } else outage = `the API server cannot be asked now: ${messageOf(error)}`;
  }

  const poll = createPoll({ clock, random, everyMs: POLL_MS, ask, onFailure });

  async function run(signal: AbortSignal): Promise<void> {
    isRunning = true;
    await Promise.all([poll, ...caches.values()].map((it) => it.run(signal)));
    isRunning = false;
  }

  /** Makes room for one more namespace; false if all are in use. */
  function makeRoom(): boolean {
    if (namespaces.size < MAX_NAMESPACES) return true;
    const [oldest] = [...namespaces].sort(([, a], [, b]) => a - b);
    if (oldest === undefined || oldest[1] > clock.monotonic() - UNUSED_MS) return false;
    namespaces.delete(oldest[0]);
    for (const kind of userKinds.values()) {
      const others = watched(kind).filter((it) => it !== oldest[0]);
      if (others.length < watched(kind).length) kind.served.turn(others);
    }
    return true;
  }

  async function ensureCached({ kind, namespace }: AccessObject): Promise<boolean> {
    const [, found] = [...userKinds]
      .find(([it]) => it.group === kind.group && it.plural === kind.plural) ?? [];
    if (found === undefined || !isRunning) return false;
    const { cache, served } = found;
    if (cache.resting) return true;
    if (namespace !== undefined) {
      const lastMs = namespaces.get(namespace);
      if (lastMs === undefined && !makeRoom()) return false;
      namespaces.set(namespace, Math.max(lastMs ?? 0, clock.monotonic()));
    }
    if (namespace === undefined) served.turn(true);
    // Before it is known what the user may list, one alone would pass for all there is.
    else if (served.on === undefined) served.turn([...namespaces.keys()]);
    else if (!holds(found, namespace)) served.turn([...watched(found), namespace]);
    await answerInTime(clock, SYNC_WAIT_MS, false, (over) => cache.whenSynced(over, namespace));
    if (!cache.synced) slow.set(kind.plural, cache);
    return true;
  }

  return {
    caches,
    /** Resolves when it was asked once what is served, and what the user may list. */
    polled: poll.polled,
    /** Puts the jobs into the caches; false if that would be one namespace too many. */
    ensureCached,
    /** Returns why jobs are not here, for people. */
    missing(): readonly string[] {
      if (outage !== undefined) return [outage];
      const all = [...caches.values()];
      if (all.every(({ resting }) => resting)) {
        return ["the cluster serves none of the kinds of jobs that Milepost knows"];
      }
      for (const [plural, { synced }] of slow) if (synced) slow.delete(plural);
      return [
        ...denied.map((it) => `the user may not list jobs in ${it}`),
        ...[...slow.keys()].map((it) => `${it} are still being read`),
      ];
    },
    /** Keeps the caches until `signal` aborts. */
    run,
  };
}
