/** An observation API in memory with many jobs, whose caches, logs and owner are the test's. */
import assert from "node:assert/strict";
import type { AnyJob } from "../../../crds/job_kind.ts";
import { observationsPath } from "../../../crds/job_kind.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Place } from "../../../katib/api/checks.ts";
import { jobObservationSchema } from "../../../katib/api/messages.ts";
import { answerPages } from "../../../owner/observations/observation_asks.ts";
import type { ObservationReader } from "../../../owner/observations/observations.ts";
import { partOf } from "../../../owner/observations/log_parts.ts";
import { createFairTurns } from "../../../platform/base/fair_turns.ts";
import { createKeyedListeners } from "../../../platform/base/keyed_listeners.ts";
import { createKeyedBuckets } from "../../../platform/base/token_bucket.ts";
import { createListeners } from "../../../platform/base/listeners.ts";
import { comeAgain } from "../../../platform/http/replicas/owner_router.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { parseBlock } from "../../support/event_client.ts";
import { settle } from "../../support/fake_clock.ts";
import { apiBench, NOW_MS, requestOf } from "./api_bench.ts";

const SWEEP = "sweep";

function jobOf(name: string, sweep: string, uid: string): AnyJob {
  return KINDS.trainJob.parse({
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
    metadata: { name, namespace: "team", uid, labels: { [SWEEP]: sweep } },
    spec: { runtimeRef: { name: "plain" } },
    status: { state: "Running" },
  });
}

/** Logs by the UID of their job. */
function logs() {
  const rows = new Map<string, ObservationRow[]>();
  const changed = createKeyedListeners();
  const faults = new Map<string, Error>();
  let whileReading: (() => void) | undefined;
  const reader: Pick<ObservationReader, "pageOf"> = {
    async pageOf({ uid }, query) {
      const error = faults.get(uid) ?? faults.get("");
      if (error !== undefined) throw error;
      const { limit } = query;
      const part = partOf(rows.get(uid) ?? [], { ...query, limit: limit + 1 });
      const once = whileReading;
      whileReading = undefined;
      once?.();
      await undefined;
      return { rows: part.slice(0, limit), more: part.length > limit, isTold: true };
    },
  };
  const source: ObservationReader = {
    ...reader,
    snapshotOf: () => Promise.reject(new Error("a summary of each log is not wanted")),
    onChange: () => () => {},
  };
  return {
    source,
    changed,
    fault(error: Error | undefined, uid = "") {
      if (error === undefined) faults.delete(uid);
      else faults.set(uid, error);
    },
    whileReading: (work: () => void) => void (whileReading = work),
    add(uid: string, row: ObservationRow) {
      rows.set(uid, [...rows.get(uid) ?? [], row]);
      changed.notify(uid);
    },
  };
}

/** What a stream has told, and how it is ended. */
function listening(stream: NonNullable<Awaited<ReturnType<Bench["api"]["handle"]>>["stream"]>) {
  const gone = new AbortController();
  const texts: string[] = [];
  const done = { is: false };
  let isStalled = false;
  const running = stream({
    signal: gone.signal,
    write(text) {
      texts.push(String(text));
      return isStalled ? new Promise(() => {}) : Promise.resolve();
    },
  }).then(() => done.is = true);
  /** What came since the last call, without comments. */
  const heard = () =>
    texts.splice(0).map((text) => parseBlock(text.trimEnd())).filter((it) => "event" in it);
  return {
    texts,
    done,
    heard,
    /** Rows since the last call, each as the name of its job and its value. */
    rows: () =>
      heard().flatMap(({ event, data }) => {
        if (event !== "observation") return [];
        const { job, log } = jobObservationSchema.parse(data);
        return log.map(({ value }) => `${job.name} ${value}`);
      }),
    /** Events since the last call, with the names of their jobs. */
    names: () =>
      heard().map(({ event, data }) => {
        const name = /"job":\{"name":"([^"]*)"/.exec(JSON.stringify(data))?.[1];
        return name === undefined ? event : `${event} ${name}`;
      }),
    async until(event: string) {
      for (let turns = 0; turns < 100; turns++) {
        if (texts.some((text) => text.startsWith(`event: ${event}\n`))) return;
        await settle(1);
      }
      assert.fail(`no ${event}`);
    },
    /** The reader takes nothing any more. */
    stall: () => void (isStalled = true),
    async stop() {
      gone.abort();
      await running;
    },
  };
}

