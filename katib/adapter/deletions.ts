/** Deletes logs whose owner is gone, in the background: a few tries, so that a short outage leaves none. */
import { getLogger } from "@logtape/logtape";
import type { Clock } from "../../kube/clock.ts";
import { withDeadline } from "../../kube/deadline.ts";
import { messageOf } from "../../kube/errors.ts";
import { createSemaphore } from "../../kube/semaphore.ts";
import { type ObservationSink, SinkError } from "../log/sink.ts";
import { type LogKey } from "../../trials/recording/observation_row.ts";

/** Options of {@link createDeletions}. */
export interface DeletionsOptions {
  readonly sink: Pick<ObservationSink, "delete">;
  readonly clock: Clock;
  /** 0 to 1. */
  readonly random: () => number;
  /** Longest time of one call, in milliseconds. */
  readonly sinkMs: number;
}

/** Deletions under way. */
export interface Deletions {
  /** Deletes the log; one that could not be is told in the log of the process. */
  drop(key: LogKey): void;
  /** Breaks off, and resolves when nothing is under way. */
  close(): Promise<void>;
}

const TRIES = 5;
/** Deletions at a time: with a namespace go thousands of jobs. */
const AT_ONCE = 8;
/** Pause between two of them, in milliseconds; half of it to half as much more. */
const PAUSE_MS = 1_000;

/** Creates {@link Deletions}. */
export function createDeletions({ sink, clock, random, sinkMs }: DeletionsOptions): Deletions {
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

  async function deleteLog(key: LogKey): Promise<void> {
    for (let tries = 1; !closed.signal.aborted; tries++) {
      try {
        return await deleteOnce(key);
      } catch (error) {
        if (closed.signal.aborted) return;
        const { namespace, name } = key;
        const fields = { namespace, name, tries, problem: messageOf(error) };
        log[tries < TRIES ? "debug" : "warn"]("an observation log could not be deleted", fields);
        if (tries === TRIES) return;
      }
      await clock.sleep(PAUSE_MS * (0.5 + random()), closed.signal);
    }
  }

  return {
    drop(key) {
      const deletion = deleteLog(key).finally(() => running.delete(deletion));
      running.add(deletion);
    },
    async close() {
      closed.abort();
      await Promise.all(running);
    },
  };
}
