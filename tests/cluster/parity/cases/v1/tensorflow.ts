/** Lives of TFJobs. */
import type { CaseTable, Step } from "../../case.ts";
import type { Fields } from "../../sketches.ts";
import {
  aPod,
  change,
  container,
  create,
  hasPods,
  is,
  isGone,
  job,
  type JobSketch,
  patch,
  pods,
  remove,
  scale,
  step,
  touched,
} from "./sketches.ts";

const made = (replicas: JobSketch["replicas"], runPolicy: Fields = {}, more: Fields = {}): Step =>
  step(
    [create(job("TFJob", { replicas, runPolicy: { suspend: false, ...runPolicy }, more }))],
    is("Created"),
  );
const run = (...names: string[]): Step => step(pods(names, "Running"), is("Running"));
const succeed = (...names: string[]): Step => step(pods(names, "Succeeded"));
const fail = (...names: string[]): Step => step(pods(names, "Failed"));

const ALL_WORKERS = { successPolicy: "AllWorkers" };
const WORKERS_4 = ["worker-0", "worker-1", "worker-2", "worker-3"];
const WITH_PS = ["ps-0", "ps-1", ...WORKERS_4];
const MANY = { PS: 2, Worker: 4 };

/** All pods run, and their containers were started again so often. */
const restarted = (restartCount: number): Step => step(pods(WITH_PS, "Running", { restartCount }));
const onFailure = (replicas: number) => ({ replicas, restartPolicy: "OnFailure" });

/** Job `j` with pods in three phases succeeds. */
const mixed = (cleanPodPolicy: string): readonly Step[] => [
  made({ PS: 1, Worker: 3 }, { cleanPodPolicy }),
  step(pods(["ps-0", "worker-0"], "Running"), is("Running")),
  succeed("worker-1"),
  succeed("worker-0"),
];

const elsewhere = { managedBy: "kueue.x-k8s.io/multikueue" };

/** Lives in which success and failure are decided. */
const VERDICTS: CaseTable = {
  "TFJob: worker 0 succeeds while the others run": [
    made(MANY),
    run(...WITH_PS),
    succeed("worker-0"),
  ],
  "TFJob: another worker succeeds": [made(MANY), run(...WITH_PS), succeed("worker-1")],
  "TFJob: all workers have to succeed": [
    made(MANY, {}, ALL_WORKERS),
    run(...WITH_PS),
    succeed("worker-0"),
    succeed("worker-1", "worker-2", "worker-3"),
  ],
  "TFJob: it has no workers at all": [made({ Worker: 0 }), touched("TFJob", is("Succeeded"))],
  "TFJob: it has a parameter server and no workers": [
    made({ PS: 1, Worker: 0 }),
    touched("TFJob", is("Succeeded")),
  ],
  "TFJob: all workers have to succeed, and one fails": [
    made({ Worker: 3 }, {}, ALL_WORKERS),
    run("worker-0", "worker-1", "worker-2"),
    succeed("worker-0"),
    fail("worker-2"),
  ],
  "TFJob: its workers succeed, but not its chief": [
    made({ Chief: 1, Worker: 2 }),
    run("worker-0", "worker-1", "chief-0"),
    succeed("worker-0", "worker-1"),
    succeed("chief-0"),
  ],
  "TFJob: its master succeeds": [
    made({ Master: 1, Worker: 1 }),
    run("worker-0", "master-0"),
    succeed("master-0"),
  ],
  "TFJob: a parameter server fails": [
    made({ Chief: 1, PS: 1 }),
    run("ps-0", "chief-0"),
    fail("ps-0"),
  ],
  "TFJob: its chief exits with 130": [
    made({ Chief: { replicas: 1, restartPolicy: "ExitCode" }, Worker: 1 }),
    run("worker-0", "chief-0"),
    step(pods(["chief-0"], "Failed", { exitCode: 130 })),
    run("chief-0"),
  ],
  "TFJob: an evaluator fails": [
    made({ PS: 1, Worker: 2, Evaluator: 1 }),
    run("ps-0", "worker-0", "worker-1", "evaluator-0"),
    fail("evaluator-0"),
  ],
  "TFJob: an evaluator succeeds": [
    made({ Worker: 2, Evaluator: 1 }),
    run("worker-0", "worker-1", "evaluator-0"),
    succeed("evaluator-0"),
  ],
  "TFJob: parameter servers alone": [
    made({ PS: 1 }),
    step(pods(["ps-0"], "Running")),
    succeed("ps-0"),
  ],
  "TFJob: a single worker": [made({ Worker: 1 }), run("worker-0"), succeed("worker-0")],
  "TFJob: a dynamic worker fails": [
    made({ Worker: 2 }, {}, { enableDynamicWorker: true }),
    run("worker-0", "worker-1"),
    fail("worker-1"),
  ],
  "TFJob: a worker exits with 127": [
    made({ Worker: { replicas: 2, restartPolicy: "ExitCode" } }),
    run("worker-0", "worker-1"),
    step(pods(["worker-1"], "Failed", { exitCode: 127 })),
  ],
  "TFJob: a worker exits with 128": [
    made({ Worker: { replicas: 2, restartPolicy: "ExitCode" } }),
    run("worker-0", "worker-1"),
    step(pods(["worker-1"], "Failed", { exitCode: 128 })),
  ],
  "TFJob: a worker fails that is always restarted": [
    made({ Worker: { replicas: 2, restartPolicy: "Always" } }),
    run("worker-0", "worker-1"),
    fail("worker-1"),
    run("worker-1"),
  ],
};

