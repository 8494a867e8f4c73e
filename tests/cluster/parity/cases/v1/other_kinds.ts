/** Lives that only kinds other than TFJob have. */
import type { V1KindName } from "../../../../../crds/v1/kinds.ts";
import type { CaseTable, Step } from "../../case.ts";
import type { Fields } from "../../sketches.ts";
import { change, create, hasPods, is, job, type JobSketch, pods, scale, step } from "./sketches.ts";

const made = (
  kind: V1KindName,
  replicas: JobSketch["replicas"],
  more: Fields = {},
  runPolicy: Fields = {},
): Step =>
  step(
    [create(job(kind, { replicas, runPolicy: { suspend: false, ...runPolicy }, more }))],
    is("Created"),
  );
const run = (...names: string[]): Step => step(pods(names, "Running"), is("Running"));
const succeed = (...names: string[]): Step => step(pods(names, "Succeeded"));
const fail = (...names: string[]): Step => step(pods(names, "Failed"));
const exit = (exitCode: number, name: string): Step => step(pods([name], "Failed", { exitCode }));

const CPU_METRIC = {
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } },
};
const ELASTIC = { minReplicas: 1, maxReplicas: 3, rdzvBackend: "c10d" };
const MASTER_1 = { Master: 1, Worker: 2 };

const PYTORCH: CaseTable = {
  "PyTorchJob: only workers, one of which succeeds": [
    made("PyTorchJob", { Worker: 2 }),
    run("worker-0", "worker-1"),
    succeed("worker-1"),
    succeed("worker-0"),
  ],
  "PyTorchJob: an elastic worker succeeds": [
    made("PyTorchJob", { Worker: 2 }, { elasticPolicy: ELASTIC }),
    run("worker-0", "worker-1"),
    succeed("worker-1"),
  ],
  "PyTorchJob: elastic with metrics, scaled, suspended and resumed": [
    made("PyTorchJob", { Worker: 2 }, { elasticPolicy: { ...ELASTIC, metrics: [CPU_METRIC] } }),
    run("worker-0", "worker-1"),
    change("PyTorchJob", scale("PyTorchJob", "Worker", 3), hasPods(3)),
    run("worker-2"),
    change("PyTorchJob", { runPolicy: { suspend: true } }, is("Suspended")),
    change("PyTorchJob", { runPolicy: { suspend: false } }, is("Suspended", "False")),
  ],
  "PyTorchJob: its master alone": [
    made("PyTorchJob", { Master: 1 }),
    run("master-0"),
    succeed("master-0"),
  ],
  "PyTorchJob: its master fails that is never restarted": [
    made("PyTorchJob", { Master: { replicas: 1, restartPolicy: "Never" }, Worker: 1 }),
    run("worker-0", "master-0"),
    fail("master-0"),
  ],
  "PyTorchJob: its master exits with 143": [
    made("PyTorchJob", { Master: { replicas: 1, restartPolicy: "ExitCode" }, Worker: 1 }),
    run("worker-0", "master-0"),
    exit(143, "master-0"),
    run("master-0"),
    succeed("master-0"),
  ],
  "PyTorchJob: its workers succeed, and then its master": [
    made("PyTorchJob", MASTER_1),
    run("worker-0", "worker-1", "master-0"),
    succeed("worker-0", "worker-1"),
    succeed("master-0"),
  ],
  "PyTorchJob: fewer workers, and more": [
    made("PyTorchJob", { Master: 1, Worker: 2 }),
    run("worker-0", "worker-1", "master-0"),
    change("PyTorchJob", scale("PyTorchJob", "Worker", 1), hasPods(2)),
    change("PyTorchJob", scale("PyTorchJob", "Worker", 3), hasPods(4)),
  ],
  "PyTorchJob: containers are started again as often as they may": [
    made("PyTorchJob", MASTER_1, {}, { backoffLimit: 2 }),
    run("worker-0", "worker-1", "master-0"),
    step(pods(["worker-0"], "Running", { restartCount: 1 })),
    step(pods(["worker-1"], "Running", { restartCount: 1 })),
  ],
};

const OTHERS: CaseTable = {
  "XGBoostJob: its workers succeed, and then its master": [
    made("XGBoostJob", MASTER_1),
    run("worker-0", "worker-1", "master-0"),
    succeed("worker-0", "worker-1"),
    succeed("master-0"),
  ],
  "XGBoostJob: its master fails": [
    made("XGBoostJob", MASTER_1),
    run("worker-0", "worker-1", "master-0"),
    fail("master-0"),
  ],
  "XGBoostJob: its master alone": [
    made("XGBoostJob", { Master: 1 }),
    run("master-0"),
    succeed("master-0"),
  ],
  "MXJob: its workers and servers succeed, but not its scheduler": [
    made("MXJob", { Scheduler: 1, Server: 1, Worker: 1 }),
    run("server-0", "worker-0", "scheduler-0"),
    succeed("worker-0", "server-0"),
    succeed("scheduler-0"),
  ],
  "MXJob: its scheduler fails": [
    made("MXJob", { Scheduler: 1, Server: 1, Worker: 1 }),
    run("server-0", "worker-0", "scheduler-0"),
    fail("scheduler-0"),
  ],
  "MXJob: tunes": [
    made("MXJob", { TunerTracker: 1, TunerServer: 1, Tuner: 1 }, { jobMode: "MXTune" }),
    step(pods(["tunertracker-0", "tunerserver-0", "tuner-0"], "Running")),
    succeed("tuner-0"),
  ],
  "MPIJob: a worker fails": [
    made("MPIJob", { Launcher: 1, Worker: 2 }),
    run("worker-0", "worker-1", "launcher"),
    fail("worker-1"),
    succeed("launcher"),
  ],
  "MPIJob: its workers are stopped at the end": [
    made("MPIJob", { Launcher: 1, Worker: 2 }, {}, { cleanPodPolicy: "Running" }),
    run("worker-0", "worker-1", "launcher"),
    succeed("launcher"),
  ],
  "PaddleJob: with a master": [
    made("PaddleJob", MASTER_1),
    run("worker-0", "worker-1", "master-0"),
    succeed("worker-0", "worker-1"),
    succeed("master-0"),
  ],
  "PaddleJob: fewer workers, and more": [
    made("PaddleJob", { Worker: 2 }),
    run("worker-0", "worker-1"),
    change("PaddleJob", scale("PaddleJob", "Worker", 1), hasPods(1)),
    change("PaddleJob", scale("PaddleJob", "Worker", 2), hasPods(2)),
  ],
  "JAXJob: one of its workers succeeds": [
    made("JAXJob", { Worker: 2 }),
    run("worker-0", "worker-1"),
    succeed("worker-0"),
    succeed("worker-1"),
  ],
};

/** Lives that only kinds other than TFJob have. */
export const OTHER_KINDS: CaseTable = { ...PYTORCH, ...OTHERS };
