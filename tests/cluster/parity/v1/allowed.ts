/** Differences from the Training Operator that stay: `docs/internals/parity.md` says the same. */
import type { Allowed } from "../compare.ts";
import type { Difference } from "../differences.ts";
import { V1_CASES } from "./cases.ts";

/** The cases with that in their sentence. */
const casesWith = (text: RegExp): string[] =>
  Object.keys(V1_CASES).filter((says) => text.test(says));

const text = (value: unknown): string => JSON.stringify(value) ?? "";
const isOurs = ({ upstream }: Difference): boolean => upstream === undefined;

const FORMER = "group-name|job-name|replica-type|replica-index|job-role";
const DEADLINE = casesWith(/: its deadline passes$/);

const OBJECTS: readonly Allowed[] = [
  {
    id: "former-labels",
    why:
      "pods and Services carry the labels of the operator before 1.7 too, for the scripts that use them",
    path: new RegExp(`/metadata/labels/(${FORMER})$`),
    when: isOurs,
  },
  {
    id: "init-command",
    why:
      "the init container that waits for a PyTorchJob's master has a command of our own, which does the same",
    path: /\/initContainers\[init-pytorch\]\/command$/,
  },
  {
    id: "order-of-ports",
    why: "a Service has its ports in the order of the container; upstream's order varies",
    path: /\/spec\/ports\[order\]$/,
    byChance: true,
  },
];

const WITHOUT_WORKERS = casesWith(/^TFJob: it has .*no workers/);

const EVENTS: readonly Allowed[] = [
  {
    id: "no-replicas",
    why:
      "a type of no replicas has no pods, and a job that has succeeded at once makes none; upstream makes one of each type, and may delete it again",
    cases: WITHOUT_WORKERS,
    path: /^\/(pods|services|events)\b/,
    when: ({ milepost }) => milepost === undefined || milepost === "",
  },
  {
    id: "permanent-exit-events",
    why:
      "an exit code that ends the job has one event, the warning; upstream announces a failure a second time, or a restart that never comes",
    cases: casesWith(/: a (replica|worker) exits with (1|127)$/).filter((it) =>
      !/^MPIJob/.test(it)
    ),
    path: /^\/events\/(Normal \w+Failed|Warning \w+Restarting)$/,
    when: ({ milepost }) => milepost === undefined,
  },
  {
    id: "failures-told",
    why: "an event of ours says which pod failed first and why, or that pods are started again",
    path: /^\/events\/Warning (Failed|Restarting)$/,
    when: isOurs,
    byChance: true,
  },
  {
    id: "job-deletion-event",
    why:
      "the event of a job that is deleted after its time to live is SuccessfulDeleteJob for every kind; upstream calls it SuccessfulDeletePod for some",
    cases: casesWith(/^(PyTorch|MX|Paddle|JAX)Job: its time to live passes$/),
    path: /^\/events\/Normal SuccessfulDelete(Pod|Job)$/,
  },
  {
    id: "stale-writes",
    why:
      "upstream, on a stale cache, tells for a moment of something that exists already, or that is gone",
    path: /^\/events\/Warning (FailedCreate(Pod|Service)|FailedDelete\w+|\w+Failed)$/,
    when: ({ upstream }) => /already exists|not found/.test(text(upstream)),
    byChance: true,
  },
  {
    id: "event-budget",
    why:
      "an object has 25 events at once, as upstream's; what a pass made of the job is told after its pods, so that it may be what is left out",
    cases: ["MXJob: suspended while it runs, and resumed"],
    path: /^\/events\/Normal MXJob\w+$/,
    when: ({ milepost }) => milepost === undefined,
    byChance: true,
  },
  {
    id: "lost-events",
    why: "upstream sends no event of a status that it fails to write at first",
    path: /^\/events\/(Normal|Warning) \w+(Succeeded|Failed|Resumed|Suspended|Running|Restarting)$/,
    when: isOurs,
    byChance: true,
  },
];

