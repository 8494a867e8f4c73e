/** Tests of changes among the pods that push for a job. */
import assert from "node:assert/strict";
import { type PodChange, PushingPods } from "../../../owner/curves/pushing_pods.ts";

/** Pushes as `NAME/UID`, and what each is. */
const cases: Record<string, { pushes: readonly string[]; want: readonly PodChange[] }> = {
  "of one pod": { pushes: ["a/1", "a/1"], want: ["same", "same"] },
  "of a pod that was made anew under its name": {
    pushes: ["w-0/1", "w-0/2", "w-0/2"],
    want: ["same", "replaced", "same"],
  },
  "of a pod that was made anew with another random end": {
    pushes: ["j-node-0-0-bcdfg/1", "j-node-0-0-xxxxx/2"],
    want: ["same", "replaced"],
  },
  "of a pod of another name": { pushes: ["a/1", "b/2", "b/2"], want: ["same", "joined", "same"] },
  "of two ranks in turn": {
    pushes: ["w-0/1", "w-1/2", "w-0/1", "w-1/2", "w-0/1"],
    want: ["same", "joined", "returned", "returned", "returned"],
  },
  "of two ranks, one of which is made anew": {
    pushes: ["w-0/1", "w-1/2", "w-0/1", "w-1/3", "w-0/1"],
    want: ["same", "joined", "returned", "replaced", "returned"],
  },
  "of ranks that differ in a digit": {
    pushes: ["w-0-12345/1", "w-0-12346/2"],
    want: ["same", "joined"],
  },
};
for (const [sentence, { pushes, want }] of Object.entries(cases)) {
  Deno.test(`PushingPods judges pushes ${sentence}`, () => {
    const pods = new PushingPods();
    const got = pushes.map((it) => {
      const [name = "", uid = ""] = it.split("/");
      return pods.pushed({ name, uid });
    });
    assert.deepEqual(got, want);
  });
}

Deno.test("PushingPods tells 64 pods apart, and takes no more memory for others", () => {
  const pods = new PushingPods();
  const push = (rank: number) => pods.pushed({ name: `w-${rank}`, uid: `${rank}` });
  for (let rank = 0; rank < 64; rank++) push(rank);
  const { bytes } = pods;
  assert.deepEqual([push(64), push(65), push(64)], ["same", "same", "same"]);
  assert.equal(pods.bytes, bytes);
  assert.equal(push(3), "returned");
});
