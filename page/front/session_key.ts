/** Session of this tab: a one-time code from the address becomes a key, which the tab keeps. */
import { signal } from "@preact/signals";
import { ask, CallError } from "./server_calls.ts";
import { fieldsOf, textOf } from "./view_answers_read.ts";

/** A session. */
export interface Session {
  readonly key: string;
  readonly user: string;
  readonly server: string;
  readonly canChange: boolean;
}

/** The state of the session. */
export type SessionState =
  | { readonly phase: "starting" }
  | { readonly phase: "open"; readonly session: Session }
  | { readonly phase: "none"; readonly why: string };

/** The session. */
export const sessionState = signal<SessionState>({ phase: "starting" });

const STORED = "milepost.session";

function readSession(value: unknown): Session | undefined {
  const it = fieldsOf(value);
  const key = textOf(it.session);
  if (key === "") return undefined;
  return {
    key,
    user: textOf(it.user),
    server: textOf(it.server),
    canChange: it.canChange === true,
  };
}

function storedSession(): Session | undefined {
  try {
    return readSession(JSON.parse(sessionStorage.getItem(STORED) ?? "null"));
  } catch {
    return undefined;
  }
}

function keep(session: Session): void {
  const { key, ...others } = session;
  sessionStorage.setItem(STORED, JSON.stringify({ session: key, ...others }));
  sessionState.value = { phase: "open", session };
}

/** Ends the session: its key is not taken any more. */
export function loseSession(why: string): void {
  sessionStorage.removeItem(STORED);
  sessionState.value = { phase: "none", why };
}

/** Exchanges a code for a key. */
export async function exchangeCode(code: string): Promise<void> {
  sessionState.value = { phase: "starting" };
  try {
    const answer = await ask({ method: "POST", path: "/session", body: { code: code.trim() } });
    const session = readSession(answer);
    if (session === undefined) loseSession("The server gave no key for the code.");
    else keep(session);
  } catch (error) {
    const isOld = error instanceof CallError && error.status === 403;
    const why = error instanceof Error ? error.message : String(error);
    loseSession(isOld ? "The code is too old, or was used already." : why);
  }
}

/** Takes the code out of the address, so that it is in no history, or the key that the tab has. */
export function startSession(): void {
  const [, code] = /^#code=([^&]*)/.exec(location.hash) ?? [];
  if (code !== undefined) {
    history.replaceState(null, "", `${location.pathname}#/jobs`);
    exchangeCode(code);
    return;
  }
  const session = storedSession();
  if (session === undefined) sessionState.value = { phase: "none", why: "" };
  else sessionState.value = { phase: "open", session };
}