const COURSES: readonly Allowed[] = [
  {
    id: "deadline-in-time",
    why:
      "a deadline ends the job when it passes; upstream looks at it only when something else happens to the job",
    cases: DEADLINE,
    path: /./,
    when: ({ upstream, milepost }) => upstream !== milepost,
  },
  {
    id: "completion-time",
    why:
      "a job that an exit code ended has the time of its end, so that its time to live passes; upstream sets it only for TFJobs",
    path: /^\/jobs\/j\/completionTime$/,
    when: ({ upstream, milepost }) => upstream === "unset" && milepost === "set",
  },
  {
    id: "restarted-replicas",
    why:
      "a failed pod that is made again never fails the job; upstream's XGBoostJobs and MXJobs fail then, and the pod is deleted",
    cases: casesWith(/^(XGBoost|MX)Job: a replica fails that is restarted on failure$/),
    path: /./,
  },
  {
    id: "deleted-running-pod",
    why:
      "a running pod that is deleted is made again; upstream counts it as failed while it goes, so that the job fails or restarts if the operator sees it then",
    cases: casesWith(/: a running pod is deleted$/),
    path: /./,
    byChance: true,
  },
  {
    id: "collected-pod",
    why: "a pod that succeeded and is gone is not made again; upstream's replica trains again",
    cases: ["TFJob: the pod of worker 0 is deleted after it succeeded"],
    path:
      /^\/(pods\/j-worker-0|jobs\/j\/replicaStatuses\/Worker\/\w+|events\/Normal SuccessfulCreatePod)$/,
  },
  {
    id: "lingering-pod",
    why: "so is one that takes its time; upstream's job has failed then",
    cases: ["TFJob: a pod is deleted that lingers"],
    path: /./,
  },
  {
    id: "foreign-objects",
    why:
      "a pod or Service of somebody else that has a replica's name holds up only that replica; upstream stops there, and the job has no status",
    cases: casesWith(/: a (pod|Service) of somebody else/),
    path: /./,
  },
  {
    id: "deadline-of-nothing",
    why: "a deadline of 0 ends a job before it has pods; upstream makes them first",
    cases: ["TFJob: a deadline of nothing"],
    path: /./,
  },
  {
    id: "unknown-types",
    why:
      "a replica type that TFJobs do not have gets no pods; upstream makes them, and nothing asks for their end",
    cases: ["TFJob: an unknown type"],
    path: /./,
  },
  {
    id: "tuning",
    why: "an MXJob that tunes runs and succeeds with its tuners; upstream's never does",
    cases: ["MXJob: tunes"],
    path: /./,
  },
  {
    id: "selector-at-the-end",
    why:
      "the selector of every type stays in the status; upstream loses it at the end, in the order of a hash map",
    path: /^\/jobs\/j\/replicaStatuses\/\w+\/selector$/,
    byChance: true,
  },
];

const ANSWERS: readonly Allowed[] = [
  {
    id: "order-of-managers",
    why: "the known values of managedBy are in one order; upstream's order varies",
    path: /^\/answers\/0\/message$/,
    when: ({ upstream, milepost }) =>
      [upstream, milepost].every((it) =>
        text(it).includes("spec.runPolicy.managedBy: Unsupported")
      ),
    byChance: true,
  },
  {
    id: "absent-replicas",
    why: "a master without a number of replicas is one; upstream's webhook refuses it",
    cases: casesWith(/^XGBoostJob: (no containers|no container of its name|a container without)/),
    path: /^\/answers\/0\/message$/,
    when: ({ upstream }) => text(upstream).includes("[Master].replicas: Forbidden: must be 1"),
  },
  {
    id: "managers-of-every-kind",
    why:
      "managedBy is checked and immutable for every kind; upstream does not check it for JAXJobs, MPIJobs and MXJobs, nor its change for PyTorchJobs",
    path: /^\/answers\/\d$/,
    when: ({ upstream, milepost }) =>
      upstream === undefined && text(milepost).includes("spec.runPolicy.managedBy"),
  },
];

