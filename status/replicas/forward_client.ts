/** Forwards pushes and reads to the owner. */
import type { Clock } from "../../kube/clock.ts";
import type { Push } from "../chain/exchange.ts";
import {
  ASK_ANSWER_MAX_BYTES,
  ASK_PATH,
  CHANGES_PATH,
  decodeAskAnswer,
  encodeAsk,
} from "./forward_asks.ts";
import { createForwardBatches } from "./forward_batches.ts";
import { createForwardCalls, type ReplicaTls } from "./forward_calls.ts";
import { decodeReadings, encodeRead, READ_ANSWER_MAX_BYTES, READ_PATH } from "./forward_reading.ts";
import {
  ANSWER_MAX_BYTES,
  decodeForwardAnswers,
  encodeForwardedPush,
  FORWARD_PATH,
  type ForwardResult,
  type ForwardTarget,
  joinPushes,
  resultOfAnswer,
} from "./forwarding.ts";
import type { CallBounds } from "./owner.ts";
import type { PollAsk } from "./owner_poll.ts";
import type { Reading } from "../reading/reading.ts";

export type { ReplicaTls } from "./forward_calls.ts";

/** Options of {@link createForwardClient}. */
export interface ForwardClientOptions {
  readonly tls: ReplicaTls;
  /** A name that the owner's serving certificate carries. */
  readonly serverName: string;
  readonly clock: Clock;
  /** Pushes, and reads, that wait or are under way at a time. Default 1000 each. */
  readonly maxCalls?: number;
  /** Connections, of pushes and of reads each. Default 32. */
  readonly maxConnections?: number;
  /** `forwarded_pushes_total{result}`. */
  readonly onForward?: (outcome: ForwardResult["outcome"]) => void;
}

/** Calls the owner. */
export interface ForwardClient {
  /** Hands over one push. Never throws. */
  forward(target: ForwardTarget, push: Push, bounds: CallBounds): Promise<ForwardResult>;
  /** Reads at the owner; undefined where it gave no answer, or is none. Never throws. */
  read(
    target: ForwardTarget,
    ask: PollAsk,
    bounds: CallBounds,
  ): Promise<readonly Reading[] | undefined>;
  /** Asks the owner which observations are others now; as {@link read}. */
  readChanges: ForwardClient["read"];
  /** Asks the owner for an observation; undefined where it gave no answer, or is none. Never throws. */
  ask(target: ForwardTarget, ask: unknown, bounds: CallBounds): Promise<object | undefined>;
  /** New calls use these. */
  updateTls(tls: ReplicaTls): void;
  /** Closes the connections. */
  close(): void;
}

/** Time a connection is kept without a call, in milliseconds: shorter than the listener's. */
const IDLE_MS = 15_000;
/** The same where the owner may wait for news before it answers. */
const READ_IDLE_MS = 25_000;

/** Connections of questions: their answers are long, and nobody waits for news on them. */
const ASK_CONNECTIONS = 16;

/** Creates a {@link ForwardClient}. */
export function createForwardClient(options: ForwardClientOptions): ForwardClient {
  const { onForward } = options;
  const bounded = { maxCalls: 1000, maxConnections: 32, ...options };
  // Apart, so that reads that wait for news take no push's connection.
  const pushes = createForwardCalls({ ...bounded, idleMs: IDLE_MS });
  const reads = createForwardCalls({ ...bounded, idleMs: READ_IDLE_MS });
  const maxConnections = Math.min(ASK_CONNECTIONS, bounded.maxConnections);
  const asks = createForwardCalls({ ...bounded, maxConnections, idleMs: IDLE_MS });

  async function send(
    address: string,
    batch: readonly Uint8Array[],
    bounds: CallBounds,
  ): Promise<readonly ForwardResult[]> {
    const body = joinPushes(batch);
    const call = { address, path: FORWARD_PATH, body, maxBytes: ANSWER_MAX_BYTES };
    const answer = await pushes.call(call, bounds);
    if (answer.bytes === undefined) return batch.map(() => ({ outcome: answer.outcome }));
    const answers = decodeForwardAnswers(answer.bytes);
    return batch.map((_, index) => resultOfAnswer(answers?.[index]));
  }
  const forward = createForwardBatches({ ...bounded, send, maxPushes: bounded.maxCalls });

  const readAt = (path: string): ForwardClient["read"] => async (target, ask, bounds) => {
    const { address, transitions } = target;
    const body = encodeRead({ transitions, ...ask });
    const { bytes } = await reads.call(
      { address, path, body, maxBytes: READ_ANSWER_MAX_BYTES },
      bounds,
    );
    return bytes && decodeReadings(bytes);
  };

  return {
    async forward({ address, transitions }, push, bounds) {
      const result = await forward(address, encodeForwardedPush({ transitions, push }), bounds);
      onForward?.(result.outcome);
      return result;
    },
    read: readAt(READ_PATH),
    readChanges: readAt(CHANGES_PATH),
    async ask({ address, transitions }, ask, bounds) {
      const body = encodeAsk({ transitions, ask });
      const call = { address, path: ASK_PATH, body, maxBytes: ASK_ANSWER_MAX_BYTES };
      const { bytes } = await asks.call(call, bounds);
      return bytes && decodeAskAnswer(bytes);
    },
    updateTls(tls) {
      pushes.updateTls(tls);
      reads.updateTls(tls);
      asks.updateTls(tls);
    },
    close() {
      pushes.close();
      reads.close();
      asks.close();
    },
  };
}
