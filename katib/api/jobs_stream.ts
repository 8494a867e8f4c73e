/** Observations of many jobs as server-sent events: every row of each log once, and each change of the states. */
import type { JobRef } from "../../crds/job_kind.ts";
import { OBSERVATION_LIMITS, type Position } from "../../crds/wire/observation.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { eventText, type StreamEnd, type WriteEvents } from "../../platform/http/event_stream.ts";
import {
  PAGES_PER_ASK,
  type PagesAnswer,
  type PagesAsk,
} from "../../owner/observations/observation_asks.ts";
import { comeAgain, type Refused } from "../../platform/http/replicas/owner_router.ts";
import type { JobObservation } from "./messages.ts";
import { type JobPage, type JobState, observationOfJob } from "./observation_state.ts";
import { type Changed, pauseMs, SentJob } from "./sent_job.ts";

/** Options of {@link JobsStream}. */
export interface JobsStreamOptions {
  /** Behind what the reader has, by the UIDs of jobs. */
  readonly from: ReadonlyMap<string, Position>;
  readonly clock: Clock;
  /** Aborts when the client has gone, or the endpoint shuts down: then nothing is waited for. */
  readonly signal: AbortSignal;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
  /** The jobs that match now. */
  readonly jobs: () => readonly JobRef[];
  /** Calls the listener when a job changes, with whether it matches. Returns a function that stops this. */
  readonly onJob: (listener: (job: JobRef, matches: boolean) => void) => () => void;
  /** Returns the state of a job; undefined if it is gone. */
  readonly state: (job: JobRef) => JobState | undefined;
  /** Calls the listener when log or job have changed, of the present log soon. Returns a function that stops this. */
  readonly follow: (job: JobRef, listener: (what: Changed) => void) => () => void;
  /** Reads pages of at most {@link PAGES_PER_ASK} logs, within a deadline. */
  readonly read: (ask: PagesAsk) => PagesAnswer | Promise<PagesAnswer>;
}

const sentJob = ({ state }: JobsStreamOptions, job: JobRef, from: Position | undefined) =>
  new SentJob<JobPage, JobObservation>({
    from,
    state: () => state(job),
    tell: (...told) => observationOfJob(job, ...told),
  });

interface StreamedJob {
  readonly job: JobRef;
  readonly sent: ReturnType<typeof sentJob>;
  /** Whether the reader knows of it. */
  isKnown: boolean;
  stop: () => void;
}

/** Said of a page that an answer lacks. */
const MISSING = comeAgain("the answer was incomplete");

/** What is told in place of a page that cannot be read now. */
const unread = ({ reason }: Refused): JobPage => ({ rows: [], more: true, problem: reason });

const TOO_MANY: StreamEnd = {
  kind: "reader",
  why: `more than ${OBSERVATION_LIMITS.streamJobs} jobs match by now: narrow labelSelector`,
};

/**
 * The work of one stream. Jobs with news stand in a queue, of which the first few are read together: each gets one page,
 * and one with more stands behind the others again. What is kept is bounded by the jobs, whatever they push and however
 * slow the reader is.
 */
export class JobsStream {
  readonly #jobs = new Map<string, StreamedJob>();
  /** What the reader has of jobs that come; of those that went it has nothing. */
  readonly #from: Map<string, Position>;
  /** UIDs of jobs that may have news. */
  #due = new Set<string>();
  /** Those of which the reader knows, and is to be told that they are gone. */
  #gone: JobRef[] = [];
  /** UIDs of the jobs of the beginning of which not all was sent; undefined once it is told that all was. */
  #unsent: Set<string> | undefined;
  /** Jobs that are read together: few while there is no answer, as one slow log delays the others. */
  #together = PAGES_PER_ASK;
  #isFull = false;
  #lastId = 0;
  #ring = () => {};
  readonly #stopped = new AbortController();
  readonly #over: AbortSignal;

  constructor(private readonly options: JobsStreamOptions) {
    this.#over = AbortSignal.any([options.signal, this.#stopped.signal]);
    this.#from = new Map(options.from);
  }

