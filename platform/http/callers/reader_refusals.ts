/** Refusals of readers, whatever they read. */
import {
  COMMON_REFUSALS,
  forbidden,
  notFound,
  type Refusal,
  refusal,
  refusalsOf,
  tooMany,
  unauthorized,
  unavailable,
} from "../refusals.ts";
import type { AccessVerb } from "./reader_access.ts";
import type { TokenRefusal } from "./reader_token.ts";

/** What is said to readers of a path that there is not. */
export const UNKNOWN_PATH = notFound("no such path: see GET /openapi/v3");

const NOT_ACCEPTED = unauthorized("the API server does not accept the bearer token");

/** Returns a refusal of the table of readers. */
export const refuseReader = refusalsOf({
  ...COMMON_REFUSALS,
  malformed_token: unauthorized("the bearer token is no token of a service account"),
  expired: unauthorized("the bearer token has expired: ask for a new one"),
  refused: NOT_ACCEPTED,
  refused_before: NOT_ACCEPTED,
  review_limit: tooMany("too many tokens of this address are to be reviewed: wait, then try again"),
  check_limit: unavailable(
    "more readers are to be checked than the API server is asked about: try again soon",
  ),
  read_limit: tooMany("too many reads of this subject: wait, or watch"),
  change_limit: tooMany(
    "too many requests of this subject to stop or restart jobs: wait, then try again",
  ),
  subject_stream_limit: tooMany(
    "this subject has too many streams open (--max-streams-per-subject): close one, or " +
      "read without watch",
  ),
});

/** Returns the refusal of what proves nothing; `audience` is the one that tokens must be for. */
export function refuseToken(why: TokenRefusal, audience: string): Refusal<TokenRefusal> {
  if (why === "no_token") {
    const how = "send the header Authorization: Bearer and a token with the audience";
    return refusal(why, unauthorized(`${how} ${audience}`));
  }
  if (why !== "wrong_audience") return refuseReader(why);
  const message = `the bearer token is for another audience: ask for one for ${audience}`;
  return refusal(why, unauthorized(message));
}

/** Returns the refusal of a reader without a right; `object` is what that is on, for people. */
export function refuseAccess(
  subject: string,
  verb: AccessVerb,
  object: string,
): Refusal<"forbidden"> {
  return refusal("forbidden", forbidden(`${subject} may not ${verb} ${object}`));
}
