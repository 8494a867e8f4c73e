/** The same lives for every v1 kind. */
import type { V1KindName } from "../../../../../crds/v1/kinds.ts";
import type { CaseTable, Step } from "../../case.ts";
import type { Fields } from "../../sketches.ts";
import {
  aPod,
  aService,
  change,
  create,
  is,
  isGone,
  job,
  jobOf,
  type JobSketch,
  pods,
  remove,
  type ReplicaSketch,
  step,
  touched,
} from "./sketches.ts";

/** A job of each kind as most have it, and its pods: those that run the job first, then a worker. */
interface Usual {
  readonly replicas: JobSketch["replicas"];
  /** Pods whose success is the job's. */
  readonly leading: readonly string[];
  readonly others: readonly string[];
  /** Type and pod of one that fails. */
  readonly failing: readonly [type: string, pod: string];
}

const USUAL: Readonly<Record<V1KindName, Usual>> = {
  TFJob: {
    replicas: { PS: 1, Worker: 2 },
    leading: ["worker-0"],
    others: ["ps-0", "worker-1"],
    failing: ["Worker", "worker-1"],
  },
  PyTorchJob: {
    replicas: { Master: 1, Worker: 2 },
    leading: ["master-0"],
    others: ["worker-0", "worker-1"],
    failing: ["Worker", "worker-1"],
  },
  XGBoostJob: {
    replicas: { Master: 1, Worker: 2 },
    leading: ["master-0"],
    others: ["worker-0", "worker-1"],
    failing: ["Worker", "worker-1"],
  },
  MXJob: {
    replicas: { Scheduler: 1, Server: 1, Worker: 2 },
    leading: ["scheduler-0"],
    others: ["server-0", "worker-0", "worker-1"],
    failing: ["Worker", "worker-1"],
  },
  MPIJob: {
    replicas: { Launcher: 1, Worker: 2 },
    leading: ["launcher"],
    others: ["worker-0", "worker-1"],
    failing: ["Launcher", "launcher"],
  },
  PaddleJob: {
    replicas: { Worker: 2 },
    leading: ["worker-0", "worker-1"],
    others: [],
    failing: ["Worker", "worker-1"],
  },
  JAXJob: {
    replicas: { Worker: 2 },
    leading: ["worker-0", "worker-1"],
    others: [],
    failing: ["Worker", "worker-1"],
  },
};

/** The usual job with a run policy, and with something else for the type that fails. */
function usual(kind: V1KindName, runPolicy: Fields = {}, failing: ReplicaSketch = {}) {
  const { replicas, failing: [type] } = USUAL[kind];
  const of = (count: number | ReplicaSketch = 1) =>
    typeof count === "number" ? { replicas: count } : count;
  const changed = { ...replicas, [type]: { ...of(replicas[type]), ...failing } };
  return job(kind, { replicas: changed, runPolicy: { suspend: false, ...runPolicy } });
}

function livesOf(kind: V1KindName): CaseTable {
  const { leading, others, failing: [, failing] } = USUAL[kind];
  const all = [...others, ...leading];
  const made = (runPolicy?: Fields, more?: ReplicaSketch): Step =>
    step([create(usual(kind, runPolicy, more))], is("Created"));
  const running = step(pods(all, "Running"), is("Running"));
  const succeeds = step(pods(leading, "Succeeded"), is("Succeeded"));
  const exits = (exitCode: number): Step => step(pods([failing], "Failed", { exitCode }));
  const failsWith = (exitCode: number): readonly Step[] => [
    made({}, { restartPolicy: "ExitCode" }),
    running,
    exits(exitCode),
  ];
  const again = step(pods([failing], "Running"));
  const some = `j-${all[0]}`;
  return {
    [`${kind}: runs and succeeds`]: [
      made(),
      step(pods(others, "Running")),
      step(pods(leading, "Running"), is("Running")),
      succeeds,
      step(pods(others, "Succeeded")),
    ],
    [`${kind}: a replica exits with 1`]: failsWith(1),
    [`${kind}: a replica exits with 130`]: [...failsWith(130), again, succeeds],
    [`${kind}: a replica exits with 137`]: [...failsWith(137), again],
    [`${kind}: a replica fails that is never restarted`]: [
      made({}, { restartPolicy: "Never" }),
      running,
      exits(1),
    ],
    [`${kind}: a replica fails that is restarted on failure`]: [
      made({}, { restartPolicy: "OnFailure" }),
      running,
      exits(1),
      again,
      succeeds,
    ],
    [`${kind}: a pending pod is deleted`]: [made(), step([remove(aPod(some))]), running],
    [`${kind}: a running pod is deleted`]: [made(), running, step([remove(aPod(some))])],
    ...kind === "MPIJob"
      ? {}
      : { [`${kind}: a Service is deleted`]: [made(), running, step([remove(aService(some))])] },
    [`${kind}: suspended while it runs, and resumed`]: [
      made(),
      running,
      change(kind, { runPolicy: { suspend: true } }, is("Suspended")),
      change(kind, { runPolicy: { suspend: false } }, is("Suspended", "False")),
      running,
      succeeds,
    ],
    [`${kind}: created suspended, and resumed`]: [
      made({ suspend: true }),
      change(kind, { runPolicy: { suspend: false } }, is("Suspended", "False")),
      running,
    ],
    [`${kind}: its deadline passes`]: [
      made({ activeDeadlineSeconds: 8 }),
      running,
      // Waits for it, because nothing of the operator's own looks at the clock.
      step([], is("Failed")),
      touched(kind, is("Failed")),
    ],
    [`${kind}: its time to live passes`]: [
      made({ ttlSecondsAfterFinished: 5 }),
      running,
      succeeds,
      step([], isGone),
    ],
    [`${kind}: cleans up all pods`]: [made({ cleanPodPolicy: "All" }), running, succeeds],
    [`${kind}: cleans up running pods`]: [made({ cleanPodPolicy: "Running" }), running, succeeds],
    [`${kind}: is deleted`]: [made(), running, step([remove(jobOf(kind))], isGone)],
  };
}

/** Names of the v1 kinds. */
const KINDS: readonly V1KindName[] = [
  "TFJob",
  "PyTorchJob",
  "XGBoostJob",
  "MXJob",
  "MPIJob",
  "PaddleJob",
  "JAXJob",
];

/** The lives of every kind. */
export const EVERY_KIND: CaseTable = Object.assign({}, ...KINDS.map(livesOf));
