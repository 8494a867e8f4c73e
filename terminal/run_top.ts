/** `milepost top`: jobs on a whole screen, until its reader has seen enough. */
import type { JobRef } from "../crds/job_kind.ts";
import type { Clock } from "../platform/base/clock.ts";
import { createSleeper, type Sleeper } from "../platform/base/sleeper.ts";
import { messageOf } from "../platform/kube/errors.ts";
import type { JobRow, ListWindow } from "../crds/wire/row.ts";
import { type FullScreen, takeScreen, type Terminal } from "./full_screen.ts";
import { readJob } from "./job_reading.ts";
import { type JobFacts, jobReport, reasonReport, yamlReport } from "./job_report.ts";
import { type Key, KeyReader } from "./keys.ts";
import { searchTable } from "./search_report.ts";
import { safeText, wrapped } from "./shown_text.ts";
import { changeByHand } from "./stopped_job.ts";
import type { Look } from "./styles.ts";
import { EVERYTHING, type TerminalCluster } from "./terminal_cluster.ts";
import { createTopLog, type TopLog } from "./top_log.ts";
import { FRAME_LINES, topScreen, type TopView } from "./top_screen.ts";
import {
  type Change,
  FIRST_STATE,
  press,
  queryOf,
  settled,
  type TopState,
  type TopWindow,
  viewOf,
} from "./top_state.ts";
import { createWatchedCurves } from "./watched_curves.ts";
import { createWatchedSearches } from "./watched_searches.ts";
import { createWatchedWaits } from "./watched_waits.ts";

/** Least and most time between two drawings, in milliseconds. */
const DRAW_MS = 100;
const POLL_MS = 1_000;
/** Between two reads of the job that is shown, in milliseconds. */
const READ_MS = 2_000;
/** How long the rest of a key's sequence may take, before what has come is the key Esc. */
const SEQUENCE_MS = 50;
/** Searches above the jobs. */
const MOST_SEARCHES = 3;
/** How long the outcome of a change is shown. */
const NOTICE_MS = 8_000;
/** Lines of one curve, and events of a job, in its report and among its reasons. */
const REPORT = { plotRows: 6, events: 10 } as const;
const REASONS = { plotRows: 0, events: 100 } as const;

/** What it is drawn with. */
export interface TopParts {
  readonly cluster: TerminalCluster;
  readonly terminal: Terminal;
  readonly look: Look;
  readonly clock: Clock;
  /** Ends it. */
  readonly signal: AbortSignal;
}

/** The work of one screen. */
class Top {
  #state: TopState = FIRST_STATE;
  /** What the screen shows. */
  #drawn: TopState | undefined;
  /** The report on it. */
  #report: readonly string[] | undefined;
  readonly #keys = new KeyReader();
  /** Ends the wait for the rest of a key. */
  #typing = new AbortController();
  /** The job that is shown, as it was read last, or why it cannot be read. */
  #read: { readonly uid: string; readonly facts: JobFacts | string } | undefined;
  /** The log on the screen. */
  #log: TopLog | undefined;
  #notice: { readonly text: string; readonly untilMs: number } | undefined;
  /** Jobs that were stalled when the screen was drawn last; undefined before it was. */
  #stalled: ReadonlySet<string> | undefined;
  readonly #sleeper: Sleeper;
  readonly #over = new AbortController();
  readonly #curves;
  /** What the jobs on the screen wait for. */
  readonly waits;
  readonly searches;
  readonly signal: AbortSignal;

