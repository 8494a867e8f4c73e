/** Access of the page's sessions: each is the one user, with what the API server says that user may. */
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { Access, AccessObject, Reader } from "../../platform/http/callers/reader_access.ts";
import type { ReaderParts } from "../../platform/http/callers/reader_checks.ts";
import type { Clock } from "../../platform/base/clock.ts";
import type { BrowserSessions } from "../server/browser_sessions.ts";
import type { UserRights } from "./user_rights.ts";

/** Creates the checks of readers; a session's key is the bearer token. */
export function createUserAccess({ clock, sessions, rights, user, ensureCached }: {
  readonly clock: Clock;
  /** An open stream asks for its session again and again: that is use of it, and the stream ends with it. */
  readonly sessions: Pick<BrowserSessions, "has">;
  readonly rights: UserRights;
  /** The user's name, for messages. */
  readonly user: string;
  /** Puts the jobs that the user may list into the caches; false if there is no room for them. */
  readonly ensureCached: (object: AccessObject) => Promise<boolean>;
}): ReaderParts {
  const reader: Reader = { username: user, groups: [], key: user };
  const access: Access = {
    wasAccepted: () => true,
    wasRefused: () => false,
    authenticate: ({ token }) => Promise.resolve(sessions.has(token) ? reader : "refused"),
    async authorize(_, object, verb = "get") {
      const may = await rights.may(object, verb);
      if (may === undefined) return "unavailable";
      return may && verb === "list" ? await ensureCached(object) : may;
    },
    close: rights.close,
  };
  return {
    access,
    audience: OBSERVATION_AUDIENCE,
    clock,
    // Whoever calls has a session, and pays with nothing but this process's time.
    peers: { waitMs: () => 0, isShunned: () => false, failed: () => {}, proved: () => {} },
    takeRead: () => 0,
    takeApiReview: () => 0,
  };
}
