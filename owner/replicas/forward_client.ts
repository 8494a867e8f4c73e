/** Client for calls to the replica that owns the state. */
import type { Push } from "../../crds/wire/push.ts";
import {
  type CallBounds,
  createReplicaCalls,
  type ReplicaCall,
  type ReplicaCalls,
  type ReplicaCallsOptions,
  type ReplicaTls,
} from "../../platform/http/replicas/calls.ts";
import type { ForwardTarget } from "../../platform/http/replicas/terms.ts";
import type { PollAsk } from "../owner_poll.ts";
import type { TermChanges } from "../term.ts";
import {
  ASK_ANSWER_MAX_BYTES,
  askPath,
  changesPath,
  decodeAskAnswer,
  encodeAsk,
  OTHER_PROTOCOL,
} from "./forward_asks.ts";
import { createForwardBatches } from "./forward_batches.ts";
import { POLL_ANSWER_MAX_BYTES, pollMessage, readReadings } from "./forward_changes.ts";
import {
  ANSWER_MAX_BYTES,
  decodeForwardAnswers,
  encodeForwardedPush,
  type ForwardResult,
  joinPushes,
  PUSHES_PATH,
  resultOfAnswer,
  resultOfNoAnswer,
} from "./forwarding.ts";

/** Time a connection is kept without a call, in milliseconds: shorter than the listener's. */
const IDLE_MS = 15_000;
/** The same if the owner may wait for news before it answers. */
const POLL_IDLE_MS = 25_000;

/** Connections of questions: their answers are long, and do not wait for news. */
const ASK_CONNECTIONS = 16;

/** Calls the owner. */
export type ForwardClient = ReturnType<typeof createForwardClient>;

/** Creates a {@link ForwardClient}. */
export function createForwardClient(
  options: Pick<ReplicaCallsOptions, "tls" | "serverName" | "clock"> & {
    /** Pushes, polls, and questions that wait or are under way at a time. Default 1000 each. */
    readonly maxCalls?: number;
    /** Connections, of pushes and of polls each. Default 32. */
    readonly maxConnections?: number;
    /** `forwarded_pushes_total{result}`. */
    readonly onForward?: (outcome: ForwardResult["outcome"]) => void;
  },
) {
  const { onForward } = options;
  const bounded = { maxCalls: 1000, maxConnections: 32, ...options };
  // Apart, so that polls that wait for news take no push's connection.
  const pushes = createReplicaCalls({ ...bounded, idleMs: IDLE_MS });
  const polls = createReplicaCalls({ ...bounded, idleMs: POLL_IDLE_MS });
  const maxConnections = Math.min(ASK_CONNECTIONS, bounded.maxConnections);
  const asks = createReplicaCalls({ ...bounded, maxConnections, idleMs: IDLE_MS });
  const all = [pushes, polls, asks];

  const forward = createForwardBatches({
    ...bounded,
    maxPushes: bounded.maxCalls,
    async send(address, batch, bounds): Promise<readonly ForwardResult[]> {
      const body = joinPushes(batch);
      const call = { address, path: PUSHES_PATH, body, maxBytes: ANSWER_MAX_BYTES };
      const answer = await pushes.call(call, bounds);
      if (answer.bytes === undefined) return batch.map(() => resultOfNoAnswer(answer.outcome));
      const answers = decodeForwardAnswers(answer.bytes);
      return batch.map((_, index) => resultOfAnswer(answers?.[index]));
    },
  });

  async function askAt(
    calls: ReplicaCalls,
    { address, transitions }: ForwardTarget,
    { ask, ...call }: Pick<ReplicaCall, "path" | "maxBytes"> & { readonly ask: object },
    bounds: CallBounds,
  ): Promise<object | undefined> {
    const body = encodeAsk({ transitions, ask });
    const answer = await calls.call({ address, body, ...call }, bounds);
    if (answer.bytes !== undefined) return decodeAskAnswer(answer.bytes);
    return answer.outcome === "unknown_call" ? OTHER_PROTOCOL : undefined;
  }

  return {
    /** Hands over one push. Never throws. */
    async forward(
      { address, transitions }: ForwardTarget,
      push: Push,
      bounds: CallBounds,
    ): Promise<ForwardResult> {
      const result = await forward(address, encodeForwardedPush({ transitions, push }), bounds);
      onForward?.(result.outcome);
      return result;
    },
    /**
     * Asks the owner a question of that kind. Resolves with undefined if it gave no answer, or is not the owner,
     * and with when to come again if it is of another protocol. Never throws.
     */
    async ask(
      target: ForwardTarget,
      { kind, ask }: { readonly kind: string; readonly ask: object },
      bounds: CallBounds,
    ): Promise<object | undefined> {
      const call = { path: askPath(kind), maxBytes: ASK_ANSWER_MAX_BYTES, ask };
      return await askAt(asks, target, call, bounds);
    },
    /** Returns the function that polls the owner for changes of a kind; undefined as {@link ask}. Never throws. */
    changes:
      (kind: keyof TermChanges) =>
      async (target: ForwardTarget, poll: PollAsk, bounds: CallBounds) => {
        const call = { path: changesPath(kind), maxBytes: POLL_ANSWER_MAX_BYTES };
        const answer = await askAt(polls, target, { ...call, ask: pollMessage(poll) }, bounds);
        return answer && readReadings(answer);
      },
    /** New calls use these. */
    updateTls(tls: ReplicaTls): void {
      for (const calls of all) calls.updateTls(tls);
    },
    /** Closes the connections. */
    close(): void {
      for (const calls of all) calls.close();
    },
  };
}