/** The bench of {@link jobsBench}. */
export type Bench = ReturnType<typeof apiBench>;

/** The API over these jobs, each with the value of its label `sweep`; `mostAsks`: questions to the owner at once. */
export function jobsBench(sweeps: Readonly<Record<string, string>>, mostAsks = 200) {
  const jobs = new Map(
    Object.entries(sweeps).map(([name, sweep]) => [name, jobOf(name, sweep, `uid-${name}`)]),
  );
  const log = logs();
  const changedJobs = createKeyedListeners();
  const changedPlace = createListeners<{ job: AnyJob; isThere: boolean }>();
  const asked: number[] = [];
  let owner: "there" | "away" | "hangs" = "there";
  let followed = 0;
  const bench = apiBench({
    jobNow: ({ name, uid }) => {
      const job = jobs.get(name);
      return job?.metadata.uid === uid ? job : undefined;
    },
    follow({ uid }, listener) {
      followed += 1;
      const stops = [
        changedJobs.add(uid, () => listener("job")),
        log.changed.add(uid, () => listener("log")),
      ];
      listener("log");
      return () => {
        followed -= 1;
        stops.forEach((stop) => stop());
      };
    },
    many: {
      ask(ask, signal) {
        asked.push(ask.pages.length);
        if (owner === "away") return comeAgain("no replica owns the logs");
        if (owner === "hangs") return new Promise(() => {});
        return answerPages(log.source, ask, signal);
      },
      take: createKeyedBuckets({ ratePerSecond: 100, burst: mostAsks }, 10).take,
      inTurn: createFairTurns({ total: 4, perKey: 2 }),
      jobs: (_: Place) => [...jobs.values()],
      onJob: (_, listener) => changedPlace.add(({ job, isThere }) => listener(job, isThere)),
    },
  });

  function put(name: string, job: AnyJob): void {
    jobs.set(name, job);
    changedJobs.notify(job.metadata.uid ?? "");
    changedPlace.notify({ job, isThere: true });
  }
  const known = (name: string): AnyJob => {
    const job = jobs.get(name);
    assert.ok(job !== undefined);
    return job;
  };
  const send = async (body: object | string, changes: Parameters<typeof requestOf>[0] = {}) =>
    await bench.api.handle(requestOf({
      method: "POST",
      url: observationsPath(TRAINJOB, "team"),
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...changes,
    }));

  return {
    ...bench,
    /** How many jobs each question to the owner was about. */
    asked,
    send,
    /** Opens a stream. */
    async open(body: object) {
      const { status, stream, body: text } = await send(body);
      assert.equal(status, 200, text);
      assert.ok(stream !== undefined);
      const heard = listening(stream);
      await settle(8);
      return heard;
    },
    push(name: string, second: number, value = String(second)) {
      const { uid = "" } = known(name).metadata;
      const time = new Date(NOW_MS + second * 1000).toISOString();
      log.add(uid, { time, name: "loss", value, step: second, run: `pod-${name}` });
    },
    create: (name: string, sweep: string, uid = `uid-${name}`) =>
      put(name, jobOf(name, sweep, uid)),
    label(name: string, sweep: string) {
      const job = known(name);
      put(name, { ...job, metadata: { ...job.metadata, labels: { [SWEEP]: sweep } } });
    },
    change(name: string, { status, annotations }: {
      status?: Record<string, unknown>;
      annotations?: Record<string, string>;
    }) {
      const job = known(name);
      put(name, {
        ...job,
        ...(status && { status }),
        metadata: { ...job.metadata, ...(annotations && { annotations }) },
      });
    },
    remove(name: string) {
      const job = known(name);
      jobs.delete(name);
      changedJobs.notify(job.metadata.uid ?? "");
      changedPlace.notify({ job, isThere: false });
    },
    fault: log.fault,
    whileReading: log.whileReading,
    away: (isAway: boolean) => void (owner = isAway ? "away" : "there"),
    hang: () => void (owner = "hangs"),
    /** Jobs that streams follow. */
    followed: () => followed,
    /** Streams that hear of jobs. */
    listeners: () => changedPlace.size,
  };
}
