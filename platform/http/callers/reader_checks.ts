/** Checks of readers, whatever they read: the peer, its token, its rate and its rights. */
import type { Clock } from "../../base/clock.ts";
import type { Peers } from "../limits/peers.ts";
import type { Arrival } from "../api_shell.ts";
import { FRESH_JSON } from "../json_responses.ts";
import type { HttpRequest } from "../message.ts";
import type { Access, AccessObject, AccessVerb, Reader, Unchecked } from "./reader_access.ts";
import type { Reauthorization } from "../event_stream.ts";
import { notNow, type Refusal } from "../refusals.ts";
import { refuseAccess, refuseReader, refuseToken, UNKNOWN_PATH } from "./reader_refusals.ts";
import { type ReaderToken, readerToken } from "./reader_token.ts";

/** Parts of the checks. */
export interface ReaderParts {
  readonly access: Access;
  /** Audience that tokens must be for, unless they are for the API server. */
  readonly audience: string;
  readonly clock: Clock;
  /** Shared with pushes: failures here count there. */
  readonly peers: Pick<Peers, "waitMs" | "isShunned" | "failed" | "proved">;
  /** Takes a read of a subject: 0, or milliseconds to wait for one. */
  readonly takeRead: (subject: string, nowMs: number) => number;
  /**
   * Takes the review of a peer's token that is for the API server: 0, or milliseconds to wait for one. Absent: such
   * tokens are refused.
   */
  readonly takeApiReview?: ((peer: string, nowMs: number) => number) | undefined;
}

/** A reader that the API server knows. */
export interface Identified {
  readonly token: ReaderToken;
  readonly reader: Reader;
}

/** Time after which a client may come again while the API server gives no answer. */
const SOON_MS = 1000;
const UNCHECKED: Readonly<Record<Unchecked, Refusal>> = {
  unavailable: notNow({
    reason: "the API server cannot be asked about the bearer token now: try again soon",
    retryAfterMs: SOON_MS,
  }),
  over_budget: refuseReader("check_limit", { retryAfterMs: SOON_MS }),
};

const tokenOf = ({ audience, clock, takeApiReview }: ReaderParts, request: HttpRequest) =>
  readerToken(request.header("authorization"), clock.now(), {
    audience,
    apiTokens: takeApiReview !== undefined,
  });

/** Refuses peers with too many failed authentications, but for tokens that were good before. */
export function refusalOfPeer(
  parts: ReaderParts,
  request: HttpRequest,
): Refusal | undefined {
  const { peer } = request;
  const { access, clock, peers } = parts;
  const nowMs = clock.monotonic();
  const retryAfterMs = peers.waitMs(peer, nowMs);
  if (retryAfterMs === 0) return undefined;
  const token = tokenOf(parts, request);
  if (!("why" in token) && access.wasAccepted(token)) return undefined;
  return refuseReader("peer_limit", { retryAfterMs, closes: peers.isShunned(peer, nowMs) });
}

/** Returns the parts of the API shell that all APIs of readers have in common. */
export const apiOfReaders = (parts: ReaderParts) => ({
  unknownPath: UNKNOWN_PATH,
  peers: parts.peers,
  headers: FRESH_JSON,
  arrive: (request: HttpRequest): Arrival => ({ request, monotonicMs: parts.clock.monotonic() }),
  admit: ({ request }: Arrival) => refusalOfPeer(parts, request),
});

/** Returns the parts as they check a stream that is open: its reader's rights come before those of new requests. */
export function ofOpenStream<P extends Pick<ReaderParts, "access">>(parts: P): P {
  const { access } = parts;
  return {
    ...parts,
    access: {
      ...access,
      authorize: (reader, object, verb) => access.authorize(reader, object, verb, true),
    },
  };
}

/** What rights are checked on, and its name for people. */
export interface NamedObject extends AccessObject {
  readonly text: string;
}

/** Returns the refusal of a reader that may not do that with the object; undefined if it may. */
export async function refusalOfRights(
  { access }: Pick<ReaderParts, "access">,
  reader: Reader,
  object: NamedObject,
  verb: AccessVerb,
): Promise<Refusal | undefined> {
  const may = await access.authorize(reader, object, verb);
  if (typeof may === "string") return UNCHECKED[may];
  if (typeof may === "object") return refuseReader("read_limit", may);
  if (may) return undefined;
  return refuseAccess(reader.username, verb, object.text);
}

/** Returns the reader whose token it is. Also called while a stream is open. */
export async function readerOfToken(
  { access }: Pick<ReaderParts, "access">,
  token: ReaderToken,
): Promise<{ readonly reader: Reader } | Refusal> {
  const reader = await access.authenticate(token);
  if (typeof reader === "object") return { reader };
  return reader === "refused" ? refuseReader("refused") : UNCHECKED[reader];
}

/**
 * Returns what a refusal means for a stream that is open: nothing while the API server gives no answer, and `later` where
 * too much is asked for the rights to be known, which may not last.
 */
export function refusalOfStream({ why, message }: Refusal): Reauthorization {
  if (why === "read_limit" || why === "check_limit") return "later";
  // A check that is not possible now takes no rights away.
  return why === "unavailable" ? undefined : { kind: "reader", why: message };
}

/** Checks who calls: the claims of its token, the API server's review, and its rate. */
export async function identify(
  parts: ReaderParts,
  request: HttpRequest,
  { take = parts.takeRead, limit = "read_limit" }: {
    readonly take?: ReaderParts["takeRead"];
    readonly limit?: "read_limit" | "change_limit";
  } = {},
): Promise<Identified | Refusal> {
  const { access, audience, clock, takeApiReview } = parts;
  const token = tokenOf(parts, request);
  if ("why" in token) return refuseToken(token.why, audience);
  if (access.wasRefused(token)) return refuseReader("refused_before");
  if (token.isForApi && !access.wasAccepted(token)) {
    const waitMs = takeApiReview?.(request.peer, clock.monotonic()) ?? 0;
    if (waitMs > 0) return refuseReader("review_limit", { retryAfterMs: waitMs });
  }
  const caller = await readerOfToken(parts, token);
  if ("why" in caller) return caller;
  const retryAfterMs = take(caller.reader.username, clock.monotonic());
  return retryAfterMs > 0
    ? refuseReader(limit, { retryAfterMs })
    : { token, reader: caller.reader };
}
