/** A request in its chain of stages, with their results. */
import type { NamedJob } from "../../crds/job_kind.ts";
import type { Refusal } from "../../platform/http/refusals.ts";
import type { Bearer } from "../../platform/http/callers/bearer.ts";
import type { HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import type { PushBody } from "../../crds/wire/push.ts";
import type { TokenIdentity } from "../../platform/http/callers/token_verification.ts";

/**
 * What a request is for, by method and path: POST …/status, POST …/status/history, GET …/status, and
 * GET …/status?watch=true.
 */
export type Chain = "push" | "history" | "read" | "watch";

/** State of a request, filled in by the stages in their order. */
export interface Exchange {
  readonly request: HttpRequest;
  /** Key under which the peer is counted. */
  readonly peer: string;
  /** Wall-clock time of arrival, in milliseconds. */
  readonly nowMs: number;
  /** Monotonic time of arrival, in milliseconds. */
  readonly monotonicMs: number;
  readonly bearer: Bearer;
  chain?: Chain;
  /** Bytes that its body may have. */
  maxBodyBytes?: number;
  job?: NamedJob;
  identity?: TokenIdentity;
  audience?: string;
  pod?: { readonly name: string; readonly uid: string };
  jobUid?: string;
  /** Start of the pod in milliseconds since the epoch, if known. */
  podStartMs?: number;
  body?: PushBody;
  response?: HttpResponse;
  /** Releases what the request holds; called once, when it is answered. */
  release?: () => void;
}

/** Outcome of a stage: a refusal, or undefined if the request passes. */
export type Outcome = Refusal | undefined;

/** A step of a chain: it passes, refuses, or puts the response into the exchange. */
export interface Stage {
  readonly name: string;
  readonly run: StageRun;
}

/** Function of a stage. It returns a promise only if it waits for something. */
export type StageRun = (exchange: Exchange) => Outcome | Promise<Outcome>;

/** Returns what an earlier stage found. Throws if the stages are in the wrong order, which is a bug. */
export function required<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no stage has found the ${what} yet`);
  return value;
}
