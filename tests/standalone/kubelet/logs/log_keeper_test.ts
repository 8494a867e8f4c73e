/** Tests of the log keeper: what it removes, also where one log fails. */
import { deepEqual } from "node:assert/strict";
import { MOST_KEPT_LOGS } from "../../../../crds/kept_log.ts";
import { JOB_KINDS } from "../../../../crds/job_kinds.ts";
import { KINDS } from "../../../../crds/kinds.ts";
import type { Pod } from "../../../../platform/kube/kubernetes.ts";
import { createLogKeeper } from "../../../../standalone/kubelet/logs/log_keeper.ts";
import { createLogStore, type LogStore } from "../../../../standalone/kubelet/logs/logs.ts";
import { FakeClock, until } from "../../../support/fake_clock.ts";
import { logged } from "../../../support/logged.ts";
import { MemoryServer } from "../memory_client.ts";

const START = Date.parse("2026-01-01T00:00:00Z");
const HOUR = 3_600_000;
const hoursAgo = (hours: number) => new Date(START - hours * HOUR).toISOString();

/** A pod that failed so long before the start; its name is its UID. */
function failedPod(uid: string, hours: number): Pod {
  const state = { terminated: { exitCode: 1, finishedAt: hoursAgo(hours) } };
  const containerStatuses = [{ name: "main", ready: false, restartCount: 0, state }];
  return KINDS.pod.parse({
    metadata: { name: uid, namespace: "ns", uid },
    spec: { containers: [{ name: "main", image: "none" }] },
    status: { phase: "Failed", containerStatuses },
  });
}

/** Runs a keeper of logs of up to ten hours. `logs` may change its store. */
async function withKeeper(
  { pods = [], server = new MemoryServer(), storeOf = (store) => store }: {
    pods?: readonly Pod[];
    server?: MemoryServer;
    storeOf?: (store: LogStore) => LogStore;
  },
  work: (it: { logs: LogStore; clock: FakeClock }) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  const clock = new FakeClock(START);
  const abort = new AbortController();
  const logs = storeOf(createLogStore({ folder, now: () => clock.now() }));
  const bounds = { bytes: 1_000_000, ageMs: 10 * HOUR };
  const client = server.client();
  const keeper = createLogKeeper({
    client,
    clock,
    kinds: JOB_KINDS,
    bounds,
    logs,
    pods: () => pods,
  });
  for (const { metadata } of pods) {
    if (metadata?.uid?.startsWith("never-started")) continue;
    const log = logs.open({ podUid: metadata?.uid ?? "", container: "main", attempt: 0 });
    log.write("stdout", new TextEncoder().encode("words\n"));
    log.close();
  }
  const running = keeper.run(abort.signal);
  try {
    await work({ logs, clock });
  } finally {
    abort.abort();
    await running;
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("logs that are too old go, whatever pods that never started are among them", async () => {
  const pods = [
    failedPod("old", 20),
    failedPod("never-started", 30),
    failedPod("older", 40),
    failedPod("new", 5),
  ];
  const records = await logged(() =>
    withKeeper({ pods }, async ({ logs }) => {
      await until("the old ones go", () => logs.isDiscarded("old") && logs.isDiscarded("older"));
      const discarded = pods.filter(({ metadata }) => logs.isDiscarded(metadata?.uid ?? ""));
      deepEqual(discarded.map(({ metadata }) => metadata?.uid), ["old", "older"]);
    }), "warning");
  deepEqual(records, []);
});

for (const step of ["size", "discard"] as const) {
  Deno.test(`a log whose ${step} fails stops no other, and is said once`, async () => {
    const pods = [failedPod("bad", 20), failedPod("old", 30)];
    let failures = 0;
    const storeOf = (store: LogStore): LogStore => ({
      ...store,
      discard: (uid) => uid === "bad" ? fail() : store.discard(uid),
      size: (uid) => uid === "bad" && step === "size" ? fail() : store.size(uid),
    });
    const fail = () => Promise.reject(new Error(`not permitted ${++failures}`));
    const records = await logged(() =>
      withKeeper({ pods, storeOf }, async ({ logs, clock }) => {
        await until("the other one goes", () => logs.isDiscarded("old"));
        const before = failures;
        await until("it is tried again", async () => {
          await clock.advance(60_000);
          return failures > before;
        });
      }), "warning");
    deepEqual(records.map(({ properties }) => properties), [
      { uid: "bad", error: "not permitted 1" },
    ]);
  });
}

Deno.test("a job that restarts again and again has the newest logs of its pods", async () => {
  const server = new MemoryServer();
  const count = MOST_KEPT_LOGS.ofJob + 3;
  for (let at = 0; at < count; at++) {
    const ownerReferences = [{ apiVersion: "v1", kind: "Job", name: "job", uid: "job" }];
    const metadata = { name: `pod-${at}`, namespace: "ns", ownerReferences };
    const spec = { pod: failedPod(`pod-${at}`, 1), gone: new Date(START + at).toISOString() };
    server.put(KINDS.keptLog, { metadata, spec });
  }
  await withKeeper({ server }, async () => {
    await until("the oldest go", () => server.objects.size <= MOST_KEPT_LOGS.ofJob);
    const kept = [...server.objects.values()].map(({ metadata }) => metadata.name);
    deepEqual(kept, Array.from({ length: MOST_KEPT_LOGS.ofJob }, (_, at) => `pod-${at + 3}`));
  });
});
