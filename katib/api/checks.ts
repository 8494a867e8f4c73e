/** Checks of requests for observations: the peer, its token, its rate and its rights. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import type { JobOutcome } from "../../trials/mapping/trial_mapping.ts";
import type { Access, Reader } from "./observation_access.ts";
import type { ApiRefusal } from "./answers.ts";
import type { ObservationAnswer, ObservationAsk } from "./owner_requests.ts";
import type { JobEnd } from "../../http/event_stream.ts";
import type { Peers } from "../../http/limits/peers.ts";
import type { StreamSlots } from "../../http/limits/stream_limits.ts";
import type { HttpRequest } from "../../http/message.ts";
import type { ObservationQuery } from "./observation_query.ts";
import { type ReaderToken, readerToken } from "./token.ts";

/** A job by name. */
export type JobName = Omit<JobRef, "uid">;

/** The job in messages for people. */
export function jobText({ kind, namespace, name }: JobName): string {
  return `${kind.kind} ${namespace}/${name}`;
}

/** Parts of the API. */
export interface ApiParts {
  readonly kinds: JobKinds;
  readonly access: Access;
  readonly clock: Clock;
  /** Shared with pushes: failures here count there. */
  readonly peers: Pick<Peers, "waitMs" | "isShunned" | "failed" | "proved">;
  /** Takes a read of a subject: 0, or milliseconds to wait for one. */
  readonly takeRead: (subject: string, nowMs: number) => number;
  /** Room for streams, which the streams of statuses share. */
  readonly slots: Pick<StreamSlots, "take">;
  /** The job, by a cache or a bounded read. Throws if that cannot be known now. */
  readonly findJob: (job: JobName) => AnyJob | undefined | Promise<AnyJob | undefined>;
  /** The job as the cache has it now, if it has that very one. */
  readonly jobNow: (job: JobRef) => AnyJob | undefined;
  /** Returns the outcome of the job by its trial's template. */
  readonly outcomeOf: (kind: JobKind, job: AnyJob) => JobOutcome;
  /** Asks the owner of all state, on any replica. Bounded in time. */
  readonly ask: (
    ask: ObservationAsk,
    signal: AbortSignal,
  ) => ObservationAnswer | Promise<ObservationAnswer>;
  /** Calls the listener at once, and when log or job change. Returns a function that stops this. */
  readonly follow: (job: JobRef, listener: () => void) => () => void;
  /** Calls the listener when the job has ended, at once if it has. Returns a function that stops this. */
  readonly onJobEnd: (
    job: JobRef,
    listener: (end: JobEnd) => void,
  ) => () => void;
  /** 0 to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
  /** How long the owner may take to answer. Default 5 s. */
  readonly answerDeadlineMs?: number;
  /** Pages that are read at a time. Default 64. */
  readonly maxReads?: number;
}

/** A reader who may read, and what. */
export interface Granted {
  readonly job: JobName;
  readonly query: ObservationQuery;
  readonly token: ReaderToken;
  readonly reader: Reader;
}

/** Time after which a client may come again while the API server gives no answer. */
const SOON_MS = 1000;
const UNCHECKED: ApiRefusal = {
  why: "unavailable",
  reason: "the API server cannot be asked about the bearer token now: try again soon",
  retryAfterMs: SOON_MS,
};

/** Refuses peers with too many failed authentications, but for tokens that were good before. */
export function refusalOf(
  { access, clock, peers }: ApiParts,
  request: HttpRequest,
): ApiRefusal | undefined {
  const { peer } = request;
  const nowMs = clock.monotonic();
  const retryAfterMs = peers.waitMs(peer, nowMs);
  if (retryAfterMs === 0) return undefined;
  const token = readerToken(request.header("authorization"), clock.now());
  if (!("why" in token) && access.wasAccepted(token)) return undefined;
  return { why: "peer_limit", retryAfterMs, closes: peers.isShunned(peer, nowMs) };
}

/** Returns the reader if it may get the job. Also called while a stream is open. */
export async function mayRead(
  { access }: Pick<ApiParts, "access">,
  token: ReaderToken,
  job: JobName,
): Promise<{ readonly reader: Reader } | ApiRefusal> {
  const reader = await access.authenticate(token);
  if (reader === undefined) return UNCHECKED;
  if (reader === "refused") return { why: "refused" };
  const may = await access.authorize(reader, job);
  if (may === undefined) return UNCHECKED;
  if (typeof may === "object") return { why: "read_limit", ...may };
  if (may) return { reader };
  return { why: "forbidden", subject: reader.username, job: jobText(job) };
}

/** Checks the caller: the claims of its token, the API server's review, its rate and its rights. */
export async function check(
  parts: ApiParts,
  request: HttpRequest,
  asked: Pick<Granted, "job" | "query">,
): Promise<Granted | ApiRefusal> {
  const { access, clock, peers, takeRead } = parts;
  const token = readerToken(request.header("authorization"), clock.now());
  if ("why" in token) return token;
  if (access.wasRefused(token)) return { why: "refused_before" };
  const reader = await access.authenticate(token);
  if (reader === undefined) return UNCHECKED;
  if (reader === "refused") return { why: "refused" };
  const retryAfterMs = takeRead(reader.username, clock.monotonic());
  if (retryAfterMs > 0) return { why: "read_limit", retryAfterMs };
  const may = await mayRead(parts, token, asked.job);
  if ("why" in may) return may;
  peers.proved(request.peer, clock.monotonic());
  return { ...asked, token, reader };
}
