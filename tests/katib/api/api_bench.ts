/** An observation API in memory: its API server, its log and its clock are the test's. */
import { createAccess } from "../../../platform/http/callers/reader_access.ts";
import { answerAsk } from "../../../owner/observations/observation_asks.ts";
import type { HttpRequest } from "../../../platform/http/message.ts";
import { outcomeByTemplate } from "../../../katib/api/observation_state.ts";
import {
  createObservationApi,
  type ObservationApiOptions,
} from "../../../katib/api/observation_api.ts";
import type { RestartRequest } from "../../../owner/restarts/restart_asks.ts";
import type { StopRequest } from "../../../owner/observations/observations.ts";
import type { RestartAnswer } from "../../../crds/wire/restart_request.ts";
import type { StopAnswer } from "../../../crds/wire/stop_request.ts";
import type { ObservationReader } from "../../../owner/observations/observations.ts";
import { partOf } from "../../../owner/observations/log_parts.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { observationPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import { createFairRate } from "../../../platform/http/limits/fair_rate.ts";
import { createFairTurns } from "../../../platform/base/fair_turns.ts";
import { comeAgain } from "../../../platform/http/replicas/owner_router.ts";
import { createPeers } from "../../../platform/http/limits/peers.ts";
import { createStreamSlots } from "../../../platform/http/limits/stream_limits.ts";
import { createKeyedBuckets } from "../../../platform/base/token_bucket.ts";
import { FakeClock } from "../../support/fake_clock.ts";

/** Start of the tests' clock. */
export const NOW_MS = Date.parse("2026-01-01T00:00:00Z");
/** The audience of this API, as users write it. */
export const AUDIENCE = "observation.trainer.kubeflow.org";

const part = (value: unknown) =>
  btoa(JSON.stringify(value)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");

/** A token with these claims besides good ones; nobody has signed it. */
export function tokenWith(claims: Record<string, unknown> = {}): string {
  const good = { sub: "reader", aud: [AUDIENCE], exp: NOW_MS / 1000 + 3600, jti: "1" };
  return `${part({ alg: "RS256" })}.${part({ ...good, ...claims })}.c2ln`;
}

/** Reviews by the API server, and its answers. */
export interface ApiServer {
  /** Each question: the kind and what it is about. */
  readonly asked: string[];
  /** Whether tokens are accepted, and whether readers may do with the job what they ask for. */
  accepts: boolean;
  allows: boolean;
  /** What they may not do nevertheless: a part of the question. */
  denies: RegExp | undefined;
  /** Audiences that it answers with; undefined: it knows of none. */
  audiences: string[] | undefined;
  /** Answers nothing but errors. */
  isAway: boolean;
  /** Waited for before each answer. */
  hold: Promise<void> | undefined;
}

function answerOf(server: ApiServer, kind: string, about: string) {
  if (kind !== "TokenReview") {
    return { allowed: server.allows && server.denies?.test(about) !== true };
  }
  const { accepts: authenticated, audiences } = server;
  if (!authenticated) return { authenticated };
  const username = "system:serviceaccount:team:reader";
  return { authenticated, audiences, user: { username, uid: "u1", groups: ["g"], extra: {} } };
}

function apiServer() {
  const server: ApiServer = {
    asked: [],
    accepts: true,
    allows: true,
    denies: undefined,
    audiences: [AUDIENCE],
    isAway: false,
    hold: undefined,
  };
  const client = {
    async create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T> {
      const about = JSON.stringify("spec" in object ? object.spec : {});
      server.asked.push(`${kind.kind} ${about}`);
      await server.hold;
      if (server.isAway) throw new Error("no answer");
      return kind.parse({ ...object, status: answerOf(server, kind.kind, about) });
    },
  };
  return { server, client };
}

/** A log that a test writes. */
export function logOf(uid: string) {
  const rows: ObservationRow[] = [];
  const listeners = new Set<(uid: string) => void>();
  const fault: { error?: Error } = {};
  const isTold = { is: true };
  let pages = 0;
  const source: ObservationReader = {
    snapshotOf(job) {
      if (fault.error !== undefined) return Promise.reject(fault.error);
      if (job.uid !== uid || rows.length === 0) return Promise.resolve(undefined);
      const [latest = ""] = rows.slice(-1).map(({ value }) => value);
      return Promise.resolve({
        plan: {
          kind: "plan",
          key: { kind: "trial", namespace: job.namespace, name: "a-trial", uid: "trial" },
          job,
          records: "all",
          rules: [],
          graceMs: 0,
        },
        metrics: [{ name: "loss", latest, min: latest, max: latest }],
        primaryPod: "pod-1",
      });
    },
    pageOf(job, query) {
      pages += 1;
      if (fault.error !== undefined) return Promise.reject(fault.error);
      if (job.uid !== uid) return Promise.resolve(undefined);
      const { limit } = query;
      const part = partOf(rows, { ...query, limit: limit + 1 });
      const page = { rows: part.slice(0, limit), more: part.length > limit };
      return Promise.resolve({ ...page, isTold: isTold.is });
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    rows,
    source,
    fault,
    /** Whether nobody else writes to it. */
    isTold,
    /** Returns how many pages were read. */
    pages: () => pages,
    /** Adds a row so many seconds after the start, and tells of it. */
    push(second: number, value = String(second), name = "loss") {
      rows.push({ time: new Date(NOW_MS + second * 1000).toISOString(), name, value });
      for (const listener of listeners) listener(uid);
    },
  };
}

/** The TrainJob of the tests. */
export function runningJob(status: Record<string, unknown> = { state: "Running" }): TrainJob {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name: "job", namespace: "team", uid: "uid-1" },
    spec: { runtimeRef: { name: "plain" } },
    status,
  });
}

