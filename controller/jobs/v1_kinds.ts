/** Choice of the v1 kinds that are run: those whose definition carries our annotation, or that a setting names. */
import { getLogger } from "@logtape/logtape";
import { V1_KIND_LIST, type V1KindName } from "../../crds/v1/kinds.ts";
import { V1_GROUP, V1_RUN_BY } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { isForbidden, messageOf } from "../../platform/kube/errors.ts";
import { listRefusal } from "../../platform/kube/watching/served_kinds.ts";
import { createListeners } from "../../platform/base/listeners.ts";
import { createNotices } from "../../platform/base/notices.ts";
import { createPoll } from "../../platform/base/poll.ts";
import { createSwitch, type Switch } from "../../platform/base/switch.ts";
import { createDefinitions, type Definition } from "./v1_definitions.ts";

const log = getLogger(["milepost", "jobs"]);

/** Longest time between two reads of the definitions, in milliseconds. */
export const POLL_MS = 10_000;

/** Creates the choice; it knows nothing before it runs. */
export function createV1Kinds(options: {
  readonly client: Pick<KubeClient, "get" | "list" | "read">;
  readonly clock: Clock;
  /** The kinds that are run whatever their definitions say. */
  readonly named: readonly V1KindName[];
  /** Kinds that another operator runs, whatever their definitions say. Default: none. */
  readonly left?: readonly V1KindName[];
  /** A number from 0 up to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
}) {
  const { client, clock, random } = options;
  const named: ReadonlySet<V1KindName> = new Set(options.named);
  const left: ReadonlySet<V1KindName> = new Set(options.left);
  const read = createDefinitions(client);
  const switches = new Map(V1_KIND_LIST.map(({ kind }) => [kind, createSwitch()]));
  const keepers = new Set<V1KindName>();
  const isNews = createNotices(V1_KIND_LIST.length);
  const listeners = createListeners();

  function switchOf(kind: V1KindName) {
    const found = switches.get(kind);
    if (found === undefined) throw new RangeError(`${kind} is not a v1 kind`);
    return found;
  }

  /** Reports whether the jobs of a kind may be read: without the role, their caches would never be filled. */
  async function mayBeRead(kind: V1KindName, signal: AbortSignal): Promise<boolean> {
    const refusal = await listRefusal(client, V1_RESOURCES[kind], signal);
    if (refusal === undefined) return true;
    if (!isForbidden(refusal)) throw refusal;
    if (isNews(kind)) {
      const message = "this kind may not be read, and is not run until the role allows it";
      log.warn(message, { kind, group: V1_GROUP, error: messageOf(refusal) });
    }
    return false;
  }

  /** Keeps what the definition says. Returns whether that is news. */
  async function apply(
    kind: V1KindName,
    definition: Definition | undefined,
    signal: AbortSignal,
  ): Promise<boolean> {
    const switched = switchOf(kind);
    const before = { runs: switched.on, keeps: keepers.has(kind) };
    const { runBy, keepsProgress = false } = definition ?? {};
    const isWanted = definition !== undefined && !left.has(kind) &&
      (named.has(kind) || runBy === V1_RUN_BY);
    const runs = isWanted && (switched.on || await mayBeRead(kind, signal));
    if (keepsProgress) keepers.add(kind);
    else keepers.delete(kind);
    switched.turn(runs);
    if (before.runs === runs && before.keeps === keepsProgress) return false;
    tell(kind, { ...before, isServed: definition !== undefined }, { runs, keepsProgress });
    return before.runs !== undefined || runs;
  }

  async function update(signal: AbortSignal): Promise<void> {
    const definitions = await read(signal);
    const results = await Promise.allSettled(
      V1_KIND_LIST.map(({ kind }) => apply(kind, definitions.get(kind), signal)),
    );
    // A kind that could not be asked about does not hide the changes of others.
    if (results.some((it) => it.status === "fulfilled" && it.value)) {
      listeners.notify();
    }
    for (const it of results) if (it.status === "rejected") throw it.reason;
  }

  const poll = createPoll({
    clock,
    random,
    everyMs: POLL_MS,
    ask: update,
    onFailure(error) {
      const message = "cannot find out which kinds of kubeflow.org/v1 to run; retrying";
      log.warn(message, { error: messageOf(error) });
    },
  });

  return {
    /** Reports whether the kind is run. */
    runs: (kind: V1KindName): boolean => switchOf(kind).on === true,
    /** Returns the switch of a kind: it is on while the kind is run. */
    of: (kind: V1KindName): Switch => switchOf(kind),
    /** Reports whether the kind's definition keeps `status.trainerStatus`; false while that is not known. */
    keepsProgress: (kind: V1KindName): boolean => keepers.has(kind),
    /** Calls the listener after each change. Returns a function that ends this. */
    onChange: listeners.add,
    /** Whether the definitions were read once. */
    get known(): boolean {
      return [...switches.values()].every(({ on }) => on !== undefined);
    },
    /** Reads the definitions again and again until `signal` aborts. */
    run: poll.run,
  };
}

/** The v1 kinds that this manager runs now. */
export type V1Kinds = ReturnType<typeof createV1Kinds>;

/** Logs a change of one kind. */
function tell(
  kind: V1KindName,
  before: { readonly runs: boolean | undefined; readonly isServed: boolean },
  now: { readonly runs: boolean; readonly keepsProgress: boolean },
): void {
  const properties = { kind, group: V1_GROUP };
  if (now.runs && !before.runs) log.info("this kind is run", properties);
  if (!now.runs && before.runs) {
    const message = before.isServed
      ? "this kind is no longer run: its definition lost the annotation"
      : "this kind is no longer run: the API server does not serve it";
    log.info(message, properties);
  }
  if (now.runs && !now.keepsProgress) {
    const message =
      "the definition of this kind drops status.trainerStatus, so that an annotation " +
      "shows the progress; `milepost crds --v1 --patch` prints what adds the field";
    log.info(message, properties);
  }
}
