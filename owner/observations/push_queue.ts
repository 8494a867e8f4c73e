/** Bounded queue of pushes that wait for one log. */
import { comeAgain } from "../../platform/http/replicas/owner_router.ts";
import type { PushAnswer } from "../../crds/wire/push_answer.ts";
import type { Push } from "../../crds/wire/push.ts";

/** A push, and the function that answers it. */
export interface QueuedPush {
  readonly push: Push;
  /** Aborts when the client no longer waits for the answer. */
  readonly signal: AbortSignal;
  readonly answer: (answer: PushAnswer) => void;
}

/** Most pushes that wait. */
const MAX_WAITING = 256;
/** Most samples of a batch, unless one push has more. */
const MAX_SAMPLES = 2_000;

const ABANDONED = comeAgain("the client has closed the request");

/** Creates an empty queue. */
export function createPushQueue() {
  const waiting: QueuedPush[] = [];
  return {
    get isEmpty(): boolean {
      return waiting.length === 0;
    },
    /** Returns false if the queue is full. */
    add(push: QueuedPush): boolean {
      if (waiting.length >= MAX_WAITING) return false;
      waiting.push(push);
      return true;
    },
    /** Removes and returns the oldest pushes, as many as go to the sink in one call. */
    nextBatch(): readonly QueuedPush[] {
      const batch: QueuedPush[] = [];
      for (let samples = 0; waiting.length > 0;) {
        const next = waiting[0];
        if (next === undefined || (batch.length > 0 && samples >= MAX_SAMPLES)) break;
        waiting.shift();
        if (next.signal.aborted) {
          next.answer(ABANDONED);
          continue;
        }
        samples += 1 + (next.push.earlier?.length ?? 0);
        batch.push(next);
      }
      return batch;
    },
  };
}
