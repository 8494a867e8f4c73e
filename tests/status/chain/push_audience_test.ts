/** Tests of the audiences with which pods push. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { pushAudience } from "../../../status/chain/push_audience.ts";

Deno.test("`pushAudience()` accepts the KEP's audience, and upstream's for its own job only", () => {
  const job = { kind: TRAINJOB, namespace: "team", name: "job-1" };
  const perJob = "trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/job-1/status";
  const cases: [string[], string | undefined][] = [
    [["trainer.kubeflow.org"], "trainer.kubeflow.org"],
    [["x", perJob], perJob],
    [[perJob.replace("job-1", "job-2")], undefined],
    [[perJob.replace("team", "other")], undefined],
    [["https://kubernetes.default.svc"], undefined],
    [[], undefined],
  ];
  for (const [audiences, want] of cases) assert.equal(pushAudience({ audiences }, job), want);
});
