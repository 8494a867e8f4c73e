/** Jobs that one user may list: of each kind that is served, cluster-wide or in the namespaces that are looked at. */
import { z } from "zod";
import type { AnyJob, JobKind } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { AccessObject } from "../../platform/http/callers/reader_access.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import {
  isForbidden,
  isNotFound,
  KubeError,
  messageOf,
  TransportError,
} from "../../platform/kube/errors.ts";
import { createInformer } from "../../platform/kube/watching/informer.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";
import { EVERYWHERE, KindCache } from "./kind_cache.ts";
import { createLooks } from "../../platform/base/poll.ts";
import type { UserRights } from "./user_rights.ts";

/** Namespaces that are looked at one by one, at most. */
const MAX_NAMESPACES = LIST_LIMITS.namespaces;
const DEADLINE_MS = 10_000;
/** Longest list of what a group serves, in bytes. */
const MAX_BYTES = 4 << 20;
/** A namespace is given up for another one when nobody has looked at it for so long: open views ask each minute. */
const UNUSED_MS = 120_000;
/** How long who asks for a namespace waits for its jobs, in milliseconds. */
const HOLD_MS = 5_000;
/** Pages of lists that are in memory at a time. */
const PAGES_AT_A_TIME = 2;

/** Options of {@link createUserJobs}. */
export interface UserJobsOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly kinds: JobKinds;
  readonly rights: Pick<UserRights, "may">;
  /** Where the user may not list all: those that are looked at first. */
  readonly namespaces: readonly string[];
  /** Whether no others are listed, whatever the user may. Default: false. */
  readonly noOthers?: boolean;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
}

