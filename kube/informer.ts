/** A cache of all objects of a kind, kept current by list and watch. */
import { getLogger } from "@logtape/logtape";
import { LRUCache } from "lru-cache";
import type { KubeClient, ListProblem, ListResult, WatchEvent } from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import { isGone, messageOf } from "./errors.ts";
import { createGate } from "./gate.ts";
import { type Change, createInformerCache } from "./informer_cache.ts";
import {
  formatKey,
  keyOf,
  type KubeObject,
  type ObjectKey,
  type ResourceKind,
} from "./resource.ts";
import {
  failuresOf,
  FIRST_STATE,
  retryDelayMs,
  step,
  type WatchOutcome,
  type WatchState,
} from "./watch_state.ts";

export type { Change } from "./informer_cache.ts";

/**
 * A cache of one kind. Its objects are frozen and lack `metadata.managedFields`: copy before you
 * change one.
 */
export interface Informer<T> {
  get(key: ObjectKey | string): T | undefined;
  list(namespace?: string): T[];
  /** Objects for which the index function of that name gave `value`. Throws for an unknown index. */
  byIndex(index: string, value: string): T[];
  /** Whether the first list is in the cache and was delivered to the listeners. */
  readonly synced: boolean;
  /** Resolves with true when synced, with false when `signal` aborts or the informer stops before. */
  whenSynced(signal?: AbortSignal): Promise<boolean>;
  /**
   * Calls the listener for every change after the cache has it; what is there already comes as
   * `added` at once. Answers a function that ends this. A listener that throws is logged.
   */
  onChange(listener: (change: Change<T>) => void): () => void;
  /** Runs until `signal` aborts, whatever the server does. May be called once. */
  run(signal: AbortSignal): Promise<void>;
}

/** Options of {@link createInformer}. */
export interface InformerOptions<T> {
  client: KubeClient;
  kind: ResourceKind<T>;
  /** Without it: all namespaces. */
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
  /** Values under which an object is found, by the name of the index. */
  indexes?: Record<string, (object: T) => string[]>;
  clock?: Clock;
  /** A number from 0 up to 1. Default `Math.random`. */
  random?: () => number;
  /** Told each time the watch has to begin again by a list, with the cause. */
  onRestart?: (cause: string) => void;
  /** Objects a page of a list. Default 500. */
  pageSize?: number;
  /** A watch on which nothing came for this long is begun anew, in milliseconds. Default 180000. */
  idleMs?: number;
}

const PAGE_SIZE = 500;
const IDLE_MS = 180_000;
/** The server is asked to end a watch after a time between these, so that not all end at once. */
const WATCH_SECONDS = { least: 300, most: 600 } as const;
/** A watch that ends sooner without news did not work. */
const SHORT_WATCH_MS = 1000;
/** How many objects that cannot be read are remembered, so that each is logged once. */
const REMEMBERED_PROBLEMS = 1000;

const logger = getLogger(["milepost", "kube", "informer"]);

