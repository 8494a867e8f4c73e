/** Client for calls to the replica that owns the state. */
import type { JobKind, JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { jobMessage, type MessageVersion, messageVersion } from "../../crds/wire/job_message.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { Push } from "../../crds/wire/push.ts";
import {
  ASK_ANSWER_MAX_BYTES,
  askPath,
  changesPath,
  curveChangesPath,
  curvesPath,
  decodeAskAnswer,
  encodeAsk,
  stopJobPath,
} from "./forward_asks.ts";
import { createForwardBatches } from "./forward_batches.ts";
import { createReplicaCalls, type ReplicaTls } from "../../platform/http/replicas/calls.ts";
import { decodeReadings, encodeRead, READ_ANSWER_MAX_BYTES, readPath } from "./forward_reading.ts";
import {
  ANSWER_MAX_BYTES,
  decodeForwardAnswers,
  encodeForwardedPush,
  forwardPath,
  type ForwardResult,
  joinPushes,
  OLDER_OWNER_RETRY_MS,
  resultOfAnswer,
  resultOfNoAnswer,
} from "./forwarding.ts";
import type { ForwardTarget } from "../../platform/http/replicas/terms.ts";
import type { CallBounds } from "../../platform/http/replicas/calls.ts";
import type { PollAsk } from "../owner_poll.ts";
import type { Reading } from "../ledger/reading.ts";

/** Options of {@link createForwardClient}. */
export interface ForwardClientOptions {
  readonly kinds: JobKinds;
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
  /**
   * Reads at the owner, all jobs of one kind; undefined if it gave no answer, or is not the owner. Never
   * throws.
   */
  read(
    target: ForwardTarget,
    ask: PollAsk,
    bounds: CallBounds,
  ): Promise<readonly Reading[] | undefined>;
  /** Asks the owner which observations are others now; as {@link read}. */
  readChanges: ForwardClient["read"];
  /** Asks the owner about a job; undefined if it gave no answer, or is not the owner. Never throws. */
  ask(
    target: ForwardTarget,
    ask: { readonly job: JobRef },
    bounds: CallBounds,
  ): Promise<object | undefined>;
  /** Asks the owner to stop a job; as {@link ask}. For an owner that is too old it answers to come again. */
  stop: ForwardClient["ask"];
  /** Asks the owner for curves; as {@link ask}. */
  askCurves(target: ForwardTarget, ask: object, bounds: CallBounds): Promise<object | undefined>;
  /** Asks the owner which curves are others now; as {@link read}. */
  readCurveChanges: ForwardClient["read"];
  /** New calls use these. */
  updateTls(tls: ReplicaTls): void;
  /** Closes the connections. */
  close(): void;
}

/** Time a connection is kept without a call, in milliseconds: shorter than the listener's. */
const IDLE_MS = 15_000;
/** The same if the owner may wait for news before it answers. */
const READ_IDLE_MS = 25_000;

/** Connections of questions: their answers are long, and do not wait for news. */
const ASK_CONNECTIONS = 16;

/** Answer for an owner that does not know the call that stops a job; it is being replaced. */
const OLDER_OWNER = {
  retryAfterMs: OLDER_OWNER_RETRY_MS,
  reason: "the replica that owns the status of jobs is an older version that cannot stop them: " +
    "try again once all replicas are updated",
} as const;

/** Creates a {@link ForwardClient}. */
export function createForwardClient(options: ForwardClientOptions): ForwardClient {
  const { kinds, onForward } = options;
  const bounded = { maxCalls: 1000, maxConnections: 32, ...options };
  // Apart, so that reads that wait for news take no push's connection.
  const pushes = createReplicaCalls({ ...bounded, idleMs: IDLE_MS });
  const reads = createReplicaCalls({ ...bounded, idleMs: READ_IDLE_MS });
  const maxConnections = Math.min(ASK_CONNECTIONS, bounded.maxConnections);
  const asks = createReplicaCalls({ ...bounded, maxConnections, idleMs: IDLE_MS });

  function createBatches(version: MessageVersion) {
    const path = forwardPath(version);
    return createForwardBatches({
      ...bounded,
      maxPushes: bounded.maxCalls,
      async send(address, batch, bounds): Promise<readonly ForwardResult[]> {
        const body = joinPushes(batch);
        const call = { address, path, body, maxBytes: ANSWER_MAX_BYTES };
        const answer = await pushes.call(call, bounds);
        if (answer.bytes === undefined) return batch.map(() => resultOfNoAnswer(answer.outcome));
        const answers = decodeForwardAnswers(answer.bytes);
        return batch.map((_, index) => resultOfAnswer(answers?.[index]));
      },
    });
  }
  const batches = { v1: createBatches("v1"), v2: createBatches("v2") };
  const versionOf = (kind: JobKind | undefined) =>
    kind === undefined ? "v1" : messageVersion(kinds, kind);

  const readAt =
    (pathOf: (version: MessageVersion) => string): ForwardClient["read"] =>
    async (target, ask, bounds) => {
      const { address, transitions } = target;
      const path = pathOf(versionOf(ask.entries[0]?.job.kind));
      const body = encodeRead(kinds, { transitions, ...ask });
      const { bytes } = await reads.call(
        { address, path, body, maxBytes: READ_ANSWER_MAX_BYTES },
        bounds,
      );
      return bytes && decodeReadings(bytes);
    };

  function askAt(
    pathOf: (version: MessageVersion) => string,
    { address, transitions }: ForwardTarget,
    ask: { readonly job: JobRef },
    bounds: CallBounds,
  ) {
    const body = encodeAsk({ transitions, ask: { ...ask, job: jobMessage(kinds, ask.job) } });
    const path = pathOf(versionOf(ask.job.kind));
    return asks.call({ address, path, body, maxBytes: ASK_ANSWER_MAX_BYTES }, bounds);
  }

  return {
    async forward({ address, transitions }, push, bounds) {
      const forward = batches[versionOf(push.job.kind)];
      const encoded = encodeForwardedPush(kinds, { transitions, push });
      const result = await forward(address, encoded, bounds);
      onForward?.(result.outcome);
      return result;
    },
    read: readAt(readPath),
    readChanges: readAt(changesPath),
    async ask(target, ask, bounds) {
      const { bytes } = await askAt(askPath, target, ask, bounds);
      return bytes && decodeAskAnswer(bytes);
    },
    async askCurves({ address, transitions }, ask, bounds) {
      const body = encodeAsk({ transitions, ask });
      // Jobs are asked for by their UIDs, whatever their kinds are.
      const path = curvesPath("v2");
      const { bytes } = await asks.call(
        { address, path, body, maxBytes: ASK_ANSWER_MAX_BYTES },
        bounds,
      );
      return bytes && decodeAskAnswer(bytes);
    },
    readCurveChanges: readAt(curveChangesPath),
    async stop(target, ask, bounds) {
      const answer = await askAt(stopJobPath, target, ask, bounds);
      if (answer.bytes !== undefined) return decodeAskAnswer(answer.bytes);
      return answer.outcome === "unknown_call" ? OLDER_OWNER : undefined;
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