/** The jobs. */
export interface UserJobs {
  readonly caches: ReadonlyMap<JobKind, KindCache>;
  /** Takes care that jobs are held; false if that would be one namespace too many. */
  hold(object: AccessObject): Promise<boolean>;
  /** Returns why jobs are not here, for people. */
  missing(): readonly string[];
  /** Resolves when it was looked once what is served, and what the user may list. */
  readonly looked: Promise<void>;
  /** Keeps the caches until `signal` aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const resourcesSchema = z.object({ resources: z.array(z.object({ name: z.string() })) });

/** Returns the plurals of a group's version that are served. */
async function servedPlurals(
  client: Pick<KubeClient, "read">,
  apiVersion: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const bounds = { signal, deadlineMs: DEADLINE_MS, maxBytes: MAX_BYTES };
  try {
    const { text } = await client.read(`/apis/${apiVersion}`, bounds);
    const { resources } = resourcesSchema.parse(JSON.parse(text));
    return new Set(resources.map(({ name }) => name));
  } catch (error) {
    if (isNotFound(error)) return new Set();
    // Who may not ask is told by the lists themselves.
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Creates them; they are empty until they run. */
export function createUserJobs(options: UserJobsOptions): UserJobs {
  const { client, clock, kinds, rights, random, noOthers = false } = options;
  const places = createSemaphore(PAGES_AT_A_TIME);
  const informerOf = (kind: JobKind) => (place: string) =>
    createInformer<AnyJob>({
      client,
      clock,
      kind,
      places,
      // Whether the API server is away is found out at once, and not at the next look.
      onFailure: () => looks.again(),
      ...(place !== EVERYWHERE && { namespace: place }),
    });
  const caches = new Map(
    kinds.all.map((kind) => [kind, new KindCache(kind.kind, informerOf(kind))]),
  );
  /** With the time at which somebody last looked at them. */
  const namespaces = new Map(options.namespaces.map((it) => [it, Infinity]));
  /** Whoever asked for their jobs was answered before all of them were there. */
  const slow = new Map<string, KindCache>();
  let outage: string | undefined;
  /** Namespaces that were named, and in which the user may list no kind. */
  let denied: readonly string[] = [];
  let isRunning = false;

  /** Returns where the user may list jobs of the kind; undefined if nobody can say now. */
  async function placesOf(kind: JobKind): Promise<string[] | undefined> {
    const everywhere = !noOthers && await rights.may({ kind }, "list");
    if (everywhere !== false) return everywhere && [EVERYWHERE];
    const all = [...namespaces.keys()];
    const answers = await Promise.all(
      all.map((namespace) => rights.may({ kind, namespace }, "list")),
    );
    if (answers.includes(undefined)) return undefined;
    return all.filter((_, index) => answers[index]);
  }

  async function lookAt(
    kind: JobKind,
    cache: KindCache,
    served: ReadonlySet<string> | undefined,
  ): Promise<boolean> {
    cache.resting = served !== undefined && !served.has(kind.plural);
    const found = cache.resting ? [] : await placesOf(kind);
    if (found !== undefined) cache.set(found);
    return found !== undefined;
  }

  /** Returns the namespaces that were named, and of which no kind is held. */
  function deniedNamespaces(): string[] {
    const held = [...caches.values()].filter(({ resting }) => !resting);
    if (held.length === 0) return [];
    return options.namespaces.filter((it) => !held.some((cache) => cache.has(it)));
  }

  /** Returns whether all could be asked. */
  async function look(signal: AbortSignal): Promise<boolean> {
    try {
      const versions = [...new Set(kinds.all.map(({ apiVersion }) => apiVersion))];
      const served = new Map(
        await Promise.all(
          versions.map(async (it) => [it, await servedPlurals(client, it, signal)] as const),
        ),
      );
      const looks = [...caches].map(([kind, cache]) =>
        lookAt(kind, cache, served.get(kind.apiVersion))
      );
      outage = undefined;
      const isKnown = (await Promise.all(looks)).every((it) => it);
      if (isKnown) denied = deniedNamespaces();
      return isKnown;
    } catch (error) {
      if (signal.aborted) return true;
      if (error instanceof KubeError && error.code === 401) {
        outage = "the API server does not accept the user's credentials any more";
      } else if (error instanceof TransportError) {
        outage = "the API server cannot be reached now: what is shown may be old";
      } else outage = `the API server cannot be asked now: ${messageOf(error)}`;
      return false;
    }
  }

  const looks = createLooks({ clock, random, look });

  async function run(signal: AbortSignal): Promise<void> {
    isRunning = true;
    await looks.run(signal);
    isRunning = false;
    await Promise.all([...caches.values()].map((it) => it.close()));
  }

  /** Makes room for one more namespace; false if all are looked at. */
  function makeRoom(): boolean {
    if (namespaces.size < MAX_NAMESPACES) return true;
    const [oldest] = [...namespaces].sort(([, a], [, b]) => a - b);
    if (oldest === undefined || oldest[1] > clock.monotonic() - UNUSED_MS) return false;
    namespaces.delete(oldest[0]);
    for (const cache of caches.values()) cache.remove(oldest[0]);
    return true;
  }

  async function hold({ kind, namespace = EVERYWHERE }: AccessObject): Promise<boolean> {
    const found = [...caches].find(([it]) => it.group === kind.group && it.plural === kind.plural);
    const cache = found?.[1];
    if (cache === undefined || !isRunning) return false;
    if (namespace !== EVERYWHERE) {
      const lastMs = namespaces.get(namespace);
      if (lastMs === undefined && !makeRoom()) return false;
      namespaces.set(namespace, Math.max(lastMs ?? 0, clock.monotonic()));
    }
    if (namespace === EVERYWHERE) cache.set([EVERYWHERE]);
    else if (!cache.has(namespace)) cache.add(namespace);
    const over = new AbortController();
    const held = cache.whenHeld(namespace, over.signal).finally(() => over.abort());
    await clock.sleep(HOLD_MS, over.signal);
    over.abort();
    await held;
    if (!cache.synced) slow.set(kind.plural, cache);
    return true;
  }

  return {
    caches,
    looked: looks.looked,
    hold,
    missing() {
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
    run,
  };
}
