/** One request on its way through the chain: what came in, and what the stages found out. */
import type { TrainerStatus } from "../../crds/trainjob.ts";
import type { PushResponse, Refusal } from "./answer.ts";
import type { PushBody } from "./push.ts";
import type { TokenIdentity } from "../tokens/token_verification.ts";

/**
 * What a request is for, by method and path: POST …/status, POST …/status/history, GET …/status, and
 * GET …/status?watch=true.
 */
export type Route = "push" | "history" | "read" | "watch";

/** A request, whatever server it came through. */
export interface PushRequest {
  readonly method: string;
  /** Path with query, as it was sent. */
  readonly url: string;
  /** Address of the peer, without port. */
  readonly peer: string;
  /** The same object for all requests of a connection, where there is one. */
  readonly connection?: object;
  /** Value of a header by its lower-case name. */
  header(name: string): string | undefined;
  /**
   * Reads the body; undefined where it is longer than `maxBytes` (the rest is the server's to
   * discard). Throws {@link ClientGoneError} where the client goes away.
   */
  readBody(maxBytes: number): Promise<Uint8Array | undefined>;
}

/** The client closed the connection, or sent too slowly: nobody waits for an answer. */
export class ClientGoneError extends Error {
  constructor(options?: { cause?: unknown }) {
    super("the client went away before it had sent the whole push", options);
    this.name = "ClientGoneError";
  }
}

/** A push that passed every check, as it is handed to its owner. */
export interface Push {
  readonly job: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly pod: { readonly name: string; readonly uid: string };
  readonly trainerStatus: TrainerStatus;
  /** Of a history: what came before `trainerStatus`, in order. */
  readonly earlier?: readonly TrainerStatus[];
  /**
   * What the client wrote where a sample's time was moved, of `earlier` and `trainerStatus` in order: by it
   * a retry is known, whose time is moved elsewhere. Absent where none was.
   */
  readonly sentTimes?: readonly (string | undefined)[];
  /** Counts the pod's pushes, where the client says so. */
  readonly sequence?: number;
  /** Wall-clock time of arrival, in milliseconds. */
  readonly receivedMs: number;
}

/** Where a push comes from, once ownership is known. */
export interface PushOrigin {
  readonly namespace: string;
  /** Of the TrainJob. */
  readonly name: string;
  /** Of the TrainJob. */
  readonly uid: string;
  readonly pod: { readonly name: string; readonly uid: string };
}

/** What a trainer is told to do, in the answer to a push. */
export interface Control {
  readonly stop: boolean;
  readonly reason: string;
  readonly message: string;
}

/** The owner's answer to a push. */
export type Acceptance =
  | { readonly ok: true; readonly warnings?: readonly string[]; readonly control?: Control }
  | { readonly ok?: false; readonly retryAfterMs: number; readonly reason: string };

/**
 * Hands a push to the owner of its state; answers at once where nothing has to be waited for.
 * `signal` aborts when nobody waits for the answer.
 */
export type AcceptPush = (push: Push, signal: AbortSignal) => Acceptance | Promise<Acceptance>;

/** What the Authorization header holds. */
export type Bearer =
  | { readonly kind: "none" | "malformed" }
  | { readonly kind: "token"; readonly token: string; readonly hash: string };

/** Filled in by the stages, in their order. */
export interface Exchange {
  readonly request: PushRequest;
  /** Under what the peer is counted. */
  readonly peer: string;
  /** Wall-clock time of arrival, in milliseconds. */
  readonly nowMs: number;
  /** Monotonic time of arrival, in milliseconds. */
  readonly monotonicMs: number;
  readonly bearer: Bearer;
  route?: Route;
  job?: { readonly namespace: string; readonly name: string };
  identity?: TokenIdentity;
  audience?: string;
  pod?: { readonly name: string; readonly uid: string };
  jobUid?: string;
  /** When the pod started, in milliseconds since the epoch, where that is known. */
  podStartMs?: number;
  body?: PushBody;
  response?: PushResponse;
  /** Gives back what the request holds; called once, when it is answered. */
  release?: () => void;
}

/** What a step comes to. */
export type Outcome = Refusal | undefined;

/** A step of the chain: passes (undefined), refuses, or has the answer in `exchange.response`. */
export interface Stage {
  readonly name: string;
  /** The routes that it is a step of. Absent: all. The step that finds out the route runs on all. */
  readonly routes?: readonly Route[];
  readonly run: (exchange: Exchange) => Outcome | Promise<Outcome>;
}

/** What an earlier stage found out. Throws where the stages are in the wrong order: a bug. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`no stage has found out the ${what} yet`);
  return value;
}
