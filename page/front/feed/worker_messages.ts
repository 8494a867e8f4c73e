/** Messages between the tabs of a browser and the worker that holds their stream. Pure. */
import { fieldsOf, listOf, numberOf, textOf } from "./answer_fields.ts";
import type { Subscription } from "./feed_hub.ts";
import type { Connection } from "./view_state.ts";

/** What a tab says. `turn` counts its subscriptions; the same once more says that the tab is still there. */
export type TabMessage =
  | {
    readonly kind: "subscribe";
    readonly turn: number;
    readonly subscription: Subscription;
    readonly session: unknown;
    /** Name of the lock that the tab holds as long as it lives; empty: none yet, or the browser has no locks. */
    readonly lock: string;
  }
  /** The tab goes. */
  | { readonly kind: "leave" }
  /** Its session is over, or logged out: for all tabs that have it. */
  | { readonly kind: "forget" }
  /** A tab without a session asks whether another tab has one. */
  | { readonly kind: "ask" };

/** What the worker says; `turn` is that of the subscription that it is about. */
export type WorkerMessage =
  | {
    readonly kind: "event";
    readonly turn: number;
    readonly event: string;
    /** Its data as JSON. */
    readonly json: string;
  }
  | { readonly kind: "connection"; readonly turn: number; readonly connection: Connection }
  /** The session of another tab, as that tab has it; null: there is none. */
  | { readonly kind: "session"; readonly session: unknown };

/** Reads what a tab says; undefined if it is nothing. */
export function readTabMessage(value: unknown): TabMessage | undefined {
  const { kind, subscription, session, ...others } = fieldsOf(value);
  if (kind === "leave" || kind === "forget" || kind === "ask") return { kind };
  if (kind !== "subscribe") return undefined;
  const { key, list, jobs } = fieldsOf(subscription);
  return {
    kind,
    session,
    turn: numberOf(others.turn) ?? 0,
    lock: textOf(others.lock),
    subscription: { key: textOf(key), list: textOf(list), jobs: listOf(jobs).map(textOf) },
  };
}

function connectionOf(value: unknown): Connection {
  const { phase, sinceMs, reason, status } = fieldsOf(value);
  if (phase === "live") return { phase };
  if (phase === "down") {
    return { phase, sinceMs: numberOf(sinceMs) ?? 0, reason: textOf(reason) };
  }
  if (phase === "refused") {
    return { phase, status: numberOf(status) ?? 0, reason: textOf(reason) };
  }
  return { phase: "connecting" };
}

/** Reads what the worker says; undefined if it is nothing. */
export function readWorkerMessage(value: unknown): WorkerMessage | undefined {
  const { kind, event, json, connection, session, ...others } = fieldsOf(value);
  const turn = numberOf(others.turn) ?? 0;
  if (kind === "event") return { kind, turn, event: textOf(event), json: textOf(json) };
  if (kind === "connection") return { kind, turn, connection: connectionOf(connection) };
  return kind === "session" ? { kind, session } : undefined;
}
