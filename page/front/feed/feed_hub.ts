/** Hub of feeds: what several subscribers show comes in as few streams as possible. */
import { keyOf, MOST_JOBS, nameOf } from "./job_key.ts";
import { numberOf, textOf } from "./answer_fields.ts";
import { asList, asObject } from "../../../platform/base/json.ts";
import type { VIEW_LIMITS } from "../../../crds/wire/view_limits.ts";
import type { Connection, FeedOptions, OpenFeed } from "./view_state.ts";

/** What one subscriber shows. */
export interface Subscription {
  readonly key: string;
  /** The parameters of its list, as a text; empty: no list. */
  readonly list: string;
  /** Keys of the jobs whose curves it shows. */
  readonly jobs: readonly string[];
}

/** What becomes of it. */
export interface SubscriberEvents {
  readonly onEvent: (event: string, data: unknown) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** Bounds of one stream: those of the server, and of a line of a request. */
export const STREAM_BOUNDS = {
  lists: 16 satisfies typeof VIEW_LIMITS.lists,
  jobs: MOST_JOBS,
  characters: 6_000,
} as const;

/** Time in which further changes of subscriptions make one new stream, in milliseconds. */
const GATHER_MS = 20;
/** The same after a subscriber has left. */
const IDLE_MS = 5_000;

/** A subscriber with what it was told last. */
interface Subscriber extends SubscriberEvents {
  readonly subscription: Subscription;
  connection: Connection;
}

const unique = (texts: readonly string[]) => [...new Set(texts)].filter((it) => it !== "");

/** The lists and jobs of one stream. */
function planOf(subscriptions: readonly Subscription[]) {
  const lists = unique(subscriptions.map(({ list }) => list));
  const jobs = unique(subscriptions.flatMap(({ jobs }) => jobs));
  const query = new URLSearchParams([
    ...lists.map((list) => ["list", list]),
    ...jobs.map((job) => ["job", job]),
  ]);
  return { lists, jobs, path: `/view/v1/events?${query}` };
}

function fits(subscriptions: readonly Subscription[]): boolean {
  const { lists, jobs, path } = planOf(subscriptions);
  return lists.length <= STREAM_BOUNDS.lists && jobs.length <= STREAM_BOUNDS.jobs &&
    path.length <= STREAM_BOUNDS.characters;
}

/** Returns the part of curves that is about those jobs; undefined if all are about others. */
function curvesFor(data: unknown, jobs: readonly string[]): object | undefined {
  const { curves, missing } = asObject(data);
  const isOf = (name: unknown) => jobs.includes(keyOf(nameOf(name)));
  const [all, missed] = [asList(curves), asList(missing)];
  const own = all.filter((it) => isOf(asObject(it).job));
  const gone = missed.filter(isOf);
  const isOfOthers = own.length + gone.length === 0 && all.length + missed.length > 0;
  return isOfOthers ? undefined : { curves: own, missing: gone };
}

/** One stream and its subscribers. */
class SharedStream {
  readonly subscribers = new Map<object, Subscriber>();
  #lists: readonly string[] = [];
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueMs = Infinity;

  constructor(readonly key: string, private readonly open: OpenFeed) {}

  get subscriptions(): readonly Subscription[] {
    return [...this.subscribers.values()].map(({ subscription }) => subscription);
  }

  /** Opens the stream anew for the subscriptions of that time. */
  plan(waitMs: number): void {
    const dueMs = Date.now() + waitMs;
    if (this.#timer !== undefined && dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#open(), waitMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#close?.();
    this.#close = undefined;
  }

  #open(): void {
    this.close();
    if (this.subscribers.size === 0) return;
    const { lists, path } = planOf(this.subscriptions);
    this.#lists = lists;
    const options: FeedOptions = {
      path,
      key: this.key,
      onConnection: (connection) => {
        // A stream that is opened anew for another's sake is no loss of connection.
        if (connection.phase === "connecting") return;
        for (const subscriber of this.subscribers.values()) tell(subscriber, connection);
      },
      onEvent: (event, data) => this.#pass(event, data),
    };
    this.#close = this.open(options);
  }

  #pass(event: string, data: unknown): void {
    for (const subscriber of [...this.subscribers.values()]) {
      const { subscription } = subscriber;
      if (event === "curves") {
        const own = curvesFor(data, subscription.jobs);
        if (own !== undefined) subscriber.onEvent(event, own);
      } else if (event === "outage") {
        if (subscription.jobs.length > 0) subscriber.onEvent(event, data);
      } else if (
        subscription.list !== "" &&
        this.#lists[numberOf(asObject(data).list) ?? -1] === subscription.list
      ) {
        this.#passList(subscriber, event, data);
      }
    }
  }

  #passList(subscriber: Subscriber, event: string, data: unknown): void {
    if (event === "refused") {
      const { code, message } = asObject(data);
      const [status, reason] = [numberOf(code) ?? 0, textOf(message)];
      tell(subscriber, { phase: "refused", status, reason });
    } else if (event === "jobs") {
      if (subscriber.connection.phase !== "live") tell(subscriber, { phase: "live" });
      subscriber.onEvent(event, data);
    }
  }
}

function tell(subscriber: Subscriber, connection: Connection): void {
  subscriber.connection = connection;
  subscriber.onConnection(connection);
}

/** Creates a hub; `open` opens a feed. */
export function createFeedHub(open: OpenFeed) {
  let streams: readonly SharedStream[] = [];
  const streamOf = (id: object) => streams.find(({ subscribers }) => subscribers.has(id));

  function leave(id: object): void {
    const stream = streamOf(id);
    if (stream === undefined) return;
    stream.subscribers.delete(id);
    if (stream.subscribers.size > 0) return stream.plan(IDLE_MS);
    stream.close();
    streams = streams.filter((it) => it !== stream);
  }

  return {
    leave,
    /** Gives `id` this subscription, in place of the one before. */
    subscribe(id: object, subscription: Subscription, events: SubscriberEvents): void {
      const before = streamOf(id);
      const connection: Connection = { phase: "connecting" };
      const subscriber: Subscriber = { ...events, subscription, connection };
      const others = streams.filter(({ key }) => key === subscription.key);
      // Its own stream first, so that a tab that turns elsewhere moves no other.
      const room = [...others].sort((a, b) => Number(b === before) - Number(a === before)).find(
        ({ subscribers }) =>
          fits([
            ...[...subscribers].filter(([it]) => it !== id).map(([, it]) => it.subscription),
            subscription,
          ]),
      );
      if (room !== before) leave(id);
      const stream = room ?? new SharedStream(subscription.key, open);
      if (room === undefined) streams = [...streams, stream];
      stream.subscribers.set(id, subscriber);
      stream.plan(GATHER_MS);
    },
    /** Streams that are open. */
    get streams(): number {
      return streams.length;
    },
  };
}
