/** Removal of the logs of Trials that went while no manager ran, from sinks that can list their logs. */
import { getLogger } from "@logtape/logtape";
import { KINDS } from "../../crds/kinds.ts";
import type { Trial } from "../../crds/trial.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { retryUntilAborted } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { isNotFound, isNotServed, messageOf } from "../../platform/kube/errors.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import type { LogKey } from "../../trials/recording/observation_row.ts";
import type { ObservationSink } from "../../owner/observations/sink.ts";
import type { Observations } from "../../owner/observations/observations.ts";

/** Options of {@link removeLeftLogs}. */
export interface LeftLogsOptions {
  readonly sink: Pick<ObservationSink, "list">;
  readonly trials: Pick<Informer<Trial>, "get"> & { readonly resting: boolean };
  readonly client: Pick<KubeClient, "get">;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  readonly drop: Observations["drop"];
  /** Deadline of one read, in milliseconds. */
  readonly deadlineMs: number;
}

/** Keys that are read from the sink at a time. */
const PAGE = 200;
/** Pause after each read of the API server: ten a second are no burden, whatever was left behind. */
const PAUSE_MS = 100;
/** Pauses between attempts while Trials cannot be known, or the log cannot be read. */
const RETRY = { firstMs: 5_000, longestMs: 60_000 } as const;

/**
 * Whether the Trial of a log is gone for certain: the API server says that there is no object of that name, or
 * has another one. Everything else, such as a kind that is not served now, or a right that is missing, leaves
 * the log as it is.
 */
async function isGone(
  { trials, client, deadlineMs }: LeftLogsOptions,
  { namespace, name, uid }: LogKey,
  signal: AbortSignal,
): Promise<boolean> {
  if (trials.get({ namespace, name })?.metadata.uid === uid) return false;
  try {
    const bounds = { signal, deadlineMs, honorRetryAfter: false };
    const trial = await client.get(KINDS.trial, { namespace, name }, bounds);
    return trial.metadata.uid !== undefined && trial.metadata.uid !== uid;
  } catch (error) {
    // Of a kind that it does not serve an API server says 404 without naming an object.
    return isNotFound(error) && !isNotServed(error);
  }
}

/** Looks at each log once. Rejects if the sink cannot be read. Returns how many logs are removed. */
async function sweep(options: LeftLogsOptions, signal: AbortSignal): Promise<number> {
  const { sink, trials, clock, drop } = options;
  let after: LogKey | undefined;
  let removed = 0;
  while (!signal.aborted) {
    const keys = await sink.list?.(after, PAGE, signal) ?? [];
    for (const key of keys) {
      if (signal.aborted) return removed;
      if (key.kind !== "trial" || trials.get(key)?.metadata.uid === key.uid) continue;
      if (await isGone(options, key, signal)) {
        drop(key);
        removed += 1;
      }
      await clock.sleep(PAUSE_MS, signal);
    }
    after = keys.at(-1);
    if (after === undefined || keys.length < PAGE) return removed;
  }
  return removed;
}

/**
 * Removes, once in a term, the logs of Trials that do not exist any more. Waits as long as the cluster serves no
 * Trials, since their kind may come back with them.
 */
export async function removeLeftLogs(options: LeftLogsOptions, signal: AbortSignal): Promise<void> {
  const { sink, trials, clock, random } = options;
  const log = getLogger(["milepost", "katib"]);
  if (sink.list === undefined) return;
  const removed = await retryUntilAborted((signal) => {
    if (trials.resting) throw new Error("the cluster serves no Trials");
    return sweep(options, signal);
  }, {
    backoff: RETRY,
    clock,
    random,
    signal,
    onFailure: (error) =>
      log.debug("cannot list the observation logs; retrying", { problem: messageOf(error) }),
  });
  if (removed) log.info("removed logs of Trials that are gone", { logs: removed });
}
