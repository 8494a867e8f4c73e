/** Feed of this tab: from the worker that holds the stream of all tabs, or, where there is none, from a stream of its own. */
import { createFeedHub, type SubscriberEvents, type Subscription } from "./feed_hub.ts";
import { openFeed } from "./view_feed.ts";
import { workerUrl } from "../worker_url.ts";
import type { TabMessage, WorkerMessage } from "./worker_messages.ts";

/** The feed of a tab. */
export interface TabFeed {
  /** Subscribes to that, in place of what was before; undefined: to nothing, because the session is over. */
  subscribe(
    subscription: Subscription | undefined,
    session: unknown,
    events: SubscriberEvents,
  ): void;
  /** Resolves with the session of another tab; undefined if there is none. */
  otherSession(): Promise<unknown>;
}

/** A hidden tab is heard once a minute, others as often as this, in milliseconds. */
const ALIVE_MS = 20_000;
/** Time within which the worker answers, in milliseconds. */
const ANSWER_MS = 1_000;

/** Starts the worker, or finds the one that runs; undefined where there can be none. */
function startWorker(): SharedWorker | undefined {
  const path = document.querySelector<HTMLElement>("script[data-worker]")?.dataset.worker;
  if (path === undefined || typeof SharedWorker === "undefined") return undefined;
  try {
    return new SharedWorker(workerUrl(path), { name: "milepost", type: "module" });
  } catch {
    // Another policy, or a browser without workers of this kind.
    return undefined;
  }
}

/** A feed of its own. */
function ownFeed(): TabFeed {
  const hub = createFeedHub(openFeed);
  const id = {};
  return {
    subscribe(subscription, _session, events) {
      if (subscription === undefined) hub.leave(id);
      else hub.subscribe(id, subscription, events);
    },
    otherSession: () => Promise.resolve(undefined),
  };
}

/** Holds a lock until the tab is gone, however it goes, and calls back with its name; never where there are no locks. */
function holdLock(onHeld: (name: string) => void): void {
  const name = `milepost-tab-${crypto.randomUUID()}`;
  // A page by plain HTTP from another machine has none.
  navigator.locks?.request(name, () => {
    onHeld(name);
    return new Promise(() => {});
  });
}

/** The feed of a worker; of its own if the worker cannot run. */
function sharedFeed(worker: SharedWorker): TabFeed {
  const { port } = worker;
  let current: Parameters<TabFeed["subscribe"]> | undefined;
  let own: TabFeed | undefined;
  let turn = 0;
  let lock = "";
  let onSession: ((session: unknown) => void) | undefined;
  const say = (message: TabMessage) => port.postMessage(message);
  const again = () => {
    const [subscription, session] = current ?? [];
    if (subscription !== undefined && own === undefined) {
      say({ kind: "subscribe", turn, subscription, session, lock });
    }
  };
  const heard = (message: WorkerMessage) => {
    if (message.kind === "session") return onSession?.(message.session ?? undefined);
    const [, , events] = current ?? [];
    // What is still under way for the subscription before.
    if (message.turn !== turn || own !== undefined) return;
    if (message.kind === "event") events?.onEvent(message.event, JSON.parse(message.json));
    else events?.onConnection(message.connection);
  };
  port.onmessage = ({ data }: MessageEvent<WorkerMessage>) => heard(data);
  worker.addEventListener("error", () => {
    own ??= ownFeed();
    if (current !== undefined) own.subscribe(...current);
  });
  holdLock((name) => {
    lock = name;
    again();
  });
  setInterval(again, ALIVE_MS);
  globalThis.addEventListener("pagehide", () => say({ kind: "leave" }));
  globalThis.addEventListener("pageshow", ({ persisted }) => persisted && again());
  return {
    subscribe(...next) {
      current = next;
      turn += 1;
      if (own !== undefined) own.subscribe(...next);
      else if (next[0] === undefined) say({ kind: "forget" });
      else again();
    },
    otherSession: () =>
      new Promise((resolve) => {
        onSession = resolve;
        setTimeout(() => resolve(undefined), ANSWER_MS);
        say({ kind: "ask" });
      }),
  };
}

/** Creates the feed of this tab. */
export function createTabFeed(): TabFeed {
  const worker = startWorker();
  return worker === undefined ? ownFeed() : sharedFeed(worker);
}
