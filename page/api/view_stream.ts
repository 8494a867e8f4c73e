/** Stream of all that a viewer sees: the window of the list and the curves, each as it changes. */
import type { JobRef } from "../../crds/job_kind.ts";
import {
  eventOfJson,
  eventStreamResponse,
  eventText,
  type Reauthorization,
  runEventLoop,
  type StreamEnd,
  type WriteEvents,
} from "../../platform/http/event_stream.ts";
import {
  type Identified,
  ofOpenStream,
  readerOfToken,
  refusalOfStream,
} from "../../platform/http/callers/reader_checks.ts";
import { refuseReader } from "../../platform/http/callers/reader_refusals.ts";
import { ROOM_MS } from "../../platform/http/limits/stream_limits.ts";
import type { Refusal } from "../../platform/http/refusals.ts";
import type { HttpResponse, ResponseSink } from "../../platform/http/message.ts";
import {
  type GrantedView,
  grantView,
  refusalsOf,
  showsSomething,
  type View,
} from "./granted_view.ts";
import { type HeldCurves, shownCurves } from "../../owner/curves/held_curves.ts";
import type { Known } from "../../owner/followed_group.ts";
import { StreamedList } from "./streamed_lists.ts";
import { curveAnswers, missingJson } from "./view_answers.ts";
import { VIEW_LIMITS } from "../../crds/wire/view_limits.ts";
import type { ViewParts } from "./view_parts.ts";

/** Least and most time between two polls for changes, in milliseconds; with many streams it is the most. */
const [POLL_MS, MOST_POLL_MS] = [250, 1_000];
/** Part of the time that the polls of all streams may take together, unless they are as rare as that. */
const LISTING_PART = 0.1;

/** Returns the time between the beginnings of two polls, of which the last one took `tookMs`, at one of so many streams. */
export function pollEveryMs(tookMs: number, streams: number): number {
  return Math.min(Math.max(POLL_MS, tookMs * streams / LISTING_PART), MOST_POLL_MS);
}

/** A job whose curves a stream sends. */
interface StreamedJob {
  known: Known<HeldCurves>;
  /** The curves as they were sent last. */
  sent?: HeldCurves | undefined;
  stop: () => void;
}

/** The work of one stream. */
class ViewStream {
  readonly #lists: readonly StreamedList[];
  /** By UID. */
  readonly #followed = new Map<string, StreamedJob>();
  #listener = () => {};
  #lastMissing = "";
  #lastOutage = "";
  #id = 0;
  #nextMs = 0;

  constructor(
    private readonly parts: ViewParts,
    private readonly user: string,
    private view: GrantedView,
    private readonly sink: ResponseSink,
  ) {
    this.#lists = view.granted.map((_, place) => new StreamedList(parts.list, view.lists && place));
  }

  /** Goes on with what the viewer may see now, or returns why the stream ends: of all that it showed nothing is left. */
  grant(view: GrantedView): StreamEnd | undefined {
    const before = this.view;
    this.view = view;
    this.#followJobs();
    this.#listener();
    const [refusal] = refusalsOf(view);
    return refusal !== undefined && showsSomething(before) && !showsSomething(view)
      ? { kind: "reader", why: refusal }
      : undefined;
  }

  follow(listener: () => void): () => void {
    this.#listener = listener;
    const stop = this.#lists.length === 0 ? () => {} : this.parts.list.onChange(listener);
    this.#followJobs();
    listener();
    return () => {
      stop();
      for (const job of this.#followed.values()) job.stop();
      this.#followed.clear();
    };
  }

  /** Follows the jobs that are there now, which may be others of the same names. */
  #followJobs(): void {
    const seen = new Map(this.view.jobs.seen.map((job) => [job.uid, job]));
    for (const [uid, { stop, known }] of this.#followed) {
      // One without a place may have one now.
      if (seen.has(uid) && (known.outage === undefined || known.value !== undefined)) continue;
      stop();
      this.#followed.delete(uid);
    }
    for (const [uid, job] of seen) if (!this.#followed.has(uid)) this.#followJob(uid, job);
  }

  #followJob(uid: string, job: JobRef): void {
    const followed: StreamedJob = { known: {}, stop() {} };
    this.#followed.set(uid, followed);
    followed.stop = this.parts.follow(job, (known) => {
      followed.known = known;
      this.#listener();
    }, this.user);
  }

