/**
 * Messages between the tabs of a browser and the worker that holds their stream. Nobody else has their ports, and the
 * name of the worker's file has its hash: both ends know the same messages.
 */
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
