/** List-and-watch loop of one kind. */
import { getLogger } from "@logtape/logtape";
import { isObject } from "../../base/json.ts";
import { createNotices } from "../../base/notices.ts";
import type { KubeClient } from "../client.ts";
import type { ListProblem } from "../connection/response.ts";
import type { WatchEvent } from "./watch.ts";
import type { Clock } from "../../base/clock.ts";
import { isGone, isNotFound, messageOf } from "../errors.ts";
import { listAll, type PagedListOptions } from "./paged_list.ts";
import type { Kind, KubeObject } from "../resource.ts";
import { Interner } from "../../base/interner.ts";
import { failuresOf, FIRST_STATE, retryDelayMs, step } from "./watch_state.ts";
import type { WatchOutcome, WatchState } from "./watch_state.ts";

/** Receiver of what the server has. */
export interface Sink<T> {
  /** Everything that there is; `unreadable` keys exist too. */
  replace(objects: readonly T[], unreadable: readonly string[]): void;
  put(object: T): void;
  remove(object: T): void;
  /** An object is gone whose last state could not be read. */
  removeKey(key: string): void;
}

/** Options of listing and watching. */
export interface ListWatchOptions<T>
  extends Pick<PagedListOptions<T>, "kind" | "pageSize" | "places"> {
  readonly client: Pick<KubeClient, "list" | "watch">;
  /** Without it: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called each time all objects are listed again, with the cause. */
  readonly onRestart?: (cause: string) => void;
  /** Called each time a list or a watch fails; both are tried again. */
  readonly onFailure?: (error: unknown) => void;
  /** Called for each object that is skipped because it cannot be read; the log says which and why. */
  readonly onSkipped?: () => void;
  /** A watch on which nothing came for this long is begun anew, in milliseconds. Default: the client's. */
  readonly idleMs?: number;
}

/** The server is asked to end a watch after a time between these, so that not all end at once. */
const WATCH_SECONDS = { least: 300, most: 600 } as const;
/** A watch that ends sooner without news did not work. */
const SHORT_WATCH_MS = 1000;
/** How many objects that cannot be read are remembered, so that each is logged once. */
const REMEMBERED_PROBLEMS = 1000;

const logger = getLogger(["milepost", "kube", "informer"]);

/**
 * The parser, without `managedFields`, which are never read and fill memory. What many objects
 * repeat is held once.
 */
function lean<T extends object>(kind: Kind<T>, clock: Clock): Kind<T> {
  const interner = new Interner({ now: () => clock.monotonic() });
  function parse(value: unknown): T {
    if (!isObject(value) || !isObject(value.metadata)) return kind.parse(value);
    const { managedFields: _, ...metadata } = value.metadata;
    return kind.parse({ ...value, metadata });
  }
  return {
    ...kind,
    parse(value) {
      const object = parse(value);
      interner.intern(object);
      return object;
    },
  };
}

class ListWatch<T extends KubeObject> {
  readonly #kind: Kind<T>;
  readonly #selection: { namespace?: string; labelSelector?: string; fieldSelector?: string };
  readonly #isNews = createNotices(REMEMBERED_PROBLEMS);
  #listed = false;
  /** Whether the last list was 404: one replica of an API server may say so while it starts. */
  #wasNotFound = false;

  constructor(
    private readonly options: ListWatchOptions<T>,
    private readonly sink: Sink<T>,
    private readonly signal: AbortSignal,
  ) {
    const { namespace, labelSelector, fieldSelector } = options;
    this.#kind = lean(options.kind, options.clock);
    this.#selection = { namespace, labelSelector, fieldSelector };
  }

  perform(state: WatchState): Promise<WatchOutcome> {
    if (state.phase === "waiting") return this.#wait(state);
    if (state.phase === "watching") return this.#watch(state.resourceVersion);
    if (this.#listed) this.options.onRestart?.(state.cause);
    return this.#list(state);
  }

  async #wait(state: WatchState & { phase: "waiting" }): Promise<WatchOutcome> {
    const { clock, random } = this.options;
    const delay = retryDelayMs(state.next.failures, random, state.atMostMs);
    await clock.sleep(Math.max(delay, state.atLeastMs), this.signal);
    return { type: "waited" };
  }

  async #list(state: WatchState): Promise<WatchOutcome> {
    try {
      const { client, pageSize, places } = this.options;
      const [kind, selection, signal] = [this.#kind, this.#selection, this.signal];
      const { items, problems, resourceVersion } = await listAll({
        client,
        kind,
        selection,
        signal,
        pageSize,
        places,
      });
      for (const problem of problems) this.#note(problem);
      this.sink.replace(items, problems.map(({ key }) => key));
      this.#listed = true;
      this.#wasNotFound = false;
      return { type: "listed", resourceVersion };
    } catch (error) {
      const wasNotFound = this.#wasNotFound;
      this.#wasNotFound = isNotFound(error);
      const message = wasNotFound && this.#wasNotFound
        ? "the API server does not serve this kind; waiting until its CRD is installed"
        : "listing failed, trying again";
      this.#failed(message, error, failuresOf(state));
      return { type: "list_failed", error };
    }
  }

  async #watch(from: string): Promise<WatchOutcome> {
    const { clock } = this.options;
    const began = clock.monotonic();
    let resourceVersion = from;
    let progress = false;
    let error: unknown;
    try {
      for await (const event of this.#events(from)) {
        if (event.type === "error") {
          error = event.error;
          break;
        }
        resourceVersion = this.#take(event) ?? resourceVersion;
        progress = true;
      }
    } catch (thrown) {
      error = thrown;
    }
    const short = !progress && clock.monotonic() - began < SHORT_WATCH_MS;
    if (error !== undefined && !isGone(error)) this.#failed("watch failed, trying again", error);
    return { type: "ended", resourceVersion, progress, short, error };
  }

  #events(resourceVersion: string): AsyncIterable<WatchEvent<T>> {
    const { client, random, idleMs } = this.options;
    const { least, most } = WATCH_SECONDS;
    const timeoutSeconds = Math.floor(least + random() * (most - least));
    const query = { ...this.#selection, resourceVersion, timeoutSeconds, idleMs };
    return client.watch(this.#kind, { ...query, signal: this.signal });
  }

  /** Passes one event on. Returns its resource version. */
  #take(event: Exclude<WatchEvent<T>, { type: "error" }>): string | undefined {
    if (event.type === "bookmark") return event.resourceVersion;
    if (event.type === "problem") {
      this.#note(event);
      if (event.deleted) this.sink.removeKey(event.key);
      return event.resourceVersion;
    }
    if (event.type === "deleted") this.sink.remove(event.object);
    else this.sink.put(event.object);
    return event.object.metadata?.resourceVersion;
  }

  #note({ key, problem }: ListProblem): void {
    if (!this.#isNews(key, problem)) return;
    const { kind } = this.#kind;
    logger.warn("skipped an object that cannot be read", { kind, key, problem });
    this.options.onSkipped?.();
  }

  #failed(message: string, error: unknown, failures?: number): void {
    if (this.signal.aborted) return;
    logger.warn(message, { kind: this.#kind.kind, error: messageOf(error), failures });
    this.options.onFailure?.(error);
  }
}

/** Lists and watches until `signal` aborts, through all failures of the server. */
export async function runListWatch<T extends KubeObject>(
  options: ListWatchOptions<T>,
  sink: Sink<T>,
  signal: AbortSignal,
): Promise<void> {
  const loop = new ListWatch(options, sink, signal);
  for (let state = FIRST_STATE; !signal.aborted;) {
    state = step(state, await loop.perform(state));
  }
}
