/** Tests of the limit of the restarts of a JobSet's pods. */
import { equal } from "node:assert/strict";
import type { JobSetSpec } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { restartLimitOf } from "../../../controller/trainjob/restart_limit.ts";

const INT32_MAX = 2 ** 31 - 1;

const CASES: Readonly<
  Record<string, readonly [job: object, policy: JobSetSpec["failurePolicy"], want?: number]>
> = {
  "that of its Job": [{ backoffLimit: 3 }, undefined, 3],
  "Kubernetes' own where the Job names none": [{}, undefined, 6],
  "one restart, which a container may have before its Job hears of it": [
    { backoffLimit: 0 },
    undefined,
    1,
  ],
  "that of the Job in each run of the JobSet, and the runs": [
    { backoffLimit: 3 },
    { maxRestarts: 2 },
    11,
  ],
  "not known with rules of the JobSet": [
    {},
    { maxRestarts: 2, rules: [{ name: "r", action: "RestartJobSetAndIgnoreMaxRestarts" }] },
  ],
  "not known with a policy by pod": [{ podFailurePolicy: { rules: [] } }, undefined],
  "none of a Job without a limit": [{ backoffLimit: INT32_MAX }, undefined],
};
for (const [sentence, [job, failurePolicy, want]] of Object.entries(CASES)) {
  Deno.test(`the restarts of a JobSet's pods have a limit: ${sentence}`, () => {
    const template = { spec: { template: { spec: { containers: [] } }, ...job } };
    const jobSet = KINDS.jobSet.parse({
      apiVersion: "jobset.x-k8s.io/v1alpha2",
      kind: "JobSet",
      metadata: { name: "j" },
      spec: {
        replicatedJobs: [{ name: "node", template }],
        ...(failurePolicy && { failurePolicy }),
      },
    });
    equal(restartLimitOf(jobSet), want);
  });
}
