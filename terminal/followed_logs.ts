/** Logs of the pods of a job: all ranks, each line behind the rank that wrote it, and those of pods that come later. */
import { type JobRef, jobSchema } from "../crds/job_kind.ts";
import { endOf } from "../crds/job_state.ts";
import { KINDS } from "../crds/kinds.ts";
import { type Backoff, backoffMs } from "../platform/base/backoff.ts";
import type { Clock } from "../platform/base/clock.ts";
import { ConfigurationError, isNotFound, KubeError, messageOf } from "../platform/kube/errors.ts";
import { getOrUndefined } from "../platform/kube/upsert.ts";
import { HOLE, ResumedLog } from "../platform/base/resumed_log.ts";
import { boundedReads, listUpTo } from "../views/details/bounded_reads.ts";
import { DETAIL_LIMITS, PODS } from "../views/details/details_of_job.ts";
import { oneOfEachRank, withKept } from "../views/details/kept_pods.ts";
import { LOG_LIMITS, logPath } from "../views/details/log_query.ts";
import { byRank, podsOfJob } from "../views/details/shown_pods.ts";
import { STEPS } from "../crds/names.ts";
import type { ShownPod } from "../crds/wire/details.ts";
import { logLine, safeText } from "./shown_text.ts";
import type { TerminalCluster } from "./terminal_cluster.ts";

/** Between two polls for new pods, in milliseconds. */
const POLL_MS = 2_000;
const DEADLINE_MS = 15_000;
/** Between two readings of a log that broke off. */
const BACKOFF: Backoff = { firstMs: 500, longestMs: 10_000 };
/** Characters after which a line is written though it has not ended. */
const LINE_LENGTH = 65_536;
/** Logs that are read at a time; with `follow` each pod has its own. */
const MAX_PODS = 100;

/** What is wanted. */
export interface LogChoice {
  /** A rank such as `node-0`, or its number; undefined: all. */
  readonly rank: string | undefined;
  /** Undefined: the first of each pod. */
  readonly container?: string | undefined;
  readonly follow: boolean;
  /** Whether each container's log before its last start is wanted; it is not followed. Default: the present one. */
  readonly previous?: boolean;
  /** Only lines from this time on, RFC 3339. Default: all. */
  readonly since?: string | undefined;
  /** Lines before the end. Default: that of a log's query. */
  readonly tail?: number | undefined;
}

/** What logs are read with. */
export interface LogParts {
  readonly client: TerminalCluster["client"];
  readonly keptPods?: TerminalCluster["keptPods"];
  readonly clock: Clock;
  /** 0 to 1. Default `Math.random`. */
  readonly random?: () => number;
  readonly signal: AbortSignal;
  /** Writes one line of output. */
  readonly print: (line: string) => void;
  /** Tells what could not be read. */
  readonly warn: (text: string) => void;
}

/** Whether a pod is of the wanted rank, and has the wanted log. */
function isWanted(pod: ShownPod, { rank: wanted, previous = false }: LogChoice): boolean {
  const { rank = "", restarts } = pod;
  const isRank = wanted === undefined || rank === wanted || rank.endsWith(`-${wanted}`);
  return isRank && (!previous || restarts > 0);
}

const labelOf = ({ rank, name }: ShownPod) => safeText(rank ?? name);

/** Cuts a text into lines; the last one need not end. */
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    yield* parts;
    if (rest.length > LINE_LENGTH) {
      yield rest;
      rest = "";
    }
  }
  if (rest !== "") yield rest;
}

/** Whether a log will not be there later either: a container that has not begun is a bad request. */
const isFinal = (error: unknown) =>
  error instanceof ConfigurationError ||
  error instanceof KubeError && error.code >= 401 && error.code < 500 && error.code !== 429;

/** Containers of the steps whose pods end before others come. */
const FIRST_STEPS: readonly string[] = [STEPS.datasetInitializer, STEPS.modelInitializer];

