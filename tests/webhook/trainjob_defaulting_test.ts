/** Tests of the times of runtime patches, which admission sets. */
import assert from "node:assert/strict";
import type { RuntimePatch } from "../../crds/runtime_patch.ts";
import { defaultTrainJob } from "../../webhook/trainjob_defaulting.ts";
import { patchOf, trainJob } from "./builders.ts";

const NOW = "2026-01-02T03:04:05Z";
const OLD = "2025-01-01T00:00:00Z";
const OWN = "2024-01-01T00:00:00Z";
const one = { nodeSelector: { a: "1" } };
const two = { nodeSelector: { a: "2" } };

const cases: Record<string, { patch: RuntimePatch; old?: RuntimePatch[]; want: string }> = {
  "fills the time of a new job's patch": { patch: patchOf(one), want: NOW },
  "keeps the time that a new job's patch has": { patch: patchOf(one, { time: OWN }), want: OWN },
  "keeps the old time of an unchanged patch": {
    patch: patchOf(one),
    old: [patchOf(one, { time: OLD })],
    want: OLD,
  },
  "restores the old time if only the time was edited": {
    patch: patchOf(one, { time: OWN }),
    old: [patchOf(one, { time: OLD })],
    want: OLD,
  },
  "gives a changed patch the time of now": {
    patch: patchOf(two, { time: OLD }),
    old: [patchOf(one, { time: OLD })],
    want: NOW,
  },
  "gives a patch of a new manager the time of now": {
    patch: patchOf(one),
    old: [patchOf(one, { manager: "other.io/x", time: OLD })],
    want: NOW,
  },
  "keeps the own time of a patch of a new manager": {
    patch: patchOf(one, { time: OWN }),
    old: [],
    want: OWN,
  },
};

for (const [sentence, { patch, old, want }] of Object.entries(cases)) {
  Deno.test(`\`defaultTrainJob()\` ${sentence}`, () => {
    const before = old === undefined ? undefined : trainJob({ runtimePatches: old });
    const job = defaultTrainJob(trainJob({ runtimePatches: [patch] }), before, NOW);
    assert.deepEqual(job.spec.runtimePatches, [{ ...patch, time: want }]);
  });
}

Deno.test("`defaultTrainJob()` leaves a job without patches as it is", () => {
  assert.deepEqual(defaultTrainJob(trainJob(), undefined, NOW), trainJob());
});
