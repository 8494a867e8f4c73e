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
  listsOf,
  refusalsOf,
  showsSomething,
  type View,
} from "./granted_view.ts";
import type { CurveAnswer, ShownCurves } from "../../crds/wire/shown_curves.ts";
import { StreamedList } from "./streamed_lists.ts";
import { curveAnswers, missingJson } from "./view_answers.ts";
import { CURVE_LIMITS, VIEW_LIMITS } from "../../crds/wire/view_limits.ts";
import type { ViewParts } from "./view_parts.ts";

/** Least and most time between two polls for changes, in milliseconds; with many streams it is the most. */
const [POLL_MS, MOST_POLL_MS] = [250, 1_000];
/** Part of the time that the polls of all streams may take together, unless they are as rare as that. */
const LISTING_PART = 0.1;

/** Returns the time between the beginnings of two polls, of which the last one took `tookMs`, at one of so many streams. */
export function pollEveryMs(tookMs: number, streams: number): number {
  return Math.min(Math.max(POLL_MS, tookMs * streams / LISTING_PART), MOST_POLL_MS);
}

/** The jobs whose logs are read for a time range. */
const logsOf = (jobs: readonly JobRef[]) =>
  jobs.slice(0, CURVE_LIMITS.logs).map(({ kind, namespace, name, uid }) => ({
    kind: kind.id,
    namespace,
    name,
    uid,
  }));

/**
 * Asks once for the curves that differ from the cursors, of the jobs named if not of all; the answer may leave out some.
 * `zooms`: those of a time range with finer points of logs, which a stream would read each second.
 */
export async function askCurves(
  parts: Pick<ViewParts, "ask">,
  user: string,
  { jobs: { seen }, curves: query, zooms = false }: Pick<GrantedView, "jobs" | "curves" | "zooms">,
  { cursors, uids = seen.map(({ uid }) => uid) }: {
    readonly cursors: ReadonlyMap<string, string>;
    readonly uids?: readonly string[];
  },
  signal: AbortSignal,
): Promise<CurveAnswer> {
  if (query === undefined || uids.length === 0) return { curves: [], left: [] };
  const { jobs: _, metrics, ...bounds } = query;
  const jobs = uids.map((uid) => {
    const cursor = cursors.get(uid);
    return { uid, ...(cursor !== undefined && { cursor }) };
  });
  const ask = {
    ...bounds,
    jobs,
    ...(metrics && { metrics: [...metrics] }),
    ...(zooms && { logs: logsOf(seen) }),
  };
  return await parts.ask(ask, signal, seen, user);
}

/** The work of one stream. */
class ViewStream {
  readonly #lists: readonly StreamedList[];
  readonly #cursors = new Map<string, string>();
  readonly #followed = new Map<string, () => void>();
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
    this.#lists = listsOf(view).map((_, place) =>
      new StreamedList(parts.list, view.granted && place)
    );
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
      for (const stopJob of this.#followed.values()) stopJob();
      this.#followed.clear();
    };
  }

  /** Follows the jobs that are there now, which may be others of the same names. */
  #followJobs(): void {
    const seen = new Map(this.view.jobs.seen.map((job) => [job.uid, job]));
    for (const [uid, stop] of this.#followed) {
      if (seen.has(uid)) continue;
      stop();
      this.#followed.delete(uid);
      this.#cursors.delete(uid);
    }
    for (const [uid, job] of seen) {
      if (!this.#followed.has(uid)) {
        this.#followed.set(uid, this.parts.follow(job, () => this.#listener(), this.user));
      }
    }
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
      const granted = listsOf(this.view)[place];
      const read = () => {
        const news = granted && list.news(granted);
        return news && eventText(news.event, this.#nextId(), news.data);
      };
      const news = await this.parts.listInTurn(this.user, read, this.sink.signal);
      if (news !== undefined) await write(news);
    }
  }

  /** Sends the curves that have changed, however many answers that takes. */
  async #sendCurves(write: WriteEvents): Promise<void> {
    let uids: readonly string[] | undefined;
    do {
      const asked = { cursors: this.#cursors, ...(uids && { uids }) };
      const answer = await askCurves(this.parts, this.user, this.view, asked, this.sink.signal);
      if ("retryAfterMs" in answer) return await this.#sendOutage(write, answer.reason);
      await this.#sendParts(write, answer.curves);
      uids = answer.curves.length === 0 ? [] : answer.left;
    } while (uids.length > 0);
    this.#lastOutage = "";
  }

  async #sendParts(write: WriteEvents, all: readonly ShownCurves[]): Promise<void> {
    const jobs = { ...this.view.jobs, ofUnknownKind: this.view.ofUnknownKind ?? [] };
    const missing = missingJson(jobs);
    // Who views only a job that is not there shall not wait for its curves.
    if (all.length === 0 && missing === this.#lastMissing) return;
    this.#lastMissing = missing;
    for (const { curves, json } of curveAnswers(all, jobs)) {
      await write(eventOfJson("curves", this.#nextId(), json));
      for (const { uid, cursor } of curves) this.#cursors.set(uid, cursor);
    }
  }

  async #sendOutage(write: WriteEvents, reason: string): Promise<void> {
    const isNew = reason !== this.#lastOutage;
    this.#lastOutage = reason;
    if (isNew) await this.#send(write, "outage", { reason });
  }

  async #send(write: WriteEvents, event: string, data: unknown): Promise<void> {
    await write(eventText(event, this.#nextId(), data));
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
  const places = Math.ceil(listsOf(granted).length / VIEW_LIMITS.listsOfPlace);
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