/** The parser without what nobody reads and what fills memory: `managedFields`. */
function lean<T>(kind: ResourceKind<T>): ResourceKind<T> {
  return { ...kind, parse: (value) => kind.parse(withoutManagedFields(value)) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function withoutManagedFields(value: unknown): unknown {
  if (!isRecord(value) || !isRecord(value.metadata)) return value;
  const { managedFields: _, ...metadata } = value.metadata;
  return { ...value, metadata };
}

/** An informer; it starts with {@link Informer.run}. */
export function createInformer<T extends KubeObject>(options: InformerOptions<T>): Informer<T> {
  const { client, clock = systemClock, random = Math.random, indexes = {} } = options;
  const { namespace, labelSelector, fieldSelector, pageSize = PAGE_SIZE, onRestart } = options;
  const kind = lean(options.kind);
  const selection = { namespace, labelSelector, fieldSelector };
  const cache = createInformerCache<T>(indexes);
  const listeners = new Set<(change: Change<T>) => void>();
  const problems = new LRUCache<string, string>({ max: REMEMBERED_PROBLEMS });
  const gate = createGate();
  let started = false;

  function logListener(error: unknown): void {
    logger.error("a listener failed", { kind: kind.kind, error });
  }

  function tell(listener: (change: Change<T>) => void, change: Change<T>): void {
    try {
      // A listener may well be an async function, whatever its type says.
      const result: unknown = listener(change);
      if (result instanceof Promise) result.catch(logListener);
    } catch (error) {
      logListener(error);
    }
  }

  function deliver(changes: readonly Change<T>[]): void {
    for (const change of changes) {
      for (const listener of [...listeners]) tell(listener, change);
    }
  }

  function noteProblem({ key, problem }: ListProblem): void {
    if (problems.get(key) === problem) return;
    problems.set(key, problem);
    logger.warn("an object cannot be read and is left out", { kind: kind.kind, key, problem });
  }

  /** All pages. A continue token that is too old makes it one page. */
  async function listAll(signal: AbortSignal): Promise<ListResult<T>> {
    const all: ListResult<T> = { items: [], resourceVersion: "", problems: [] };
    let token: string | undefined;
    do {
      try {
        const page = await client.list(kind, {
          ...selection,
          limit: pageSize,
          continue: token,
          signal,
        });
        all.items.push(...page.items);
        all.problems.push(...page.problems);
        all.resourceVersion = page.resourceVersion;
        token = page.continue;
      } catch (error) {
        if (token === undefined || !isGone(error)) throw error;
        return await client.list(kind, { ...selection, signal });
      }
    } while (token !== undefined);
    return all;
  }

  async function list(state: WatchState, signal: AbortSignal): Promise<WatchOutcome> {
    try {
      const all = await listAll(signal);
      all.problems.forEach(noteProblem);
      deliver(cache.replace(all.items, all.problems.map(({ key }) => key)));
      gate.pass();
      return { type: "listed", resourceVersion: all.resourceVersion };
    } catch (error) {
      if (!signal.aborted) {
        const fields = { kind: kind.kind, error: messageOf(error), failures: failuresOf(state) };
        logger.warn("listing failed, trying again", fields);
      }
      return { type: "list_failed", error };
    }
  }

  /** Takes one event in; answers the resource version that it brings. */
  function take(event: Exclude<WatchEvent<T>, { type: "error" }>): string | undefined {
    if (event.type === "bookmark") return event.resourceVersion;
    if (event.type === "problem") {
      noteProblem(event);
      if (event.deleted) deliver(cache.remove(event.key));
      return event.resourceVersion;
    }
    const { object } = event;
    const change = event.type === "deleted"
      ? cache.remove(keyOf(object), object)
      : cache.put(object);
    deliver(change);
    return object.metadata?.resourceVersion;
  }

  async function watch(from: string, signal: AbortSignal): Promise<WatchOutcome> {
    const began = clock.monotonic();
    let resourceVersion = from;
    let progress = false;
    let error: unknown;
    const { least, most } = WATCH_SECONDS;
    try {
      const timeoutSeconds = Math.floor(least + random() * (most - least));
      const { idleMs = IDLE_MS } = options;
      const query = { ...selection, resourceVersion, timeoutSeconds, idleMs, signal };
      for await (const event of client.watch(kind, query)) {
        if (event.type === "error") {
          error = event.error;
          break;
        }
        resourceVersion = take(event) ?? resourceVersion;
        progress = true;
      }
    } catch (thrown) {
      error = thrown;
    }
    const short = !progress && clock.monotonic() - began < SHORT_WATCH_MS;
    if (error !== undefined && !signal.aborted) logWatch(error);
    return { type: "ended", resourceVersion, progress, short, error };
  }

  function logWatch(error: unknown): void {
    const fields = { kind: kind.kind, error: messageOf(error) };
    if (isGone(error)) logger.debug("watch expired", fields);
    else logger.warn("watch failed, trying again", fields);
  }

  async function wait(state: WatchState & { phase: "waiting" }, signal: AbortSignal) {
    const delay = retryDelayMs(state.next.failures, random);
    await clock.sleep(Math.max(delay, state.atLeastMs), signal);
    return { type: "waited" } as const;
  }

  function perform(state: WatchState, signal: AbortSignal): Promise<WatchOutcome> {
    if (state.phase === "waiting") return wait(state, signal);
    if (state.phase === "watching") return watch(state.resourceVersion, signal);
    if (gate.open) onRestart?.(state.cause);
    return list(state, signal);
  }

  return {
    get: (key) => cache.get(typeof key === "string" ? key : formatKey(key)),
    list: cache.list,
    byIndex: cache.byIndex,
    get synced() {
      return gate.open;
    },
    whenSynced: (signal) => gate.wait(signal),
    onChange(listener) {
      listeners.add(listener);
      for (const object of cache.list()) tell(listener, { type: "added", object });
      return () => void listeners.delete(listener);
    },
    async run(signal) {
      if (started) throw new Error(`informer of ${kind.plural}: run may be called once`);
      started = true;
      for (let state = FIRST_STATE; !signal.aborted;) {
        state = step(state, await perform(state, signal));
      }
      gate.stop();
    },
  };
}
