/** Hub of feeds: what several lookers look at comes in as few streams as it fits into. */
import { keyOf, MOST_JOBS, nameOf } from "./job_key.ts";
import { fieldsOf, listOf, numberOf, textOf } from "./answer_fields.ts";
import type { VIEW_LIMITS } from "../../../crds/wire/view_limits.ts";
import type { Connection, FeedOptions, OpenFeed } from "./view_state.ts";

/** What one looker looks at. */
export interface Look {
  readonly key: string;
  /** The parameters of its list, as a text; empty: no list. */
  readonly list: string;
  /** Keys of the jobs whose curves it shows. */
  readonly jobs: readonly string[];
}

/** What becomes of it. */
export interface LookerEvents {
  readonly onEvent: (event: string, data: unknown) => void;
  readonly onConnection: (connection: Connection) => void;
}

/** Bounds of one stream: those of the server, and of a line of a request. */
export const STREAM_BOUNDS = {
  lists: 16 satisfies typeof VIEW_LIMITS.lists,
  jobs: MOST_JOBS,
  characters: 6_000,
} as const;

/** Time in which further changes of what is looked at make one new stream, in milliseconds. */
const GATHER_MS = 20;
/** The same where less is looked at than before. */
const IDLE_MS = 5_000;

/** A looker with what it was told last. */
interface Looker extends LookerEvents {
  readonly look: Look;
  connection: Connection;
}

const unique = (texts: readonly string[]) => [...new Set(texts)].filter((it) => it !== "");

/** The lists and jobs of one stream. */
function planOf(looks: readonly Look[]) {
  const lists = unique(looks.map(({ list }) => list));
  const jobs = unique(looks.flatMap(({ jobs }) => jobs));
  const query = new URLSearchParams([
    ...lists.map((list) => ["list", list]),
    ...jobs.map((job) => ["job", job]),
  ]);
  return { lists, jobs, path: `/view/v1/events?${query}` };
}

function fits(looks: readonly Look[]): boolean {
  const { lists, jobs, path } = planOf(looks);
  return lists.length <= STREAM_BOUNDS.lists && jobs.length <= STREAM_BOUNDS.jobs &&
    path.length <= STREAM_BOUNDS.characters;
}

/** Returns the part of curves that is about those jobs; undefined if nothing is. */
function curvesFor(data: unknown, jobs: readonly string[]): object | undefined {
  const { curves, missing } = fieldsOf(data);
  const isOf = (name: unknown) => jobs.includes(keyOf(nameOf(name)));
  const own = listOf(curves).filter((it) => isOf(fieldsOf(it).job));
  const gone = listOf(missing).filter(isOf);
  return own.length + gone.length === 0 ? undefined : { curves: own, missing: gone };
}

/** One stream and its lookers. */
class SharedStream {
  readonly lookers = new Map<object, Looker>();
  #lists: readonly string[] = [];
  #close: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueMs = Infinity;

  constructor(readonly key: string, private readonly open: OpenFeed) {}

  get looks(): readonly Look[] {
    return [...this.lookers.values()].map(({ look }) => look);
  }

  /** Opens the stream anew for what is looked at by then. */
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
    if (this.lookers.size === 0) return;
    const { lists, path } = planOf(this.looks);
    this.#lists = lists;
    const options: FeedOptions = {
      path,
      key: this.key,
      onConnection: (connection) => {
        // A stream that is opened anew for another's sake is no loss of connection.
        if (connection.phase === "connecting") return;
        for (const looker of this.lookers.values()) tell(looker, connection);
      },
      onEvent: (event, data) => this.#pass(event, data),
    };
    this.#close = this.open(options);
  }

  #pass(event: string, data: unknown): void {
    for (const looker of [...this.lookers.values()]) {
      const { look } = looker;
      if (event === "curves") {
        const own = curvesFor(data, look.jobs);
        if (own !== undefined) looker.onEvent(event, own);
      } else if (event === "outage") {
        if (look.jobs.length > 0) looker.onEvent(event, data);
      } else if (
        look.list !== "" && this.#lists[numberOf(fieldsOf(data).list) ?? -1] === look.list
      ) {
        this.#passList(looker, event, data);
      }
    }
  }

  #passList(looker: Looker, event: string, data: unknown): void {
    if (event === "refused") {
      const { code, message } = fieldsOf(data);
      const [status, reason] = [numberOf(code) ?? 0, textOf(message)];
      tell(looker, { phase: "refused", status, reason });
    } else if (event === "jobs") {
      if (looker.connection.phase !== "live") tell(looker, { phase: "live" });
      looker.onEvent(event, data);
    }
  }
}

function tell(looker: Looker, connection: Connection): void {
  looker.connection = connection;
  looker.onConnection(connection);
}

/** A hub. */
export interface FeedHub {
  /** Lets `id` look at that from now on, and at nothing else. */
  look(id: object, look: Look, events: LookerEvents): void;
  leave(id: object): void;
  /** Streams that are open. */
  readonly streams: number;
}

/** Creates a hub; `open` opens a feed. */
export function createFeedHub(open: OpenFeed): FeedHub {
  let streams: readonly SharedStream[] = [];
  const streamOf = (id: object) => streams.find(({ lookers }) => lookers.has(id));

  function leave(id: object): void {
    const stream = streamOf(id);
    if (stream === undefined) return;
    stream.lookers.delete(id);
    if (stream.lookers.size > 0) return stream.plan(IDLE_MS);
    stream.close();
    streams = streams.filter((it) => it !== stream);
  }

  return {
    leave,
    look(id, look, events) {
      const before = streamOf(id);
      const connection: Connection = { phase: "connecting" };
      const looker: Looker = { ...events, look, connection };
      const others = streams.filter(({ key }) => key === look.key);
      // Its own stream first, so that a tab that looks elsewhere moves no other.
      const room = [...others].sort((a, b) => Number(b === before) - Number(a === before)).find(
        ({ lookers }) =>
          fits([...[...lookers].filter(([it]) => it !== id).map(([, it]) => it.look), look]),
      );
      if (room !== before) leave(id);
      const stream = room ?? new SharedStream(look.key, open);
      if (room === undefined) streams = [...streams, stream];
      stream.lookers.set(id, looker);
      stream.plan(GATHER_MS);
    },
    get streams() {
      return streams.length;
    },
  };
}
