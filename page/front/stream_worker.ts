/**
 * Worker that holds the one stream of all tabs of a browser, which allows six connections to a server, and knows the
 * session of any tab, for tabs that are opened beside. It keeps both only in memory, and no longer than the tabs.
 */
import { createFeedHub } from "./feed/feed_hub.ts";
import { textOf } from "./feed/answer_fields.ts";
import { asObject } from "../../platform/base/json.ts";
import { openFeed } from "./feed/view_feed.ts";
import type { TabMessage, WorkerMessage } from "./feed/worker_messages.ts";

/** Tabs say every 20 s that they are there, hidden ones once a minute: after so many checks without a word one is gone. */
const [CHECK_MS, MOST_MISSED] = [30_000, 6];

/** The part of a `SharedWorkerGlobalScope` that is used. */
interface WorkerScope {
  onconnect: ((event: MessageEvent) => void) | null;
}
declare const self: WorkerScope;

/** A tab. */
interface Tab {
  readonly port: MessagePort;
  session: unknown;
  turn: number;
  missed: number;
  /** The lock that it holds, which this worker waits for. */
  lock: string;
}

const hub = createFeedHub(openFeed);
const tabs = new Set<Tab>();

const tell = (tab: Tab, message: WorkerMessage) => tab.port.postMessage(message);

function leave(tab: Tab): void {
  tab.session = undefined;
  tabs.delete(tab);
  hub.leave(tab);
}

const keyOf = ({ session }: Tab) => textOf(asObject(session).key);

/** Ends the session of a tab in all others, too. */
function forget(tab: Tab): void {
  const key = keyOf(tab);
  leave(tab);
  if (key === "") return;
  for (const other of [...tabs].filter((it) => keyOf(it) === key)) {
    const { turn } = other;
    leave(other);
    const connection = { phase: "refused", status: 401, reason: "" } as const;
    tell(other, { kind: "connection", turn, connection });
  }
}

/** Leaves a tab when it is gone: one that crashed says nothing. */
function leaveOnRelease(tab: Tab, lock: string): void {
  if (lock === "" || lock === tab.lock) return;
  tab.lock = lock;
  navigator.locks.request(lock, () => leave(tab));
}

function heard(tab: Tab, message: TabMessage): void {
  if (message.kind === "leave") return leave(tab);
  if (message.kind === "forget") return forget(tab);
  if (message.kind === "ask") {
    const other = [...tabs].findLast((it) => it !== tab && keyOf(it) !== "");
    return tell(tab, { kind: "session", session: other?.session ?? null });
  }
  const { subscription, session, turn, lock } = message;
  tab.missed = 0;
  leaveOnRelease(tab, lock);
  if (tabs.has(tab) && tab.turn === turn) return;
  [tab.turn, tab.session] = [turn, session];
  tabs.add(tab);
  hub.subscribe(tab, subscription, {
    onEvent: (event, data) => tell(tab, { kind: "event", turn, event, json: JSON.stringify(data) }),
    onConnection: (connection) => {
      const isOver = connection.phase === "refused" && connection.status === 401;
      // Nobody shall be given a session that is over.
      if (isOver) tab.session = undefined;
      tell(tab, { kind: "connection", turn, connection });
    },
  });
}

self.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  const tab: Tab = { port, session: undefined, turn: 0, missed: 0, lock: "" };
  port.onmessage = ({ data }: MessageEvent<TabMessage>) => heard(tab, data);
};

// Counted, not measured: of a computer that wakes no tab has been silent.
setInterval(() => {
  for (const tab of [...tabs]) {
    tab.missed += 1;
    if (tab.missed > MOST_MISSED) leave(tab);
  }
}, CHECK_MS);