/** Lives that limits end. */
const LIMITS: CaseTable = {
  "TFJob: its containers are started again as often as they may": [
    made({ PS: 2, Worker: onFailure(4) }, { backoffLimit: 4 }),
    run(...WITH_PS),
    restarted(1),
  ],
  "TFJob: its containers are started again less often": [
    made({ PS: 2, Worker: onFailure(4) }, { backoffLimit: 5 }),
    run(...WITH_PS),
    restarted(1),
  ],
  "TFJob: no restart is allowed, and none happens": [
    made({ PS: 2, Worker: onFailure(4) }, { backoffLimit: 0 }),
    run(...WITH_PS),
  ],
  "TFJob: no restart is allowed, and one happens": [
    made({ PS: 2, Worker: onFailure(4) }, { backoffLimit: 0 }),
    run(...WITH_PS),
    step(pods(["worker-2"], "Running", { restartCount: 1 })),
  ],
  "TFJob: its containers are started again without a restart policy that allows it": [
    made(MANY, { backoffLimit: 1 }),
    run(...WITH_PS),
    restarted(2),
  ],
  "TFJob: fails, and its time to live passes": [
    made({ Worker: 2 }, { ttlSecondsAfterFinished: 5 }),
    run("worker-0", "worker-1"),
    fail("worker-0"),
    step([], isGone),
  ],
  "TFJob: cleans up all of its pods in each phase": mixed("All"),
  "TFJob: cleans up running and pending pods": mixed("Running"),
  "TFJob: cleans up no pods": mixed("None"),
  "TFJob: a deadline of nothing": [
    made({ Worker: 1 }, { activeDeadlineSeconds: 0 }),
    touched("TFJob", is("Failed")),
  ],
};

/** Lives in which the job, or what belongs to it, is changed. */
const CHANGES: CaseTable = {
  "TFJob: fewer workers": [
    made({ Worker: 3 }, {}, { enableDynamicWorker: true }),
    run("worker-0", "worker-1", "worker-2"),
    change("TFJob", scale("TFJob", "Worker", 2), hasPods(2)),
  ],
  "TFJob: more workers": [
    made({ Worker: 2 }, {}, { enableDynamicWorker: true }),
    run("worker-0", "worker-1"),
    change("TFJob", scale("TFJob", "Worker", 4), hasPods(4)),
    run("worker-2", "worker-3"),
  ],
  "TFJob: managed elsewhere": [
    step([
      create(
        job("TFJob", { replicas: { Worker: 2 }, runPolicy: { suspend: false, ...elsewhere } }),
      ),
    ]),
    change("TFJob", { runPolicy: { suspend: true } }),
    change("TFJob", { runPolicy: { suspend: false } }),
  ],
  "TFJob: suspended after it succeeded": [
    made({ Worker: 2 }),
    run("worker-0", "worker-1"),
    succeed("worker-0"),
    change("TFJob", { runPolicy: { suspend: true } }),
  ],
  "TFJob: types in lower case": [
    made({ ps: 1, worker: 2 }),
    run("ps-0", "worker-0", "worker-1"),
    succeed("worker-0"),
  ],
  "TFJob: a pod is deleted that lingers": [
    made({ PS: 1, Worker: { replicas: 2, metadata: { finalizers: ["example.com/lingers"] } } }),
    run("ps-0", "worker-0", "worker-1"),
    step([remove(aPod("j-worker-1"))]),
    step([patch(aPod("j-worker-1"), { metadata: { finalizers: null } })]),
  ],
  "TFJob: the pod of worker 0 is deleted after it succeeded": [
    made({ Worker: 2 }, {}, ALL_WORKERS),
    run("worker-0", "worker-1"),
    succeed("worker-0"),
    step([remove(aPod("j-worker-0"))]),
  ],
  "TFJob: a pod of somebody else has the name of a replica": [
    step([create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "j-worker-0", labels: { of: "somebody" } },
      spec: { containers: [container("other")] },
    })]),
    step([create(job("TFJob", { replicas: { Worker: 1, PS: 1 } }))]),
  ],
  "TFJob: a Service of somebody else has the name of a replica": [
    step([create({
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "j-worker-0" },
      spec: { clusterIP: "None", selector: { of: "somebody" } },
    })]),
    step([create(job("TFJob", { replicas: { Worker: 1 } }))]),
  ],
  "TFJob: a container cannot start": [
    made({ Worker: 2 }),
    step(pods(["worker-0"], "Running", {
      containerState: { waiting: { reason: "ImagePullBackOff", message: "no such image" } },
    })),
  ],
};

/** Lives of TFJobs. */
export const TENSORFLOW: CaseTable = { ...VERDICTS, ...LIMITS, ...CHANGES };