/** The work of one command. */
class FollowedLogs {
  /** Logs that were read, by the UIDs of their pods. */
  readonly seen = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  /** Of the longest label. */
  #width = 0;
  /** Whether lines stand behind the rank that wrote them. */
  #isLabelled: boolean;
  /** What was told already. */
  readonly #told = new Set<string>();
  /** Streams that were open in an outage end with it: they may be dead without a sign. */
  #outage = new AbortController();
  #isOut = false;

  constructor(
    private readonly job: JobRef,
    private readonly choice: LogChoice,
    private readonly parts: LogParts,
  ) {
    this.#isLabelled = choice.rank === undefined;
  }

  #tell(text: string): void {
    if (this.#told.has(text)) return;
    this.#told.add(text);
    this.parts.warn(text);
  }

  async #pods(): Promise<readonly ShownPod[]> {
    const { job: { kind, namespace, name, uid }, parts: { client, keptPods, signal } } = this;
    const reads = boundedReads(client, signal);
    const labelSelector = podsOfJob(kind, name);
    const [{ items, isCut }, kept] = await Promise.all([
      listUpTo(reads, PODS, { most: DETAIL_LIMITS.pods, namespace, labelSelector }),
      keptPods?.(reads, { namespace, labelSelector, job: uid }),
    ]);
    if (isCut) this.#tell(`of ${name} only ${DETAIL_LIMITS.pods} pods are looked at: it has more`);
    return oneOfEachRank(withKept(items, kept).toSorted(byRank));
  }

  /** Whether no pod of it will write any more. */
  async #hasEnded(): Promise<boolean> {
    const { job: { kind, namespace, name, uid }, parts: { client, signal } } = this;
    const found = await getOrUndefined(client, kind, { namespace, name }, { signal });
    return found?.metadata.uid !== uid || endOf(kind, jobSchema.parse(found)) !== undefined;
  }

  /** Reads the log of a pod once, to the end of its stream. */
  async #readOnce(pod: ShownPod, log: ResumedLog): Promise<void> {
    const { job: { namespace }, choice, parts: { client, print } } = this;
    const signal = AbortSignal.any([this.parts.signal, this.#outage.signal]);
    const resumed = log.resume();
    const { container = pod.containers[0], follow, previous = false, tail } = choice;
    const since = resumed ?? choice.since;
    const query = new URLSearchParams({
      follow: String(follow),
      previous: String(previous),
      timestamps: "true",
      ...(since !== undefined && { sinceTime: since }),
      ...(resumed === undefined && tail !== undefined && { tailLines: String(tail) }),
      ...(container !== undefined && { container }),
    });
    const path = logPath({ namespace, pod: pod.name }, query);
    if (typeof path !== "string") throw new ConfigurationError(path.problem);
    const { body } = await client.stream(path, {
      signal,
      deadlineMs: DEADLINE_MS,
      idleMs: LOG_LIMITS.idleMs,
    });
    for await (const line of linesOf(ReadableStream.from(body))) {
      const prefix = this.#isLabelled ? `${labelOf(pod).padEnd(this.#width)} | ` : "";
      const taken = log.take(line);
      if (taken?.isAfterHole) print(prefix + HOLE);
      if (taken !== undefined) print(prefix + logLine(taken.text));
    }
  }

  /** Whether nothing of a pod runs any more. */
  async #isOver({ name, uid }: ShownPod): Promise<boolean> {
    const { job: { namespace }, parts: { client, signal } } = this;
    try {
      const { metadata, status } = await client.get(KINDS.pod, { namespace, name }, { signal });
      return metadata?.uid !== uid || ["Succeeded", "Failed"].includes(status?.phase ?? "");
    } catch (error) {
      return isNotFound(error);
    }
  }

  /** Reads the log of a pod; one that is followed is read on where it breaks off, until the pod is over. */
  async #read(pod: ShownPod): Promise<void> {
    const { choice, parts: { clock, random = Math.random, signal, warn } } = this;
    const { container } = choice;
    if (container !== undefined && !pod.containers.includes(container)) {
      return warn(`${pod.name} has no container ${container}: it has ${pod.containers.join(", ")}`);
    }
    const log = new ResumedLog();
    for (let failures = 1, wasOver = false; !signal.aborted; failures += 1) {
      const before = log.taken;
      try {
        await this.#readOnce(pod, log);
        // A stream also ends where it was cut, so the end of a pod is that of a stream begun after it.
        if (!choice.follow || wasOver) {
          const isWhole = choice.since === undefined && choice.tail !== 0;
          return isWhole && log.taken === 0 ? warn(`${pod.name} has printed nothing`) : undefined;
        }
        wasOver = await this.#isOver(pod);
        if (wasOver) continue;
      } catch (error) {
        if (signal.aborted || (wasOver && isNotFound(error))) return;
        if (!choice.follow || isFinal(error)) {
          return warn(`the log of ${pod.name} cannot be read: ${messageOf(error)}`);
        }
      }
      if (log.taken > before) failures = 1;
      await clock.sleep(backoffMs(failures, BACKOFF, random), signal);
    }
  }

  /** Throws a {@link ConfigurationError} if no pod has the wanted container, nor one that may still come. */
  #checkContainer(pods: readonly ShownPod[], isLast: boolean): void {
    const { container } = this.choice;
    const names = [...new Set(pods.flatMap(({ containers }) => containers))];
    if (container === undefined || names.length === 0 || names.includes(container)) return;
    if (!isLast && names.every((it) => FIRST_STEPS.includes(it))) return;
    const has = `${this.job.name} has no container ${container}: its pods have ${names.join(", ")}`;
    throw new ConfigurationError(has);
  }

  /** Begins to read those that are new and have a log; if no more come, all of them. */
  async #begin(isLast: boolean): Promise<void> {
    const pods = (await this.#pods()).filter((it) => isWanted(it, this.choice));
    this.#checkContainer(pods, isLast);
    this.#width = Math.max(this.#width, ...pods.map((it) => labelOf(it).length));
    // The number of a rank may be that of several, such as launcher-0 and node-0.
    this.#isLabelled ||= pods.length > 1;
    for (const pod of pods) {
      if (this.seen.has(pod.uid) || pod.phase === "Pending") continue;
      if (this.#running.size >= MAX_PODS) {
        this.#tell(`${MAX_PODS} logs are followed at a time: others begin when some of them end`);
        if (!isLast) return;
        await Promise.race(this.#running);
      }
      this.seen.add(pod.uid);
      const reading: Promise<void> = this.#read(pod).finally(() => this.#running.delete(reading));
      this.#running.add(reading);
      // Logs that have an end come one after the other.
      if (!this.choice.follow) await reading;
    }
  }

  /** Reads the pods that have come. Returns whether no more will. */
  async #poll(): Promise<boolean> {
    const isLast = !this.choice.follow || await this.#hasEnded();
    await this.#begin(isLast);
    if (this.#isOut) this.#outage.abort();
    if (this.#isOut) this.#outage = new AbortController();
    this.#isOut = false;
    return isLast;
  }

  async run(): Promise<void> {
    const { choice, parts: { clock, signal, warn } } = this;
    for (let polls = 0; !signal.aborted; polls += 1) {
      try {
        if (await this.#poll()) break;
      } catch (error) {
        if (signal.aborted || !choice.follow || polls === 0 || isFinal(error)) throw error;
        if (!this.#isOut) warn(`the API server cannot be asked now: ${messageOf(error)}`);
        this.#isOut = true;
      }
      await clock.sleep(POLL_MS, signal);
    }
    await Promise.all(this.#running);
  }
}

/** Prints the logs of a job until they end, with `follow` until the job has ended. Returns how many there were. */
export async function printLogs(job: JobRef, choice: LogChoice, parts: LogParts): Promise<number> {
  const logs = new FollowedLogs(job, choice, parts);
  try {
    await logs.run();
  } catch (error) {
    // Whoever ends the command has seen enough.
    if (!parts.signal.aborted) throw error;
  }
  return logs.seen.size;
}
