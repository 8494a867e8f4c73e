/** Checks of requests for observations: the peer, its token, its rate and its rights. */
import { type AnyJob, type JobKind, type JobRef, jobText } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { JobOutcome } from "../../trials/mapping/trial_mapping.ts";
import {
  type Identified,
  identify,
  type NamedObject,
  readerOfToken,
  type ReaderParts,
  refusalOfRights,
} from "../../platform/http/callers/reader_checks.ts";
import type { ReaderToken } from "../../platform/http/callers/reader_token.ts";
import { notFound, type Refusal, refusal } from "../../platform/http/refusals.ts";
import type {
  ObservationAnswer,
  ObservationAsk,
  PagesAnswer,
  PagesAsk,
} from "../../owner/observations/observation_asks.ts";
import type { StopRequest } from "../../owner/observations/observations.ts";
import type { RestartRequest } from "../../owner/restarts/restart_asks.ts";
import type { RestartAnswer } from "../../crds/wire/restart_request.ts";
import type { StopAnswer } from "../../crds/wire/stop_request.ts";
import type { JobEnd } from "../../platform/http/event_stream.ts";
import type { StreamSlots } from "../../platform/http/limits/stream_limits.ts";
import type { HttpRequest } from "../../platform/http/message.ts";
import type { AskOwner } from "../../platform/http/replicas/owner_router.ts";
import type { RunInTurn } from "../../platform/base/fair_turns.ts";
import type { Changed } from "./sent_job.ts";
import type { ObservationQuery } from "./observation_query.ts";

/** A job by name. */
export type JobName = Omit<JobRef, "uid">;

/** All jobs of a kind in a namespace. */
export type Place = Pick<JobName, "kind" | "namespace">;

/** What streams of many jobs need. */
export interface ManyJobs {
  /** Asks the owner for pages of several logs, on any replica. Bounded in time. */
  readonly ask: AskOwner<PagesAsk, PagesAnswer>;
  /** Takes a question of a user: 0, or milliseconds to wait for one. */
  readonly take: (user: string, nowMs: number) => number;
  /** Runs these questions, few at a time, and users take turns. */
  readonly inTurn: RunInTurn;
  /** The jobs of a place that the cache has now. */
  readonly jobs: (place: Place) => readonly AnyJob[];
  /**
   * Calls the listener with each change of the cache, and whether the job is still there. Returns a function that stops
   * this.
   */
  readonly onJob: (place: Place, listener: (job: AnyJob, isThere: boolean) => void) => () => void;
}

/** The refusal of a job that is not there. */
export const unknownJob = (job: JobName) =>
  refusal("unknown_job", notFound(`there is no ${jobText(job)}`));

/** The job as rights are checked on it. */
const asObject = (job: JobName): NamedObject => ({ ...job, text: jobText(job) });

/** Parts of the API. */
export interface ApiParts extends ReaderParts {
  readonly kinds: JobKinds;
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
  /** Calls the listener when log or job change, of the present log soon. Returns a function that stops this. */
  readonly follow: (job: JobRef, listener: (what: Changed) => void) => () => void;
  readonly many: ManyJobs;
  /** Calls the listener when the job has ended, at once if it has. Returns a function that stops this. */
  readonly onJobEnd: (
    job: JobRef,
    listener: (end: JobEnd) => void,
  ) => () => void;
  /** 0 to 1, for jitter. Default `Math.random`. */
  readonly random?: () => number;
  /** Takes a request of a subject to change a job: 0, or milliseconds to wait for one. */
  readonly takeChange: (subject: string, nowMs: number) => number;
  /** Asks the owner of all state to stop a job, on any replica. Bounded in time. */
  readonly stop: (
    ask: StopRequest,
    signal: AbortSignal,
  ) => StopAnswer | Promise<StopAnswer>;
  /** Asks it to restart a job. */
  readonly restart: (
    ask: RestartRequest,
    signal: AbortSignal,
  ) => RestartAnswer | Promise<RestartAnswer>;
  /** Pages that are read at a time. Default 64. */
  readonly maxReads?: number;
}

/** A reader who may read, and what. */
export interface Granted extends Identified {
  readonly job: JobName;
  readonly query: ObservationQuery;
}

/** Returns why the reader of an open stream may not read on; undefined if it may. */
export async function refusalOfReader(
  parts: Pick<ApiParts, "access">,
  token: ReaderToken,
  job: JobName,
): Promise<Refusal | undefined> {
  const caller = await readerOfToken(parts, token);
  if ("why" in caller) return caller;
  return await refusalOfRights(parts, caller.reader, asObject(job), "get");
}

/** Checks who calls, at what rate, and that they may do that with the job. */
export async function checkCaller(
  parts: ApiParts,
  request: HttpRequest,
  job: JobName,
  verb: "get" | "update",
): Promise<Identified | Refusal> {
  const rate = verb === "get" ? {} : { take: parts.takeChange, limit: "change_limit" } as const;
  const caller = await identify(parts, request, rate);
  if ("why" in caller) return caller;
  const refused = await refusalOfRights(parts, caller.reader, asObject(job), verb);
  if (refused !== undefined) return refused;
  parts.peers.proved(request.peer, parts.clock.monotonic());
  return caller;
}
