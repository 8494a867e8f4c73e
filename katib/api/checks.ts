/** Checks of requests for observations: the peer, its token, its rate and its rights. */
import type { AnyJob, JobKind, JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { Clock } from "../../kube/clock.ts";
import type { JobOutcome } from "../../trials/mapping/trial_mapping.ts";
import type { Access, AccessObject, AccessVerb, Reader } from "./observation_access.ts";
import type { ApiRefusal } from "./answers.ts";
import type { ObservationAnswer, ObservationAsk } from "./owner_requests.ts";
import type { OwnerStopAnswer, StopAsk } from "./owner_stops.ts";
import type { JobEnd } from "../../http/event_stream.ts";
import type { Peers } from "../../http/limits/peers.ts";
import type { StreamSlots } from "../../http/limits/stream_limits.ts";
import type { HttpRequest } from "../../http/message.ts";
import type { ObservationQuery } from "./observation_query.ts";
import { type ReaderToken, readerToken } from "./token.ts";

/** A job by name. */
export type JobName = Omit<JobRef, "uid">;

/** An object in messages for people. */
function objectText({ kind, namespace, name }: NamedObject): string {
  return `${kind.kind} ${namespace}/${name}`;
}

/** The job in messages for people. */
export const jobText = (job: JobName): string => objectText(job);

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
  /** Takes a request of a subject to stop a job: 0, or milliseconds to wait for one. */
  readonly takeStop: (subject: string, nowMs: number) => number;
  /** Asks the owner of all state to stop a job, on any replica. Bounded in time. */
  readonly stop: (
    ask: StopAsk,
    signal: AbortSignal,
  ) => OwnerStopAnswer | Promise<OwnerStopAnswer>;
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

/** An object on which rights are checked, and its kind for people. */
export type NamedObject = AccessObject & { readonly kind: { readonly kind: string } };

/** Returns the refusal of a reader that may not do that with the object; undefined if it may. */
export async function refusalOfRights(
  { access }: Pick<ApiParts, "access">,
  reader: Reader,
  object: NamedObject,
  verb: AccessVerb,
): Promise<ApiRefusal | undefined> {
  const may = await access.authorize(reader, object, verb);
  if (may === undefined) return UNCHECKED;
  if (typeof may === "object") return { why: "read_limit", ...may };
  if (may) return undefined;
  return { why: "forbidden", subject: reader.username, verb, object: objectText(object) };
}

/** Returns the reader if it may get the job. Also called while a stream is open. */
export async function mayRead(
  parts: Pick<ApiParts, "access">,
  token: ReaderToken,
  job: JobName,
): Promise<{ readonly reader: Reader } | ApiRefusal> {
  const reader = await parts.access.authenticate(token);
  if (reader === undefined) return UNCHECKED;
  if (reader === "refused") return { why: "refused" };
  return await refusalOfRights(parts, reader, job, "get") ?? { reader };
}

/** Checks who calls: the claims of its token, the API server's review, and its rate. */
async function identify(
  { access, clock }: ApiParts,
  request: HttpRequest,
  take: ApiParts["takeRead"],
  limit: "read_limit" | "stop_limit",
): Promise<Pick<Granted, "token" | "reader"> | ApiRefusal> {
  const token = readerToken(request.header("authorization"), clock.now());
  if ("why" in token) return token;
  if (access.wasRefused(token)) return { why: "refused_before" };
  const reader = await access.authenticate(token);
  if (reader === undefined) return UNCHECKED;
  if (reader === "refused") return { why: "refused" };
  const retryAfterMs = take(reader.username, clock.monotonic());
  return retryAfterMs > 0 ? { why: limit, retryAfterMs } : { token, reader };
}

/** Checks the caller of a read: the claims of its token, the API server's review, its rate and its rights. */
export async function check(
  parts: ApiParts,
  request: HttpRequest,
  asked: Pick<Granted, "job" | "query">,
): Promise<Granted | ApiRefusal> {
  const caller = await identify(parts, request, parts.takeRead, "read_limit");
  if ("why" in caller) return caller;
  const may = await mayRead(parts, caller.token, asked.job);
  if ("why" in may) return may;
  parts.peers.proved(request.peer, parts.clock.monotonic());
  return { ...asked, token: caller.token, reader: may.reader };
}

/** Checks the caller of a request to stop a job, as {@link check} does; it may update the job. */
export async function checkStop(
  parts: ApiParts,
  request: HttpRequest,
  job: JobName,
): Promise<{ readonly reader: Reader } | ApiRefusal> {
  const caller = await identify(parts, request, parts.takeStop, "stop_limit");
  if ("why" in caller) return caller;
  const refusal = await refusalOfRights(parts, caller.reader, job, "update");
  if (refusal !== undefined) return refusal;
  parts.peers.proved(request.peer, parts.clock.monotonic());
  return { reader: caller.reader };
}
