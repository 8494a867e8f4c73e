/** Pushes on their way to the owner: many in one call, namely those that came while others were under way. */
import type { Clock } from "../../platform/base/clock.ts";
import { type ForwardResult, MAX_BATCH, MAX_BATCH_BYTES } from "./forwarding.ts";
import type { CallBounds } from "../../platform/http/replicas/calls.ts";

/** Hands over one encoded push. Never throws. */
export type ForwardInBatch = (
  address: string,
  push: Uint8Array,
  bounds: CallBounds,
) => Promise<ForwardResult>;

/** Most calls at a time to one address: few enough that pushes are batched, and enough that none waits long. */
const CALLS = 4;

interface Waiting {
  readonly push: Uint8Array;
  /** Monotonic time after which the caller no longer waits. */
  readonly untilMs: number;
  readonly signal: AbortSignal;
  readonly settle: (result: ForwardResult) => void;
}

interface Lane {
  readonly address: string;
  readonly waiting: Waiting[];
  calls: number;
}

const NEVER = new AbortController().signal;

/** Takes the next pushes of a call, oldest first; at least one, if there is one. */
function takeBatch(waiting: Waiting[]): Waiting[] {
  let bytes = 0;
  const end = waiting.findIndex(({ push }, index) => {
    bytes += push.length + 1;
    return index === MAX_BATCH || (index > 0 && bytes > MAX_BATCH_BYTES);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Creates a {@link ForwardInBatch}. A push goes at once where few calls are under way. */
export function createForwardBatches(options: {
  /** Sends encoded pushes in one call; returns one result for each, in their order. Never throws. */
  readonly send: (
    address: string,
    pushes: readonly Uint8Array[],
    bounds: CallBounds,
  ) => Promise<readonly ForwardResult[]>;
  readonly clock: Clock;
  /** Pushes that wait or are under way, in all; more are refused as saturated. */
  readonly maxPushes: number;
}): ForwardInBatch {
  const { send, clock, maxPushes } = options;
  const lanes = new Map<string, Lane>();
  let held = 0;

  async function call(lane: Lane, batch: readonly Waiting[]): Promise<void> {
    const [first] = batch;
    const untilMs = Math.min(...batch.map((one) => one.untilMs));
    const results = await send(lane.address, batch.map(({ push }) => push), {
      deadlineMs: Math.max(1, untilMs - clock.monotonic()),
      // What several wait for is not broken off by one of them.
      signal: batch.length === 1 && first !== undefined ? first.signal : NEVER,
    });
    batch.forEach(({ settle }, index) => settle(results[index] ?? { outcome: "unreachable" }));
  }

  function pump(lane: Lane): void {
    while (lane.calls < CALLS && lane.waiting.length > 0) {
      const taken = takeBatch(lane.waiting);
      const batch = taken.filter(({ signal }) => !signal.aborted);
      for (const { signal, settle } of taken) if (signal.aborted) settle({ outcome: "timeout" });
      if (batch.length === 0) continue;
      lane.calls += 1;
      call(lane, batch).finally(() => {
        lane.calls -= 1;
        pump(lane);
      });
    }
    if (lane.calls === 0) lanes.delete(lane.address);
  }

  return async (address, push, { deadlineMs, signal }) => {
    if (held >= maxPushes) return { outcome: "saturated" };
    const lane = lanes.get(address) ?? { address, waiting: [], calls: 0 };
    lanes.set(address, lane);
    const { promise, resolve: settle } = Promise.withResolvers<ForwardResult>();
    lane.waiting.push({ push, untilMs: clock.monotonic() + deadlineMs, signal, settle });
    held += 1;
    pump(lane);
    try {
      return await promise;
    } finally {
      held -= 1;
    }
  };
}