  /** Sends what is new, and the next news only after a while: many jobs change at once, and viewers are many. */
  async sendNews(write: WriteEvents): Promise<void> {
    const { clock } = this.parts;
    const waitMs = this.#nextMs - clock.monotonic();
    if (waitMs > 0) await clock.sleep(waitMs, this.sink.signal);
    if (this.sink.signal.aborted) return;
    const beganMs = clock.monotonic();
    await this.#sendLists(write);
    await this.#sendCurves(write);
    this.#nextMs = beganMs + pollEveryMs(clock.monotonic() - beganMs, this.parts.slots.open());
  }

  async #sendLists(write: WriteEvents): Promise<void> {
    for (const [place, list] of this.#lists.entries()) {
      // As it is granted now: the viewer may have been checked while it took the one before.
      const granted = this.view.granted[place];
      const read = () => {
        const news = granted && list.news(granted);
        return news && eventText(news.event, this.#nextId(), news.data);
      };
      const news = await this.parts.listInTurn(this.user, read, this.sink.signal);
      if (news !== undefined) await write(news);
    }
  }

  /** Sends what is new of curves, in however many events that takes, and why there is none. */
  async #sendCurves(write: WriteEvents): Promise<void> {
    if (this.view.curves === undefined) return;
    const { jobs: _, ...choice } = this.view.curves;
    const all = [...this.#followed];
    const changed = new Map(
      all.flatMap(([uid, { known: { value }, sent }]) =>
        value === undefined || value === sent ? [] : [[uid, value] as const]
      ),
    );
    const outage = all.map(([, { known }]) => known.outage?.reason).find((it) => it !== undefined);
    const isOver = outage === undefined && this.#lastOutage !== "";
    const jobs = { ...this.view.jobs, ofUnknownKind: this.view.ofUnknownKind ?? [] };
    const missing = missingJson(jobs);
    // Who views only a job that is not there shall not wait for its curves.
    if (changed.size > 0 || isOver || missing !== this.#lastMissing) {
      this.#lastMissing = missing;
      // Each is made when it is written, of the jobs that the viewer may see then.
      const news = changed.entries().filter(([uid]) => this.#followed.has(uid)).map((
        [uid, value],
      ) => shownCurves(value, choice, this.#followed.get(uid)?.sent));
      for (const { told, json } of curveAnswers(news, jobs)) {
        await write(eventOfJson("curves", this.#nextId(), json));
        for (const uid of told) {
          const job = this.#followed.get(uid);
          if (job !== undefined) job.sent = changed.get(uid);
        }
      }
      // Who gets curves takes an outage for over.
      this.#lastOutage = "";
    }
    if (outage !== undefined && outage !== this.#lastOutage) {
      await write(eventText("outage", this.#nextId(), { reason: outage }));
    }
    this.#lastOutage = outage ?? "";
  }

  #nextId(): number {
    this.#id = Math.max(this.#id + 1, this.parts.clock.now());
    return this.#id;
  }
}

/** Returns undefined if the viewer may go on, else why the stream ends. */
async function mayGoOn(
  parts: ViewParts,
  { token }: Pick<Identified, "token">,
  view: View,
  stream: ViewStream,
): Promise<Reauthorization> {
  const caller = await readerOfToken(parts, token);
  const granted = "why" in caller ? caller : await grantView(ofOpenStream(parts), caller, view);
  if (!("why" in granted)) return stream.grant(granted);
  return refusalOfStream(granted);
}

/** Returns a stream, if there is room for one more. */
export function streamResponse(
  parts: ViewParts,
  caller: Identified,
  granted: GrantedView,
): HttpResponse | Refusal {
  const { clock, random = Math.random } = parts;
  const { username } = caller.reader;
  const places = Math.ceil(granted.granted.length / VIEW_LIMITS.listsOfPlace);
  const slot = parts.slots.take(username, Math.max(1, places));
  if (typeof slot === "string") return refuseReader(slot, { retryAfterMs: ROOM_MS });
  return eventStreamResponse(slot, (sink) => {
    const stream = new ViewStream(parts, username, granted, sink);
    return runEventLoop({
      sink,
      clock,
      random,
      expiresMs: caller.token.expiresMs,
      follow: (listener) => stream.follow(listener),
      // A view has no end of its own.
      onJobEnd: () => () => {},
      sendNews: (write) => stream.sendNews(write),
      sendLast: () => Promise.resolve(),
      reauthorize: () => mayGoOn(parts, caller, granted, stream),
    });
  });
}
