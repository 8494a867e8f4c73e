/** One job as the reader of a stream has it: the rows up to a place in its log, and what else it was told last. */
import { createHash } from "node:crypto";
import type { Position } from "../../crds/wire/observation.ts";
import { behind } from "../../owner/observations/log_parts.ts";
import type { SeenPage } from "../../owner/observations/observation_asks.ts";
import type { JobState } from "./observation_state.ts";

/** What has changed: the log, or the object of the job. */
export type Changed = "log" | "job";

/** Longest pause before a log that was out of reach is read again, plus up to as much again, in milliseconds. */
const LONGEST_PAUSE_MS = 5000;

/** Returns how long to wait before a log is read again: many streams wait for one, and do not come back together. */
export const pauseMs = (retryAfterMs: number, random: () => number): number =>
  Math.min(retryAfterMs, LONGEST_PAUSE_MS) * (1 + random());

/** A value as far as it is compared: a message may be long, and streams are many. */
const digestOf = (value: unknown) =>
  createHash("sha256").update(JSON.stringify(value) ?? "").digest("base64");

/** A job of which pages are told to one reader. */
export class SentJob<Page extends SeenPage, Told extends object> {
  #from: Position | undefined;
  #state: JobState | undefined;
  #stateDigest = "";
  #toldDigest = "";
  /** Whether new rows are always heard of: other changes of the job are then no news. */
  #isTold = false;

  constructor(
    private readonly options: {
      /** Behind what the reader has; absent: from the beginning. */
      readonly from?: Position | undefined;
      /** Returns the state of the job; undefined if it is gone. */
      readonly state: () => JobState | undefined;
      /** Returns what is told of it with a page; `next` is the place behind that. */
      readonly tell: (state: JobState, page: Page, next: Position | undefined) => Told;
    },
  ) {
    this.#from = options.from;
  }

  /** Behind what the reader has. */
  get from(): Position | undefined {
    return this.#from;
  }

  /** Takes the state as it is now, which the next page is told with. Returns false if the job is gone. */
  look(): boolean {
    this.#state = this.options.state();
    this.#stateDigest = digestOf(this.#state);
    return this.#state !== undefined;
  }

  /** Returns what the reader is told with a page that begins where it stands; undefined if nothing of that is new. */
  news(page: Page): Told | undefined {
    if (this.#state === undefined) return undefined;
    this.#from = behind(page.rows, this.#from);
    this.#isTold = page.isTold ?? false;
    const told = this.options.tell(this.#state, page, this.#from);
    // What is told besides the rows: an event that only repeats it is not sent.
    const digest = digestOf(this.options.tell(this.#state, { ...page, rows: [] }, this.#from));
    if (page.rows.length === 0 && digest === this.#toldDigest) return undefined;
    this.#toldDigest = digest;
    return told;
  }

  /** Whether a change may be news to the reader. */
  isNews(what: Changed): boolean {
    return what === "log" || !this.#isTold || this.#stateDigest !== digestOf(this.options.state());
  }
}