const OF_MPI = casesWith(/^MPIJob: /);

const MPI: readonly Allowed[] = [
  {
    id: "mpi-events",
    why:
      "MPIJobs have the events of other kinds about their pods and their end; upstream has words of its own for their creation, and none for exit codes and deletions",
    path:
      /^\/events\/Normal (SuccessfulCreatePod|SuccessfulDeletePod|SuccessfulDeleteJob|ExitedWithCode|LauncherRole is exist|RoleBinding is exist|ServiceAccount is exist|MPIJobRunning|mpijobsSucceeded|MPIJobSucceeded)$/,
    when: ({ upstream, milepost }) =>
      /j-launcher|j-worker|: j|MPIJob/.test(text([upstream, milepost])),
  },
  {
    id: "mpi-reason",
    why: "the reason of a failed MPIJob is MPIJobFailed; upstream repeats the kind in it",
    cases: ["MPIJob: a replica fails that is never restarted", "MPIJob: a worker fails"],
    path: /^\/jobs\/j\/conditions\/Failed$/,
    when: ({ upstream, milepost }) =>
      String(upstream).replace("MPIJobMPIJobFailed", "MPIJobFailed") === milepost,
  },
  {
    id: "mpi-counters",
    why:
      "an MPIJob's workers are counted to the end; upstream forgets them when the launcher has ended",
    path: /^\/jobs\/j\/replicaStatuses\/Worker\/(active|succeeded|failed)$/,
    when: isOurs,
  },
  {
    id: "mpi-restarts",
    why:
      "an MPIJob whose launcher fails has failed, because its pods are never made again; upstream says under ExitCode that it restarts, and it never does",
    cases: OF_MPI.filter((says) => /a replica (exits with|fails that is restarted)/.test(says)),
    path: /^\/(jobs\/j\/|events\/Warning MPIJob)/,
  },
  {
    id: "mpi-without-launcher",
    why: "an MPIJob without a launcher is refused at once; upstream admits it, and makes nothing",
    cases: ["MPIJob: no launcher"],
    path: /^\/answers\/0$/,
  },
  {
    id: "mpi-scripts",
    why: "the scripts of MPIJobs are our own; they do the same",
    path: /^\/configMaps\/j-config\/data\/\w+\.sh$/,
  },
  {
    id: "mpi-template-policy",
    why: "a restart policy in the template of an MPIJob is told of as for other kinds",
    cases: ["MPIJob: a launcher that computes, and a main container"],
    path: /^\/events\/Warning SetPodTemplateRestartPolicy$/,
  },
];

/** What upstream itself does now and then, by the time that passes between two of its looks. */
const MOMENTS: readonly Allowed[] = [
  {
    id: "mpi-running-event",
    why: "upstream tells that an MPIJob runs if it looks while the launcher runs",
    cases: OF_MPI,
    path: /^\/events\/Normal MPIJobRunning$/,
    byChance: true,
  },
  {
    id: "lingering-moment",
    why: "the phase of a pod that lingers is what was reported of it until then",
    cases: ["TFJob: a pod is deleted that lingers"],
    path: /^\/pods\/j-worker-1$/,
    byChance: true,
  },
  {
    id: "restart-moment",
    why:
      "whether upstream makes the pod of a failed MXJob again, and says so, before it sees that the job has failed",
    cases: ["MXJob: a replica fails that is restarted on failure"],
    path: /^\/(pods\/j-worker-1|answers\/0|jobs\/j\/(order|conditions\/(Restarting|Running)))$/,
    byChance: true,
  },
];

/** Every entry must happen unless it is by chance, and nothing else may. */
export const ALLOWED_V1: readonly Allowed[] = [
  ...OBJECTS,
  ...EVENTS,
  ...COURSES,
  ...ANSWERS,
  ...MPI,
  ...MOMENTS,
];
