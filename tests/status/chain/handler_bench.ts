/** A push handler over a test cluster, with counts of everything that it may set off. */
import type { HttpRequest } from "../../../platform/http/message.ts";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import type { PushAnswer } from "../../../crds/wire/push_answer.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { createPeers } from "../../../platform/http/limits/peers.ts";
import { createStreamSlots } from "../../../platform/http/limits/stream_limits.ts";
import { comeAgain } from "../../../platform/http/replicas/owner_router.ts";
import { createOwnership } from "../../../status/ownership/ownership.ts";
import {
  createPushHandler,
  DEFAULT_RATE_LIMITS,
  type PushHandlerOptions,
} from "../../../status/chain/push_handler.ts";
import {
  createReviewCache,
  type ReviewToken,
} from "../../../platform/http/callers/token_review.ts";
import { createTokenVerifier } from "../../../platform/http/callers/token_verification.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { cluster } from "../ownership/ownership_cluster.ts";
import { issuerKeys, NOW_MS, sign, signingKey } from "../../platform/http/callers/tokens.ts";

/** The API server's key in these tests, and a good token of it. */
export const KEY = await signingKey("k1");
export const TOKEN = await sign(KEY);
const TRUSTED = await issuerKeys(KEY);

/** Path of the job that the good token may push for. */
export const PATH = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/job-1/status";
/** A good push. */
export const PUSH = {
  trainerStatus: {
    progressPercentage: 45,
    estimatedRemainingSeconds: 120,
    metrics: [{ name: "loss", value: "0.23" }],
    lastUpdatedTime: "2025-01-23T10:30:45Z",
  },
};

/** Parts of a request; a missing part is valid. */
export interface Sent {
  readonly method?: string;
  readonly url?: string;
  readonly peer?: string;
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Sent as it is, in pieces, without Content-Length. */
  readonly chunks?: readonly Uint8Array[];
}

/** A request as a server would hand it over. */
export function request(sent: Sent = {}): HttpRequest {
  const { token = TOKEN, body = PUSH } = sent;
  const bytes = sent.chunks ??
    [new TextEncoder().encode(typeof body === "string" ? body : JSON.stringify(body))];
  const length = bytes.reduce((sum, chunk) => sum + chunk.length, 0);
  const headers: Record<string, string> = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(sent.chunks === undefined && { "content-length": String(length) }),
    ...sent.headers,
  };
  return {
    method: sent.method ?? "POST",
    url: sent.url ?? PATH,
    peer: sent.peer ?? "10.0.0.1",
    header: (name) => headers[name],
    readBody: async (maxBytes) => {
      if (length > maxBytes) return undefined;
      return new Uint8Array(await new Blob(bytes.map((chunk) => chunk.slice())).arrayBuffer());
    },
  };
}

/** Options of {@link handlerBench}. */
export interface BenchOptions extends Partial<PushHandlerOptions> {
  readonly ask?: ReviewToken;
  readonly answer?: PushAnswer;
  readonly notReady?: boolean;
}

/** The handler with everything real but network and time. */
export function handlerBench(options: BenchOptions = {}) {
  const clock = new FakeClock(NOW_MS);
  const { lookups, objects, count } = cluster();
  const counts = { lookups: count, reviews: 0, unknownKeys: 0 };
  const accepted: Push[] = [];
  const results: string[] = [];
  const verifier = createTokenVerifier({
    clock,
    keys: {
      current: () => options.notReady ? undefined : TRUSTED,
      noteUnknownKey: () => void counts.unknownKeys++,
    },
  });
  const reviews = createReviewCache({
    clock,
    onRefused: (hash) => verifier.revoke(hash),
    ask: (review, signal) => {
      counts.reviews += 1;
      return options.ask?.(review, signal) ?? Promise.resolve(true);
    },
  });
  const reading = {
    read: () => comeAgain("nothing is read here"),
    follow: () => () => {},
    slots: createStreamSlots({ total: 0, perSubject: 0 }),
    onJobEnd: () => () => {},
  };
  const { failuresPerPeer: failures, maxKeys } = { ...DEFAULT_RATE_LIMITS, ...options.limits };
  const handle = createPushHandler({
    kinds: JOB_KINDS,
    verifier,
    clock,
    ownership: createOwnership({ lookups }),
    reviews,
    awaitsReview: () => false,
    beat() {},
    controlNow: () => undefined,
    reading,
    peers: createPeers({ failures, maxKeys }),
    accept: (push) => {
      accepted.push(push);
      return Promise.resolve(options.answer ?? { ok: true });
    },
    onPush: (result) => results.push(result),
    ...options,
  });
  const send = async (sent?: Sent) => {
    const { status, headers, body } = await handle(request(sent));
    return { status, headers, body: JSON.parse(body) };
  };
  return { clock, objects, counts, accepted, results, verifier, reviews, reading, handle, send };
}
