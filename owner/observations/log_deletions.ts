/** Background deletion of logs, with a few tries each. */
import { getLogger } from "@logtape/logtape";
import { retry } from "../../platform/base/backoff.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { withDeadline } from "../../platform/base/deadline.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { createSemaphore } from "../../platform/base/semaphore.ts";
import { type ObservationSink, SinkError } from "./sink.ts";
import { type LogKey } from "../../trials/recording/observation_row.ts";

/** Conditions of a deletion. */
export interface DeletionConditions {
  /** The deletion begins when this has settled. */
  readonly after?: Promise<void> | undefined;
  /** Whether the log is still to be deleted, asked before each try. */
  readonly isWanted?: (() => boolean) | undefined;
}

const TRIES = 5;
/** Deletions at a time: with a namespace thousands of jobs may be deleted. */
const AT_ONCE = 8;
/** Pauses between tries. */
const RETRY = { firstMs: 1_000, longestMs: 5_000 } as const;

/** Creates what deletes logs in the background. */
export function createDeletions({ sink, clock, random, sinkMs }: {
  readonly sink: Pick<ObservationSink, "delete">;
  readonly clock: Clock;
  /** Returns a number from 0 up to 1. */
  readonly random: () => number;
  /** Deadline of one call, in milliseconds. */
  readonly sinkMs: number;
}) {
  const log = getLogger(["milepost", "katib"]);
  const closed = new AbortController();
  const running = new Set<Promise<void>>();
  const semaphore = createSemaphore(AT_ONCE);

  const deleteInTime = (key: LogKey) =>
    withDeadline({
      clock,
      deadlineMs: sinkMs,
      signal: closed.signal,
      onDeadline: () => new SinkError("unavailable", `no answer within ${sinkMs} ms`),
    }, (signal) => sink.delete(key, signal));
  const deleteOnce = (key: LogKey) => semaphore.run(() => deleteInTime(key), closed.signal);

  async function deleteLog(
    key: LogKey,
    { after, isWanted = () => true }: DeletionConditions,
  ): Promise<void> {
    await after;
    const { signal } = closed;
    const { namespace, name } = key;
    const onFailure = (error: unknown, tries: number) => {
      const fields = { namespace, name, tries, problem: messageOf(error) };
      log[tries < TRIES ? "debug" : "warn"]("cannot delete an observation log", fields);
      if (tries === TRIES) throw error;
    };
    const options = { backoff: RETRY, clock, random, signal, onFailure };
    // What failed for good was logged.
    await retry(async () => isWanted() && await deleteOnce(key), options).catch(() => {});
  }

  return {
    /** Deletes the log. Logs a warning if that fails. */
    drop(key: LogKey, conditions: DeletionConditions = {}): void {
      const deletion = deleteLog(key, conditions).finally(() => running.delete(deletion));
      running.add(deletion);
    },
    /** Aborts all deletions, and resolves when none is under way. */
    async close(): Promise<void> {
      closed.abort();
      await Promise.all(running);
    },
  };
}
