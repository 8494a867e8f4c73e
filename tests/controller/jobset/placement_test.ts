/** Tests of exclusive placement by reserved nodes. */
import { deepEqual, equal } from "node:assert/strict";
import { jobSetProblems } from "../../../controller/jobset/problems.ts";
import { JOBSET_KEYS } from "../../../crds/jobset_names.ts";
import { jobSet, replicated, World } from "./world.ts";

const TOPOLOGY = JOBSET_KEYS.exclusiveTopology;
const STRATEGY = JOBSET_KEYS.nodeSelectorStrategy;

type Annotations = Record<string, string>;

/** JobSet `t` of Job `a` with those annotations. */
function placed({ ofJobSet, ofJob }: { ofJobSet?: Annotations; ofJob?: Annotations }) {
  const { template } = replicated("a");
  const job = replicated("a", { template: { ...template, metadata: { annotations: ofJob } } });
  return jobSet({ replicatedJobs: [job] }, { annotations: ofJobSet });
}

const BOTH = { [TOPOLOGY]: "rack", [STRATEGY]: "true" };

const RESERVED: Record<string, { ofJobSet?: Annotations; ofJob?: Annotations; pod: Annotations }> =
  {
    "of the JobSet": { ofJobSet: BOTH, pod: BOTH },
    "of the job": { ofJob: BOTH, pod: BOTH },
    "of the JobSet, with another topology of the job": {
      ofJobSet: BOTH,
      ofJob: { [TOPOLOGY]: "zone" },
      pod: { ...BOTH, [TOPOLOGY]: "zone" },
    },
    "of the JobSet, with the strategy of the job": {
      ofJobSet: { [TOPOLOGY]: "rack" },
      ofJob: { [STRATEGY]: "true" },
      pod: { [TOPOLOGY]: "rack" },
    },
  };

for (const [what, { pod, ...annotations }] of Object.entries(RESERVED)) {
  Deno.test(`\`createJobSetReconciler()\` places Jobs on reserved nodes by annotations ${what}`, async () => {
    const world = new World();
    await world.create(placed(annotations));
    const { template } = world.job("t-a-0").spec ?? {};
    deepEqual(template?.spec?.nodeSelector, {
      "alpha.jobset.sigs.k8s.io/namespaced-job": "default_t-a-0",
    });
    deepEqual(template?.spec?.tolerations, [{
      key: "alpha.jobset.sigs.k8s.io/no-schedule",
      operator: "Exists",
      effect: "NoSchedule",
    }]);
    const own = Object.entries(template?.metadata?.annotations ?? {})
      .filter(([key]) => key === TOPOLOGY || key === STRATEGY);
    deepEqual(Object.fromEntries(own), pod);
  });
}

Deno.test("`createJobSetReconciler()` leaves pods where they are by the strategy alone", async () => {
  const world = new World();
  await world.create(placed({ ofJobSet: { [STRATEGY]: "true" } }));
  equal(world.job("t-a-0").spec?.template.spec?.nodeSelector, undefined);
});

const REFUSED: Record<string, { ofJobSet?: Annotations; ofJob?: Annotations; path: string }> = {
  "of the JobSet": { ofJobSet: { [TOPOLOGY]: "rack" }, path: `metadata.annotations[${TOPOLOGY}]` },
  "of the job": {
    ofJob: { [TOPOLOGY]: "rack" },
    path: `spec.replicatedJobs[0].template.metadata.annotations[${TOPOLOGY}]`,
  },
  "of the job, with the strategy of the JobSet alone": {
    ofJobSet: { [STRATEGY]: "true" },
    ofJob: { [TOPOLOGY]: "rack" },
    path: `spec.replicatedJobs[0].template.metadata.annotations[${TOPOLOGY}]`,
  },
};

for (const [what, { path, ...annotations }] of Object.entries(REFUSED)) {
  Deno.test(`\`jobSetProblems()\` names the topology ${what}, which nothing carries out`, () => {
    const { spec = {}, metadata } = placed(annotations);
    deepEqual(jobSetProblems(spec, metadata).map(({ field }) => field), [path]);
  });
}
