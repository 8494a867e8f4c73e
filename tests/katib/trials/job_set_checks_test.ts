/** Tests of the check of JobSets against their trials' templates, and of its warnings. */
import { deepEqual, equal } from "node:assert/strict";
import { type JobSet, type JobSetSpec } from "../../../crds/jobset.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { WATCHED } from "../../../crds/watched.ts";
import { followJobSets } from "../../../katib/trials/job_set_checks.ts";
import type { Notice } from "../../../trials/plan/notice.ts";
import type { PlanDecision } from "../../../trials/plan/observation_plan.ts";
import { derivePlan } from "../../../trials/plan/derive_plan.ts";
import { primaryContainerProblem } from "../../../trials/plan/primary_container.ts";
import type { TrialMapping } from "../../../trials/mapping/trial_mapping.ts";
import { mappingOf } from "../../../trials/mapping/trial_template.ts";
import { jobSet, replicatedJob } from "../../controller/builders.ts";
import { MemoryCluster } from "../../controller/memory_cluster.ts";
import { settlePromises } from "../../support/fake_clock.ts";
import { jobOf, trial } from "./builders.ts";

function mapping(template: Record<string, unknown>): TrialMapping {
  const result = mappingOf(template, {
    apiVersion: "trainer.kubeflow.org/v1alpha1",
    kind: "TrainJob",
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.mapping;
}

/** An initializer, and a trainer with the container `node`. */
const SPEC: JobSetSpec = {
  replicatedJobs: [
    replicatedJob("model-initializer", "model-initializer"),
    replicatedJob("node", "trainer"),
  ],
};
const LABELLED = replicatedJob("main", "trainer");
if (LABELLED.template.spec) LABELLED.template.spec.template.metadata = { labels: { role: "a" } };

const CASES: Record<
  string,
  { template: Record<string, unknown>; spec?: JobSetSpec; want?: string }
> = {
  "Katib's defaults": { template: { primaryContainerName: "node" } },
  "no container named": { template: {} },
  "a container that is not there": {
    template: { primaryContainerName: "pytorch" },
    want: 'the primary pod has no container "pytorch", which primaryContainerName names; ' +
      "its containers: node",
  },
  "a container of another pod": {
    template: { primaryContainerName: "model-initializer" },
    want:
      'the primary pod has no container "model-initializer", which primaryContainerName names; ' +
      "its containers: node",
  },
  "a replicated job that is not there": {
    template: { primaryPodLabels: { "jobset.sigs.k8s.io/replicatedjob-name": "launcher" } },
    want: "no pod of the job will have the primaryPodLabels " +
      "jobset.sigs.k8s.io/replicatedjob-name=launcher; nothing will be recorded",
  },
  "a label of the pod template": {
    template: { primaryPodLabel: { role: "a" }, primaryContainerName: "node" },
    spec: { replicatedJobs: [LABELLED] },
  },
  "the label with the TrainJob's name": {
    template: { primaryPodLabels: { "trainer.kubeflow.org/trainjob-name": "j" } },
  },
  "the label with the name of another TrainJob": {
    template: { primaryPodLabels: { "trainer.kubeflow.org/trainjob-name": "k" } },
    want: "no pod of the job will have the primaryPodLabels " +
      "trainer.kubeflow.org/trainjob-name=k; nothing will be recorded",
  },
  "a label that no pod template has": {
    template: { primaryPodLabel: { role: "b" } },
    spec: { replicatedJobs: [LABELLED] },
    want: "no pod of the job will have the primaryPodLabels role=b; nothing will be recorded",
  },
  "labels that controllers and Katib add": {
    template: {
      primaryPodLabels: {
        "batch.kubernetes.io/job-completion-index": "1",
        "jobset.sigs.k8s.io/job-index": "0",
        "katib.kubeflow.org/trial": "t1",
      },
      primaryContainerName: "node",
    },
  },
};
for (const [sentence, { template, spec = SPEC, want }] of Object.entries(CASES)) {
  Deno.test(`\`primaryContainerProblem()\` judges ${sentence}`, () => {
    equal(
      primaryContainerProblem(mapping(template), { metadata: { name: "j" }, spec })?.message,
      want,
    );
  });
}

interface World {
  readonly cluster: MemoryCluster;
  readonly notices: Notice[];
  readonly end: () => void;
}

/** A trial with a wrong primaryContainerName, whose JobSets are checked. */
function follow(): World {
  const cluster = new MemoryCluster();
  const of = trial({ primaryContainerName: "pytorch" });
  const trainJob = jobOf(of);
  cluster.put(KINDS.trainJob, trainJob);
  const { decision } = derivePlan(
    { kind: TRAINJOB, job: trainJob, trial: of, claimants: [of], namesakes: [] },
    { adopted: new Set(), namesOnly: true, keepsPlainJobs: false, keepsSteps: true },
  );
  const notices: Notice[] = [];
  const end = followJobSets({
    jobSets: cluster.informer(KINDS.jobSet),
    kinds: JOB_KINDS,
    jobs: new Map([[TRAINJOB, { jobs: cluster.informer(WATCHED.trainJob) }]]),
    plans: { planFor: (): PlanDecision => decision },
    notify: (it) => void notices.push(...it),
  }, new AbortController().signal);
  return { cluster, notices, end };
}

function own(uid: string): JobSet {
  const owner = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob", name: "t1", uid };
  return jobSet(SPEC, { name: "t1", ownerReferences: [{ ...owner, controller: true }] });
}

Deno.test("`followJobSets()` tells the Trial of a wrong primaryContainerName when its JobSet is made", async () => {
  const { cluster, notices, end } = follow();
  cluster.put(KINDS.jobSet, own("uid-of-job-t1"));
  await settlePromises();
  deepEqual(notices.map(({ about, reason }) => [about.kind, about.name, about.uid, reason]), [
    ["Trial", "t1", "uid-of-t1", "PrimaryContainerMissing"],
  ]);
  cluster.edit(KINDS.jobSet, "ml/t1", { status: { restarts: 1 } });
  await settlePromises();
  equal(notices.length, 1, "a JobSet whose spec is the same is not looked at again");
  end();
});

Deno.test("`followJobSets()` looks at no JobSet that is not the job's own, and at none after its end", async () => {
  const { cluster, notices, end } = follow();
  cluster.put(KINDS.jobSet, own("another"));
  await settlePromises();
  end();
  cluster.remove(KINDS.jobSet, "ml/t1");
  cluster.put(KINDS.jobSet, own("uid-of-job-t1"));
  await settlePromises();
  deepEqual(notices, []);
});
