/** Tests of what several jobs wait for, as a list of them says it. */
import { deepEqual, rejects } from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { POD_CONDITIONS, POD_REASONS } from "../../../crds/pod_names.ts";
import type { JobRow } from "../../../crds/wire/row.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { waitsOfJobs, withWaits } from "../../../views/details/waits_of_jobs.ts";
import { type MadeUp, withAnswers } from "../../support/api_answers.ts";

const rowOf = (name: string, state: JobRow["state"] = "Created", namespace = "ml"): JobRow => ({
  uid: `${namespace}/${name}`,
  kind: TRAINJOB.id,
  namespace,
  name,
  state,
  created: "2026-01-01T00:00:00Z",
});

const unplaced = {
  phase: "Pending",
  conditions: [{
    type: POD_CONDITIONS.scheduled,
    status: "False",
    reason: POD_REASONS.unschedulable,
    message: "0/3 nodes are available: 3 node(s) had untolerated taint.",
  }],
};
const podOf = (job: string, more: Readonly<Record<string, unknown>> = {}) => ({
  metadata: {
    name: `${job}-node-0-0-abcde`,
    namespace: "ml",
    uid: `pod-${job}`,
    labels: { [LABELS.trainJobName]: job },
  },
  spec: { containers: [{ name: "node", image: "python" }] },
  status: unplaced,
  ...more,
});
/** It has a node, and says nothing. */
const mounting = (job: string) =>
  podOf(job, {
    spec: { nodeName: "n1", containers: [{ name: "node", image: "python" }] },
    status: { phase: "Pending" },
  });
const warning = {
  metadata: { name: "e", namespace: "ml" },
  involvedObject: { kind: "Pod", name: "data-node-0-0-abcde", uid: "pod-data" },
  type: "Warning",
  reason: POD_REASONS.failedMount,
  message: 'persistentvolumeclaim "nope" not found',
  lastTimestamp: "2026-01-01T00:00:00Z",
};
const listOf = (...items: unknown[]) => ({ kind: "List", metadata: {}, items });
const TAINT = "waits for a node: 0/3 nodes are available: 3 node(s) had untolerated taint";

/** What is found in a cluster with these pods and events, and the paths that were asked for. */
async function waitsWith(
  answers: Readonly<Record<string, MadeUp>>,
  jobs: readonly JobRow[],
  namespaces: readonly string[] = ["ml"],
) {
  let waits: ReadonlyMap<string, string> = new Map();
  let paths: readonly string[] = [];
  await withAnswers(
    ({ path }) => answers[path.split("/").at(-1) ?? ""] ?? 404,
    async (client, asked) => {
      const reads = boundedReads(client, new AbortController().signal);
      waits = await waitsOfJobs(reads, JOB_KINDS, jobs, namespaces);
      paths = asked.map(({ path, query }) => `${path}?${query.get("fieldSelector")}`);
    },
  );
  return { waits: Object.fromEntries(waits), paths };
}

Deno.test("of the jobs that have not begun the waits are known by one read of pending pods", async () => {
  const pods = listOf(podOf("gpu"), podOf("runs"), podOf("strange"), podOf("Gone"));
  const { waits, paths } = await waitsWith({ pods }, [rowOf("gpu"), rowOf("runs", "Running")]);
  deepEqual(waits, { "ml/gpu": TAINT });
  deepEqual(paths, ["/api/v1/namespaces/ml/pods?status.phase=Pending"]);
});

Deno.test("of a pod that does not say what it waits for the newest warning does", async () => {
  const pods = listOf(mounting("data"), podOf("gpu"));
  const jobs = [rowOf("data"), rowOf("gpu")];
  const { waits, paths } = await waitsWith({ pods, events: listOf(warning) }, jobs, []);
  const volumes = 'waits for its volumes: persistentvolumeclaim "nope" not found';
  deepEqual(waits, { "ml/data": volumes, "ml/gpu": TAINT });
  deepEqual(paths, ["/api/v1/pods?status.phase=Pending", "/api/v1/events?involvedObject.kind=Pod"]);
});

Deno.test("nothing is read if no job waits, and nothing is known of pods that may not be listed", async () => {
  deepEqual(await waitsWith({}, [rowOf("runs", "Running")]), { waits: {}, paths: [] });
  const { waits, paths } = await waitsWith({ pods: 403 }, [rowOf("gpu")], ["ml", "other"]);
  deepEqual([waits, paths.length], [{}, 2]);
  await rejects(waitsWith({ pods: 500 }, [rowOf("gpu")]), /InternalError/);
});

Deno.test("a job of the same name elsewhere, and one that has begun since, tell nothing", async () => {
  const { waits } = await waitsWith({ pods: listOf(podOf("gpu")) }, [rowOf("gpu", "Created", "b")]);
  deepEqual(waits, {});
  const known = new Map([["ml/gpu", TAINT]]);
  const rows = [rowOf("gpu"), rowOf("gpu", "Running"), rowOf("other")];
  deepEqual(withWaits(rows, known).map(({ message }) => message), [TAINT, undefined, undefined]);
});
