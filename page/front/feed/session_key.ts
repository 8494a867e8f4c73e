/** Session of this tab: a one-time code from the address becomes a key, or a token is one; the tab keeps it. */
import { signal } from "@preact/signals";
import { ask, problemOf } from "./server_calls.ts";
import type { PageFacts } from "../../../crds/wire/details.ts";
import { fields, type FieldsOf, textOf } from "./answer_fields.ts";
import { asObject, jsonOfText } from "../../../platform/base/json.ts";

/** How the server lets people in: by a code that it has printed, or by a token of the cluster. */
export type Login = "code" | "token";

/** A session. */
export interface Session extends Omit<PageFacts, "missing"> {
  /** Empty where a proxy adds the token to each request. */
  readonly key: string;
  readonly login: Login;
}

/** The state of the session. */
export type SessionState =
  | { readonly phase: "starting" }
  | { readonly phase: "open"; readonly session: Session }
  | { readonly phase: "none"; readonly why: string; readonly login: Login };

/** The session. */
export const sessionState = signal<SessionState>({ phase: "starting" });

const STORED = "milepost.session";
/** By this secret the server knows the browser that has opened a code, and opens it again. Alone it opens nothing. */
const BROWSER = "milepost.browser";

const factsOf = fields({ user: textOf, server: textOf } satisfies FieldsOf<PageFacts>);

function readSession(value: unknown, login: Login, key = textOf(asObject(value).session)): Session {
  return { key, login, ...factsOf(value) };
}

function storedSession(): Session | undefined {
  const stored = asObject(jsonOfText(sessionStorage.getItem(STORED) ?? ""));
  const session = readSession(stored, stored.login === "token" ? "token" : "code");
  return session.key === "" ? undefined : session;
}

function keep(session: Session): void {
  const { key, ...others } = session;
  if (key !== "") sessionStorage.setItem(STORED, JSON.stringify({ session: key, ...others }));
  sessionState.value = { phase: "open", session };
}

/** Ends the session: its key is not taken any more. */
export function loseSession(why: string, login?: Login): void {
  sessionStorage.removeItem(STORED);
  const before = sessionState.value;
  const last = before.phase === "open" ? before.session.login : undefined;
  sessionState.value = { phase: "none", why, login: login ?? last ?? "code" };
}

/** Returns the secret of this browser, which is made once; undefined where a browser keeps nothing. */
function browserSecret(): string | undefined {
  try {
    const kept = localStorage.getItem(BROWSER) ?? "";
    if (/^[0-9a-f]{32}$/.test(kept)) return kept;
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const made = [...bytes].map((it) => it.toString(16).padStart(2, "0")).join("");
    localStorage.setItem(BROWSER, made);
    return made;
  } catch {
    return undefined;
  }
}

/** Exchanges a code for a key. */
export async function exchangeCode(code: string): Promise<void> {
  sessionState.value = { phase: "starting" };
  try {
    const body = { code: code.trim(), browser: browserSecret() };
    const answer = await ask({ method: "POST", path: "/session", body });
    const session = readSession(answer, "code");
    if (session.key === "") loseSession("The server gave no key for the code.");
    else keep(session);
  } catch (error) {
    const { status, message } = problemOf(error);
    loseSession(status === 403 ? "The code is too old, or was used in another browser." : message);
  }
}

/** Asks the server who sends that token; without one, whether a proxy sends one. */
async function enter(key: string): Promise<void> {
  sessionState.value = { phase: "starting" };
  const call = { path: "/session", ...(key !== "" && { key }) };
  try {
    keep(readSession(await ask(call), "token", key));
  } catch (error) {
    const { status, message: why } = problemOf(error);
    if (status === 401) {
      loseSession(key === "" ? "" : "The cluster does not accept this token.", "token");
    } else if (key !== "") loseSession(why, "token");
    // A server with codes takes no such question.
    else loseSession(status === 404 || status === 405 ? "" : why, "code");
  }
}

/** Logs in with a token of the cluster. */
export const enterToken = (token: string): Promise<void> =>
  enter(token.trim().replace(/^bearer\s+/i, ""));

/**
 * Takes the code out of the address, so that it is in no history, and opens a session with it unless one is open.
 * Returns undefined if there is no code.
 */
export function takeCode(): Promise<void> | undefined {
  const [, code] = /^#code=([^&]*)/.exec(location.hash) ?? [];
  if (code === undefined) return undefined;
  history.replaceState(null, "", `${location.pathname}#/jobs`);
  return sessionState.value.phase === "open" ? Promise.resolve() : exchangeCode(code);
}

/**
 * Takes the code of the address, or the key that the tab has, or the session of another tab: `otherSession` resolves
 * with it, or with undefined. Without any a proxy may have one.
 */
export async function startSession(otherSession: () => Promise<unknown>): Promise<void> {
  const opened = takeCode();
  if (opened !== undefined) return await opened;
  const session = storedSession();
  if (session !== undefined) {
    sessionState.value = { phase: "open", session };
    return;
  }
  const { key, login, ...facts } = asObject(await otherSession());
  if (sessionState.value.phase !== "starting") return;
  const other = readSession(facts, login === "token" ? "token" : "code", textOf(key));
  if (other.key === "") await enter("");
  else keep(other);
}