  /** Follows the jobs, and calls the listener when there may be news. Returns a function that stops this. */
  follow(listener: () => void): () => void {
    const { jobs, onJob } = this.options;
    this.#ring = listener;
    const stop = onJob((job, matches) => matches ? this.#add(job) : this.#remove(job));
    jobs().forEach((job) => this.#add(job));
    this.#unsent = new Set(this.#jobs.keys());
    listener();
    return () => {
      this.#stopped.abort();
      stop();
      this.#jobs.forEach((it) => it.stop());
    };
  }

  /** Sends what is new. Returns why the stream ends, if it has to. */
  async sendNews(write: WriteEvents): Promise<StreamEnd | void> {
    for (let hasAnswer = true; !this.#over.aborted;) {
      if (this.#isFull) return TOO_MANY;
      for (const { name, uid } of this.#gone.splice(0)) {
        await write(eventText("gone", undefined, { job: { name, uid } }));
      }
      await this.#tellSynced(write);
      const batch = hasAnswer ? this.#takeDue() : [];
      if (batch.length === 0) return;
      hasAnswer = await this.#sendPages(batch, write);
    }
  }

  #add(job: JobRef): void {
    if (this.#jobs.has(job.uid)) return;
    if (this.#jobs.size >= OBSERVATION_LIMITS.streamJobs) {
      this.#isFull = true;
      return this.#ring();
    }
    const sent = sentJob(this.options, job, this.#from.get(job.uid));
    const streamed: StreamedJob = { job, sent, isKnown: sent.from !== undefined, stop() {} };
    this.#jobs.set(job.uid, streamed);
    streamed.stop = this.options.follow(job, (what) => sent.isNews(what) && this.#wake(job.uid));
  }

  #remove({ uid }: JobRef): void {
    const streamed = this.#jobs.get(uid);
    if (streamed === undefined) return;
    streamed.stop();
    this.#jobs.delete(uid);
    this.#from.delete(uid);
    this.#due.delete(uid);
    this.#unsent?.delete(uid);
    if (streamed.isKnown) this.#gone.push(streamed.job);
    this.#ring();
  }

  #wake(...uids: readonly string[]): void {
    uids.forEach((uid) => this.#due.add(uid));
    this.#ring();
  }

  /** Takes the first jobs with news, with their states: rows that are read after a state has ended are all that there are. */
  #takeDue(): readonly StreamedJob[] {
    const first = [...this.#due.values().take(this.#together)];
    return first.flatMap((uid) => {
      this.#due.delete(uid);
      const streamed = this.#jobs.get(uid);
      return streamed?.sent.look() ? [streamed] : [];
    });
  }

  /** Sends a page of each. Returns false if there was no answer. */
  async #sendPages(batch: readonly StreamedJob[], write: WriteEvents): Promise<boolean> {
    const pages = batch.map(({ job, sent: { from } }) => ({
      job,
      from,
      limit: OBSERVATION_LIMITS.page,
    }));
    const answer = await this.options.read({ pages });
    if ("retryAfterMs" in answer) {
      this.#together = Math.max(1, this.#together >> 1);
      this.#comeAgain(batch, answer.retryAfterMs);
      const [only, ...others] = batch;
      if (only && others.length === 0) await this.#tell(only, unread(answer), write);
      return false;
    }
    this.#together = Math.min(PAGES_PER_ASK, 2 * this.#together);
    const left: string[] = [];
    for (const [index, streamed] of batch.entries()) {
      const { uid } = streamed.job;
      const page = answer.pages[index] ?? MISSING;
      if ("retryAfterMs" in page) {
        this.#comeAgain([streamed], page.retryAfterMs);
        await this.#tell(streamed, unread(page), write);
      } else if (page.more && page.rows.length === 0) {
        left.push(uid);
      } else {
        if (page.more) this.#due.add(uid);
        await this.#tell(streamed, page, write);
      }
    }
    // Those for which there was no room come first now.
    if (left.length > 0) this.#due = new Set([...left, ...this.#due]);
    return true;
  }

  /** Sends what is new of a job. Of the beginning it is sent with its last page, and with the word that there is none now. */
  async #tell(streamed: StreamedJob, page: JobPage, write: WriteEvents): Promise<void> {
    const { job: { uid }, sent } = streamed;
    if (this.#over.aborted || this.#jobs.get(uid) !== streamed) return;
    if (!page.more || page.problem !== undefined) this.#unsent?.delete(uid);
    const news = sent.news(page);
    if (news === undefined) return;
    streamed.isKnown = true;
    this.#lastId = Math.max(this.#lastId + 1, this.options.clock.now());
    await write(eventText("observation", this.#lastId, news));
  }

  /** Reads the jobs again after a pause. */
  #comeAgain(jobs: readonly StreamedJob[], retryAfterMs: number): void {
    const { clock, random } = this.options;
    void clock.sleep(pauseMs(retryAfterMs, random), this.#over).then(() => {
      if (!this.#over.aborted) this.#wake(...jobs.map(({ job: { uid } }) => uid));
    });
  }

  /** Tells once that all jobs of the beginning have been sent. */
  async #tellSynced(write: WriteEvents): Promise<void> {
    if (this.#unsent === undefined || this.#unsent.size > 0) return;
    this.#unsent = undefined;
    await write(eventText("synced", undefined, {}));
  }
}
