/** Sessions of browsers: one-time codes that are printed, and the keys that they are exchanged for. */
import { Buffer } from "node:buffer";
import { createHash, timingSafeEqual } from "node:crypto";
import { Bucket } from "../../platform/base/token_bucket.ts";
import { createRecentMemory } from "../../platform/base/recent_memory.ts";
import type { Clock } from "../../platform/base/clock.ts";

/** Bounds of codes and sessions. */
export const SESSION_LIMITS = {
  /** How long a code is good, in milliseconds. */
  codeMs: 600_000,
  /** How long the browser that opened a code may open it again, since it last did, in milliseconds. */
  againMs: 7 * 24 * 3_600_000,
  /** Codes that are good at a time; a further one takes the place of the oldest. */
  codes: 8,
  /** Wrong codes a minute, of all browsers together, that are answered as such. */
  triesPerMinute: 10,
  /** Sessions at a time; a further one takes the place of the one unused for longest. */
  sessions: 64,
  /** A session that is unused for so long is over, in milliseconds. */
  idleMs: 12 * 3_600_000,
} as const;

/** Random bytes of codes and keys. */
const SECRET_BYTES = 16;
/** Longest code or key that is read, in characters. */
const MAX_LENGTH = 64;

const TRIES = {
  ratePerSecond: SESSION_LIMITS.triesPerMinute / 60,
  burst: SESSION_LIMITS.triesPerMinute,
};

/** What comes of a code: a session, a refusal, or how long to wait with the next try. */
export type OpenedSession =
  | { readonly session: string }
  | { readonly why: "wrong_code" }
  | { readonly why: "too_many"; readonly retryAfterMs: number };

const hashOf = (text: string) => createHash("sha256").update(text).digest();

/** Creates them. Codes and keys are kept only as hashes. */
export function createBrowserSessions(
  { clock, randomBytes = (count) => crypto.getRandomValues(new Uint8Array(count)) }: {
    readonly clock: Pick<Clock, "monotonic">;
    /** Returns that many bytes that nobody can guess. Default: this machine's. */
    readonly randomBytes?: (count: number) => Uint8Array;
  },
) {
  let codes: readonly { readonly hash: Uint8Array; readonly untilMs: number }[] = [];
  const tries = new Bucket(TRIES);
  const sessions = createRecentMemory<object>({
    now: () => clock.monotonic(),
    max: SESSION_LIMITS.sessions,
    idleMs: SESSION_LIMITS.idleMs,
  });
  /** Codes with the secrets of those that opened them. */
  const opened = createRecentMemory<object>({
    now: () => clock.monotonic(),
    max: SESSION_LIMITS.sessions,
    idleMs: SESSION_LIMITS.againMs,
  });
  const secret = () => Buffer.from(randomBytes(SECRET_BYTES)).toString("base64url");
  const keyOf = (key: string) => hashOf(key).toString("base64");

  /** Takes the code away, if it is good. All are compared, so that the time says nothing. */
  function use(code: string): boolean {
    const hash = hashOf(code);
    const nowMs = clock.monotonic();
    const others = codes.filter((it) => !timingSafeEqual(it.hash, hash));
    const isGood = codes.some((it) => !others.includes(it) && nowMs < it.untilMs);
    codes = others.filter(({ untilMs }) => nowMs < untilMs);
    return isGood;
  }

  /** Nobody guesses 128 bits, so a good code is good whatever others have tried: they lock nobody out. */
  function refused(): OpenedSession {
    const waitMs = tries.take(clock.monotonic());
    return waitMs > 0 ? { why: "too_many", retryAfterMs: waitMs } : { why: "wrong_code" };
  }

  return {
    /** Returns a new code. */
    newCode(): string {
      const code = secret();
      const entry = { hash: hashOf(code), untilMs: clock.monotonic() + SESSION_LIMITS.codeMs };
      codes = [...codes, entry].slice(-SESSION_LIMITS.codes);
      return code;
    },
    /**
     * Exchanges a code for a session; it is good for no other, but for one of the same browser: of the one that
     * gives the same secret. Default: no browser may open it again.
     */
    open(code: string, browser = ""): OpenedSession {
      if (code.length > MAX_LENGTH || browser.length > MAX_LENGTH) return refused();
      const both = browser === "" ? undefined : keyOf(`${code} ${browser}`);
      if (both === undefined || opened.get(both) === undefined) {
        if (!use(code)) return refused();
        if (both !== undefined) opened.set(both, {});
      }
      const session = secret();
      sessions.set(keyOf(session), {});
      return { session };
    },
    /** Returns whether the key is that of a session, which counts as used now. */
    has: (key: string): boolean =>
      key.length <= MAX_LENGTH && sessions.get(keyOf(key)) !== undefined,
  };
}

/** Codes and sessions. */
export type BrowserSessions = ReturnType<typeof createBrowserSessions>;
