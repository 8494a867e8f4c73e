/** Tests of pods that are gone and whose logs are kept. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import type { ShownPod } from "../../../crds/wire/details.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { createKeptPods, oneOfEachRank, withKept } from "../../../views/details/kept_pods.ts";
import { byRank } from "../../../views/details/shown_pods.ts";

const pod = (uid: string, rank: string, more: Partial<ShownPod> = {}): ShownPod => ({
  uid,
  name: uid,
  rank,
  phase: "Failed",
  restarts: 0,
  containers: ["node"],
  ...more,
});
const gone = (uid: string, rank: string, started = "2026-01-01T00:00:00Z", name = uid) =>
  pod(uid, rank, { gone: true, started, name });
const uids = (pods: readonly ShownPod[]) => pods.map(({ uid }) => uid);

Deno.test("of each rank the pods that are there are meant, else the one that went last", () => {
  const live = [pod("a1", "node-1"), pod("b1", "node-1")];
  const kept = [
    gone("a0", "node-0", "2026-01-01T00:00:00Z"),
    gone("b0", "node-0", "2026-01-01T00:01:00Z"),
    gone("c1", "node-1"),
  ];
  const all = withKept(live, kept).toSorted(byRank);
  deepEqual(uids(all), ["b0", "a0", "a1", "b1", "c1"]);
  deepEqual(uids(oneOfEachRank(all)), ["b0", "a1", "b1"]);
  deepEqual(withKept(live), live);
});

Deno.test("a pod that was made again under its name stands for those before", () => {
  const kept = [gone("2", "m-0", "2026-01-01T00:01:00Z", "m"), gone("1", "m-0", undefined, "m")];
  const shown = (pods: readonly ShownPod[]) =>
    withKept(pods, kept).map(({ uid, restarts, gone }) => [uid, restarts, gone ?? false]);
  deepEqual(shown([]), [["2", 1, true]]);
  deepEqual(shown([pod("3", "m-0", { name: "m", restarts: 4 })]), [["3", 6, false]]);
  // It went between the two lists.
  deepEqual(shown([pod("2", "m-0", { name: "m" })]), [["2", 1, false]]);
});

/** Answers lists with an error, and counts them. */
function refusing(code: number) {
  const seen = { calls: 0 };
  const list = () => {
    seen.calls++;
    return Promise.reject(new KubeError("no", { code, reason: "X" }));
  };
  const get = () => Promise.reject(new Error("nothing else is read"));
  return { seen, reads: boundedReads({ list, get, read: get }, AbortSignal.timeout(10_000)) };
}
const OF = { namespace: "ns", labelSelector: "a=b", job: "uid" };

for (const code of [403, 404]) {
  Deno.test(`an API server that answers ${code} keeps no logs, and is asked once`, async () => {
    const { seen, reads } = refusing(code);
    const read = createKeptPods();
    for (let times = 0; times < 3; times++) equal(await read(reads, OF), undefined);
    equal(seen.calls, 1);
  });
}

Deno.test("one that fails otherwise is asked again", async () => {
  const { seen, reads } = refusing(500);
  const read = createKeptPods();
  for (let times = 0; times < 2; times++) await rejects(read(reads, OF), KubeError);
  equal(seen.calls, 2);
});