  constructor(private readonly parts: TopParts, private readonly screen: FullScreen) {
    this.#sleeper = createSleeper(parts.clock);
    this.#curves = createWatchedCurves(parts.cluster, () => this.wake());
    const { cluster, clock } = parts;
    const onNews = () => this.wake();
    this.waits = createWatchedWaits(cluster, { clock, onNews });
    this.searches = createWatchedSearches(cluster, { clock, onNews });
    this.signal = AbortSignal.any([parts.signal, this.#over.signal]);
  }

  /** Rows of jobs, or lines of a report, that the screen has room for. */
  get #rows(): number {
    const { rows } = this.parts.terminal.size();
    return Math.max(1, rows - FRAME_LINES - this.#searchLines.length);
  }

  /** Lines about the newest searches that run: some are enough to see how they do. */
  get #searchLines(): readonly string[] {
    const { cluster: { namespaces }, look, clock, terminal } = this.parts;
    const most = Math.min(MOST_SEARCHES, Math.floor(terminal.size().rows / 4));
    const rows = viewOf(this.#state) === undefined ? this.searches.running().slice(0, most) : [];
    const shown = { ...look, nowMs: clock.now(), namespaced: namespaces.length !== 1 };
    return rows.length === 0 ? [] : searchTable(rows, shown);
  }

  get #all(): ListWindow {
    const { namespaces, list } = this.parts.cluster;
    return list.window(queryOf(this.#state, namespaces), EVERYTHING);
  }

  /** The rows on the screen. */
  #shown({ rows }: ListWindow): readonly JobRow[] {
    const { first } = this.#state;
    return rows.slice(first, first + this.#rows);
  }

  #windowOf({ rows: jobs }: ListWindow): TopWindow {
    return { jobs, rows: this.#rows, lines: this.#report?.length ?? 0 };
  }

  #refOf({ kind: id, namespace, name, uid }: JobRow): JobRef | undefined {
    const kind = this.parts.cluster.kinds.byId(id);
    return kind && { kind, namespace, name, uid };
  }

  /** Draws soon. */
  wake(): void {
    this.#sleeper.wake();
  }

  resized(): void {
    this.screen.forget();
    this.wake();
  }

  typed(text: string): void {
    this.#typing.abort();
    this.#typing = new AbortController();
    this.#press(this.#keys.read(text));
    if (this.#keys.hasBegun) void this.#endKey(AbortSignal.any([this.signal, this.#typing.signal]));
  }

  async #endKey(signal: AbortSignal): Promise<void> {
    await this.parts.clock.sleep(SEQUENCE_MS, signal);
    if (!signal.aborted) this.#press(this.#keys.end());
  }

  #press(keys: readonly Key[]): void {
    for (const { key, isPasted } of keys) {
      const { mode, over } = this.#state;
      if (isPasted && mode !== "filter") continue;
      // Nobody has answered a question that was not seen.
      if (typeof over === "object" && this.#drawn !== this.#state && key !== "interrupt") continue;
      const { state, act, isUnknown } = press(this.#state, key, this.#windowOf(this.#all));
      this.#state = state;
      this.#notice = undefined;
      if (isUnknown) this.#tell(`${key} does nothing here; ? shows all keys`);
      if (act?.kind === "quit") this.#over.abort();
      else if (act !== undefined) void this.#change(act.kind, act.job);
    }
    this.wake();
  }

  async #change(change: Change, row: JobRow): Promise<void> {
    const { cluster } = this.parts;
    const job = this.#refOf(row);
    if (job === undefined) return;
    const text = await changeByHand(cluster, change, job, this.signal).then(
      (done) => `${row.namespace}/${row.name} ${done}.`,
      (error) => `Could not ${change} ${row.namespace}/${row.name}: ${messageOf(error)}`,
    );
    this.#tell(text);
    this.wake();
  }

  #tell(text: string): void {
    this.#notice = { text, untilMs: this.parts.clock.monotonic() + NOTICE_MS };
  }

  /** Reads the log that is to be shown, and no other one. */
  #followLog(): void {
    const { job, isPrevious } = this.#state;
    const wanted = viewOf(this.#state) === "logs" && job ? this.#refOf(job) : undefined;
    if (this.#log?.uid === wanted?.uid && this.#log?.isPrevious === isPrevious) return;
    this.#log?.stop();
    const { cluster: { client, keptPods }, clock } = this.parts;
    const read = { client, keptPods, clock, signal: this.signal };
    const onNews = () => this.wake();
    this.#log = wanted && createTopLog(wanted, { ...read, isPrevious, onNews });
  }

  #reportOf(columns: number): readonly string[] | undefined {
    const view = viewOf(this.#state);
    if (view === "logs") return this.#log?.lines(columns);
    const { uid, facts } = this.#read ?? {};
    if (facts === undefined || uid !== this.#state.job?.uid) return undefined;
    if (typeof facts === "string") return wrapped(safeText(facts), columns);
    const { look, clock } = this.parts;
    if (view === "yaml") return yamlReport(facts, columns);
    if (view === "reasons") {
      return reasonReport(facts, { ...look, ...REASONS, columns, nowMs: clock.now() });
    }
    const curves = this.#curves.of(uid ?? "");
    const shown = { ...facts, ...(curves && { curves }) };
    return jobReport(shown, { ...look, ...REPORT, columns, nowMs: clock.now() });
  }

  /** Rings when another job is stalled; those that were when it began are no news. */
  #ring({ rows }: ListWindow): void {
    const stalled = rows.filter((it) => it.stalledSince !== undefined).map(({ uid }) => uid);
    if (stalled.some((uid) => this.#stalled?.has(uid) === false)) this.screen.ring();
    if (this.parts.cluster.isThere()) this.#stalled = new Set(stalled);
  }

  #draw(): void {
    const { cluster, terminal, look, clock } = this.parts;
    const { namespaces } = cluster;
    const size = terminal.size();
    const all = this.#all;
    this.#ring(all);
    this.#followLog();
    this.#report = this.#reportOf(size.columns);
    const scrolled = this.#state.scrolled - (this.#log?.takeGone() ?? 0);
    // A cursor is put on a job once all of them are there.
    const uid = cluster.isThere() ? this.#state.uid : undefined;
    this.#state = settled({ ...this.#state, scrolled, uid }, this.#windowOf(all));
    const job = viewOf(this.#state) && this.#state.job;
    const seen = job === undefined ? this.#shown(all) : [job];
    this.#curves.look(seen.flatMap((row) => this.#refOf(row) ?? []));
    const outages = [this.#curves.outage(), this.waits.outage(), this.searches.outage()];
    const hasNotice = this.#notice !== undefined && this.#notice.untilMs > clock.monotonic();
    const view: TopView = {
      window: { ...all, rows: this.waits.look(job === undefined ? this.#shown(all) : []) },
      where: namespaces.length === 0 ? "all namespaces" : namespaces.join(", "),
      isThere: cluster.isThere(),
      missing: [...new Set([...cluster.missing(), ...outages.filter((it) => it !== undefined)])],
      ...(hasNotice && { notice: this.#notice?.text ?? "" }),
      chosen: job ?? all.rows[this.#state.at],
      searches: this.#searchLines,
      ...(this.#report && { report: this.#report }),
    };
    this.screen.draw(topScreen(view, this.#state, {
      ...look,
      size,
      nowMs: clock.now(),
      namespaced: namespaces.length !== 1,
      pointsOf: this.#curves.pointsOf,
    }));
    this.#drawn = this.#state;
  }

  /** Draws what has changed, and each second the ages. */
  async drawOn(): Promise<void> {
    const { clock } = this.parts;
    while (!this.signal.aborted) {
      this.#draw();
      await clock.sleep(DRAW_MS, this.signal);
      await this.#sleeper.sleep(POLL_MS - DRAW_MS, this.signal);
    }
    this.#curves.look([]);
  }

  /** Reads the job that is shown. */
  async readOn(): Promise<void> {
    const { cluster, clock } = this.parts;
    let nextMs = 0;
    while (!this.signal.aborted) {
      const shown = viewOf(this.#state) === "logs" ? undefined : this.#state.job;
      const job = shown && this.#refOf(shown);
      if (job !== undefined && (this.#read?.uid !== job.uid || clock.monotonic() >= nextMs)) {
        const facts = await readJob(cluster, job, this.signal)
          .catch((error) => `The job cannot be read: ${messageOf(error)}`);
        this.#read = { uid: job.uid, facts };
        nextMs = clock.monotonic() + READ_MS;
        this.wake();
      }
      await clock.sleep(DRAW_MS, this.signal);
    }
  }
}

/** Runs it until its reader ends it, or the signal aborts; gives the screen back whatever happens. */
export async function runTop(parts: TopParts): Promise<void> {
  using screen = takeScreen(parts.terminal);
  const top = new Top(parts, screen);
  parts.terminal.onCrash(() => screen[Symbol.dispose](), top.signal);
  void parts.terminal.onInput((text) => top.typed(text), top.signal);
  parts.terminal.onResize(() => top.resized(), top.signal);
  const stop = parts.cluster.list.onChange(() => top.wake());
  try {
    const { waits, searches, signal } = top;
    await Promise.all([top.drawOn(), top.readOn(), waits.run(signal), searches.run(signal)]);
  } finally {
    stop();
  }
}
