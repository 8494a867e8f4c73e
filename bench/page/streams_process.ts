/**
 * Process with the list of 10,000 jobs that change, and streams of it in this process: prints the part of a core that it
 * took, and how long another user waited for a list, as JSON. Arguments: streams of one user, and users.
 */
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import { type AnyJob, jobSchema } from "../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import { TRAINJOB_STATES } from "../../crds/names.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { systemClock as clock } from "../../platform/base/clock.ts";
import type { Change } from "../../platform/kube/watching/informer_cache.ts";
import { createListTurns } from "../../page/api/list_turns.ts";
import { createViewApi } from "../../page/api/view_api.ts";
import { LISTING_PART_BESIDE_PUSHES } from "../../page/api/job_view.ts";
import { VIEW_LIMITS } from "../../crds/wire/view_limits.ts";
import { createJobList } from "../../views/list/job_list.ts";
import { SORT_KEYS } from "../../crds/wire/row.ts";
import { fewPeers, NAMED_ACCESS } from "../../tests/support/named_readers.ts";
import { cpuSeconds } from "../process_stats.ts";
import type { StreamsTaken } from "./streams_taken.ts";

const [JOBS, CHANGES_PER_SECOND, NAMESPACES] = [10_000, 50, 20];
/** After the streams were opened, and while it is measured. */
const [WARM_UP_MS, MEASURED_MS] = [3_000, 10_000];
/** Between two lists that another user reads. */
const READ_EVERY_MS = 250;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const [streams = 0, users = 1] = Deno.args.map(Number);

const jobOf = (index: number, version: number): AnyJob =>
  jobSchema.parse({
    apiVersion: TRAINJOB.apiVersion,
    kind: TRAINJOB.kind,
    metadata: {
      name: `job-${index * 7919 % JOBS}`,
      namespace: `team-${index % NAMESPACES}`,
      uid: `uid-${index}`,
      creationTimestamp: new Date(1_767_225_600_000 + index * 1_000).toISOString(),
      resourceVersion: String(version),
    },
    status: {
      trainerStatus: {
        progressPercentage: (index + version) % 100,
        metrics: [{ name: "loss", value: String((index * 31 + version) % 1_000) }],
        lastUpdatedTime: new Date(1_767_225_600_000 + version).toISOString(),
      },
    },
  });

const jobs = Array.from({ length: JOBS }, (_, index) => jobOf(index, 0));
const listeners = new Set<(change: Change<AnyJob>) => void>();
const list = createJobList({
  jobs: new Map([[TRAINJOB, {
    jobs: {
      list: () => [...jobs],
      onChange(listener) {
        listeners.add(listener);
        for (const object of jobs) listener({ type: "added", object });
        return () => void listeners.delete(listener);
      },
    },
  }]]),
});
const view = createViewApi({
  access: NAMED_ACCESS,
  audience: OBSERVATION_AUDIENCE,
  clock,
  peers: fewPeers(),
  takeRead: () => 0,
  takeApiReview: () => 0,
  kinds: JOB_KINDS,
  runningKinds: () => [TRAINJOB],
  slots: createStreamSlots({ total: 1_000, perSubject: 20 }),
  list,
  listInTurn: createListTurns(clock, LISTING_PART_BESIDE_PUSHES),
  cached: () => undefined,
  ask: () => ({ curves: [], left: [] }),
  follow: () => () => {},
});

const ask = (user: string, url: string) =>
  view.handle({
    method: "GET",
    url,
    peer: "192.0.2.1",
    header: (name) => name === "authorization" ? `Bearer ${user}` : undefined,
    readBody: () => Promise.resolve(new Uint8Array()),
  });

/** A list that nobody else looks at. */
function queryOf(number: number): string {
  const sort = SORT_KEYS[number % SORT_KEYS.length] ?? "name";
  const query = new URLSearchParams({ sort, text: String(number % 97), limit: "50" });
  if (sort === "metric") query.set("sortMetric", "loss");
  for (const state of TRAINJOB_STATES.slice(0, 1 + number % 3)) query.append("state", state);
  return String(query);
}

const over = new AbortController();
let events = 0;
let next = 0;
for (let user = 0; user < users; user++) {
  for (let stream = 0; stream < streams; stream++) {
    const lists = Array.from(
      { length: VIEW_LIMITS.lists },
      () => `list=${encodeURIComponent(queryOf(next++))}`,
    );
    const { stream: run, body } = await ask(`eve-${user}`, `/view/v1/events?${lists.join("&")}`);
    if (run === undefined) throw new Error(`there is no stream: ${body}`);
    void run({ signal: over.signal, write: () => Promise.resolve(void events++) });
  }
}

let version = 1;
const changing = setInterval(() => {
  const index = version * 6_007 % JOBS;
  const [old, object] = [jobs[index], jobOf(index, version++)];
  jobs[index] = object;
  for (const listener of listeners) listener({ type: "updated", object, ...(old && { old }) });
}, 1_000 / CHANGES_PER_SECOND);

let longestMs = 0;
let lookedMs = performance.now();
const looking = setInterval(() => {
  const nowMs = performance.now();
  longestMs = Math.max(longestMs, nowMs - lookedMs);
  lookedMs = nowMs;
}, 1);

await sleep(WARM_UP_MS);
[longestMs, events] = [0, 0];
const [beganMs, beganCpu] = [performance.now(), await cpuSeconds(Deno.pid)];
const readMs: number[] = [];
while (performance.now() - beganMs < MEASURED_MS) {
  const askedMs = performance.now();
  await ask("ada", "/view/v1/jobs?limit=50");
  readMs.push(performance.now() - askedMs);
  await sleep(READ_EVERY_MS);
}
const seconds = (performance.now() - beganMs) / 1_000;
const cores = (await cpuSeconds(Deno.pid) - beganCpu) / seconds;
clearInterval(changing);
clearInterval(looking);
const taken: StreamsTaken = { cores, longestMs, readMs, events: events / seconds };
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(taken)));
Deno.exit(0);