/** The decision that the owner answers with. */
export const STOPPED = {
  reason: "Pruned",
  message: "worse than the median",
  time: "2026-01-01T00:00:00.000Z",
  user: "system:serviceaccount:team:reader",
  graceSeconds: 30,
};

/** The restart that the owner answers with. */
export const RESTARTED = {
  count: 1,
  reason: "Hangs",
  message: "no step for an hour",
  time: "2026-01-01T00:00:00Z",
  user: "system:serviceaccount:team:reader",
  pods: ["uid-of-pod"],
};

/** The API, and everything that it works with. */
export function apiBench(options: Partial<ObservationApiOptions> = {}) {
  const clock = new FakeClock(NOW_MS);
  const { server, client } = apiServer();
  const log = logOf("uid-1");
  const jobs = new Map([["team/job", runningJob()]]);
  const changed = new Set<() => void>();
  const ends = new Set<(end: "Complete" | "Failed" | "Deleted") => void>();
  const counted: string[] = [];
  const stopAsks: StopRequest[] = [];
  let stopAnswer = (): StopAnswer => ({ stop: STOPPED });
  const restartAsks: RestartRequest[] = [];
  let restartAnswer = (): RestartAnswer => ({ restart: RESTARTED });
  const reviews = createKeyedBuckets({ ratePerSecond: 10, burst: 10 }, 1);
  const access = createAccess({
    audience: AUDIENCE,
    client,
    clock,
    takeTokenReview: (nowMs) => reviews.take("", nowMs) === 0,
    accessReviews: createFairRate({ clock, perSecond: 10, userBurst: 8 }),
  });
  const slots = createStreamSlots({ total: 3, perSubject: 2 });
  const reads = createKeyedBuckets({ ratePerSecond: 100, burst: 200 }, 10);
  const api = createObservationApi({
    kinds: JOB_KINDS,
    access,
    audience: AUDIENCE,
    clock,
    peers: createPeers({ failures: { ratePerSecond: 1, burst: 5 }, maxKeys: 10 }),
    takeRead: reads.take,
    takeChange: createKeyedBuckets({ ratePerSecond: 1, burst: 5 }, 10).take,
    stop(ask) {
      stopAsks.push(ask);
      return stopAnswer();
    },
    restart(ask) {
      restartAsks.push(ask);
      return restartAnswer();
    },
    slots,
    findJob: ({ namespace, name }) => jobs.get(`${namespace}/${name}`),
    jobNow: ({ namespace, name, uid }) => {
      const job = jobs.get(`${namespace}/${name}`);
      return job?.metadata.uid === uid ? job : undefined;
    },
    outcomeOf: (kind, job) => outcomeByTemplate(kind, job, undefined),
    ask: (ask, signal) => answerAsk(log.source, ask, signal),
    follow(_job, listener) {
      const ring = () => listener("job");
      const stop = log.source.onChange(() => listener("log"));
      changed.add(ring);
      listener("log");
      return () => {
        changed.delete(ring);
        stop();
      };
    },
    many: {
      ask: () => comeAgain("there are no logs of many jobs here"),
      take: () => 0,
      inTurn: createFairTurns({ perKey: 1 }),
      jobs: () => [...jobs.values()],
      onJob: () => () => {},
    },
    onJobEnd(_job, listener) {
      ends.add(listener);
      return () => ends.delete(listener);
    },
    random: () => 0,
    onRead: (kind, result) => counted.push(`${kind} ${result}`),
    onChange: (verb, result) => counted.push(`${verb} ${result}`),
    ...options,
  });
  return {
    api,
    access,
    clock,
    server,
    log,
    jobs,
    changed,
    ends,
    counted,
    slots,
    /** Requests to stop that reached the owner. */
    stopAsks,
    /** Sets the owner's answer to them. */
    answerStops: (answer: StopAnswer) => void (stopAnswer = () => answer),
    /** Requests to restart that reached the owner. */
    restartAsks,
    answerRestarts: (answer: RestartAnswer) => void (restartAnswer = () => answer),
  };
}

/** A request for the observation of `team/job` with a good token, and what to change in it. */
export function requestOf(
  changes: {
    readonly query?: string;
    readonly url?: string;
    readonly method?: string;
    readonly authorization?: string | null;
    readonly peer?: string;
    readonly body?: string;
  } = {},
): HttpRequest {
  const { query = "", method = "GET", peer = "10.0.0.1" } = changes;
  const { authorization = `Bearer ${tokenWith()}` } = changes;
  return {
    method,
    peer,
    url: changes.url ?? observationPath(TRAINJOB, "team", "job") + query,
    header: (name) => name === "authorization" ? authorization ?? undefined : undefined,
    readBody: (maxBytes) => {
      const bytes = new TextEncoder().encode(changes.body ?? "");
      return Promise.resolve(bytes.length > maxBytes ? undefined : bytes);
    },
  };
}
