/** What the API server's core needs of its parts: authentication, authorization, reviews, admission. */
import type { ApiObject } from "./objects/api_object.ts";

/** Who sends a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: string[];
  readonly extra?: Record<string, string[]>;
}

/** What somebody wants to do. */
export type Attributes =
  | {
    readonly verb: string;
    readonly group: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  }
  | { readonly verb: string; readonly path: string };

/** A request on its way to the store. */
export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE" | "CONNECT";
  readonly kind: { group: string; version: string; kind: string };
  readonly resource: { group: string; version: string; resource: string };
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly user: User;
  readonly dryRun: boolean;
  readonly options?: unknown;
}

/** The parts, each behind one function. */
export interface Parts {
  /** Undefined: nobody known. */
  authenticate(authorizationHeader: string | undefined): Promise<User | undefined>;
  authorize(user: User, attributes: Attributes): { allowed: boolean; reason: string };
  /** Answers a review of the given plural, such as `tokenreviews`. */
  createReview(resource: string, body: unknown, user: User): Promise<unknown>;
  /** Answers a TokenRequest. */
  createToken(serviceAccount: ApiObject, body: unknown, user: User): Promise<unknown>;
  /** The OpenID configuration and the keys that sign tokens. */
  openIdConfiguration(): unknown;
  jwks(): unknown;
  /**
   * Changes or refuses (throws `StatusError`) what is about to be stored. Between the two `finish`
   * makes of the changed object what will be stored; it may throw.
   */
  admit<T>(
    request: AdmissionRequest,
    finish: (changed: unknown) => T,
  ): Promise<{ object: T; warnings: string[] }>;
}

/** What a client wants of a pod's log. */
export interface PodLogRequest {
  readonly pod: ApiObject;
  readonly namespace: string;
  readonly name: string;
  readonly container: string;
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly sinceSeconds?: number;
  /** RFC 3339. */
  readonly sinceTime?: string;
  /** Aborted when the client goes away or the server closes. */
  readonly signal: AbortSignal;
}

/** Answers with the log as a stream of text. May throw `StatusError`-like errors. */
export type PodLogs = (request: PodLogRequest) => Promise<Response>;
