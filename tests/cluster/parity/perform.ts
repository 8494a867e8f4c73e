/** Runner of a case on one cluster: performs its steps, collects the objects after each. */
import { until } from "../../support/until.ts";
import { type Answer, create, patch, remove } from "./answers.ts";
import type { Action, CaseTable, PodFate, PodState, Step } from "./case.ts";
import {
  type AnyObject,
  type ClusterView,
  type NamespaceView,
  V1_JOBS,
  type WatchedKind,
} from "./cluster_view.ts";
import { podStatus } from "./pod_status.ts";

/** Bounds, in milliseconds: how long a side may take for what a step waits for, and how long it must be still then. */
const WAIT = { forOutcomeMs: 15_000, quietMs: 3_000, knownMs: 1_000 } as const;
/** Objects after a step. */
export interface Observation {
  /** Answers of the API server to each action. */
  readonly answers: readonly Answer[];
  /** Whether what the step waits for came. */
  readonly outcome: "came" | "did not come";
  readonly view: Readonly<Record<string, readonly AnyObject[]>>;
}

/** Observations by case, one for each step. */
export type Run = Readonly<Record<string, readonly Observation[]>>;

const INDEX = "batch.kubernetes.io/job-completion-index";
const JOB_NAME = "batch.kubernetes.io/job-name";
const ATTEMPT = "jobset.sigs.k8s.io/restart-attempt";

function isMeant(pod: AnyObject, fate: PodFate): boolean {
  const { labels = {}, deletionTimestamp } = pod.metadata;
  return labels[JOB_NAME] === fate.job && deletionTimestamp === undefined &&
    (fate.attempt === undefined || labels[ATTEMPT] === String(fate.attempt)) &&
    (fate.indexes === undefined || fate.indexes.includes(Number(labels[INDEX]))) &&
    pod.status?.phase !== "Succeeded" && pod.status?.phase !== "Failed";
}

function podsMeant(view: NamespaceView, fate: PodFate): AnyObject[] | undefined {
  const found = view.list("pods").filter((pod) => isMeant(pod, fate));
  const parallelism = view.get("jobs", fate.job)?.spec?.parallelism;
  const wanted = fate.indexes?.length ?? (typeof parallelism === "number" ? parallelism : 1);
  return found.length >= wanted ? found : undefined;
}

/** Plays the kubelet for the pods of a Job, once they are there. */
async function letPodsBe(
  cluster: ClusterView,
  namespace: string,
  fate: PodFate,
): Promise<Answer> {
  const view = cluster.of(namespace);
  const pods = await until(`pods of ${fate.job}`, () => podsMeant(view, fate), {
    timeoutMs: WAIT.forOutcomeMs,
    everyMs: 50,
  }).catch(() => []);
  if (pods.length === 0) return { result: "no such pods" };
  for (const { metadata, spec } of pods) {
    const target = { apiVersion: "v1", kind: "Pod", name: metadata.name, subresource: "status" };
    const body = { status: podStatus(fate, spec?.containers) };
    const { result, message = "" } = await patch(cluster.client, target, body, namespace);
    if (result !== "ok") return { result, message };
  }
  return { result: "ok" };
}

/** Plays the kubelet for one pod, once it is there and has not ended. */
async function letPodBe(
  cluster: ClusterView,
  namespace: string,
  state: PodState,
): Promise<Answer> {
  const view = cluster.of(namespace);
  const alive = () => {
    const pod = view.get("pods", state.name);
    const phase = pod?.status?.phase;
    return phase === "Succeeded" || phase === "Failed" ? undefined : pod;
  };
  const wait = { timeoutMs: WAIT.forOutcomeMs, everyMs: 50 };
  const pod = await until(`pod ${state.name}`, alive, wait).catch(() => undefined);
  if (pod === undefined) return { result: "no such pod" };
  const target = { apiVersion: "v1", kind: "Pod", name: state.name, subresource: "status" };
  const body = { status: podStatus(state, pod.spec?.containers) };
  return await patch(cluster.client, target, body, namespace);
}

/** Kinds that upstream's webhook finds only once its cache has them; for which no sign is given. */
const SLOWLY_KNOWN: readonly string[] = ["TrainingRuntime", "ClusterTrainingRuntime"];
/** Kinds without a namespace. */
const OF_CLUSTER: readonly string[] = ["ClusterTrainingRuntime"];

function act(cluster: ClusterView, namespace: string, action: Action): Promise<Answer> {
  const { client } = cluster;
  const where = ({ kind }: { kind: string }) => OF_CLUSTER.includes(kind) ? undefined : namespace;
  switch (action.does) {
    case "create":
      return create(client, action.object, where(action.object));
    case "patch":
      return patch(client, action.target, action.body, where(action.target));
    case "remove":
      return remove(client, action.target, where(action.target));
    case "pods":
      return letPodsBe(cluster, namespace, action.fate);
    case "pod":
      return letPodBe(cluster, namespace, action.state);
  }
}

const LOOKED_AT: readonly WatchedKind[] = [
  "trainJobs",
  ...V1_JOBS,
  "jobSets",
  "jobs",
  "services",
  "configMaps",
  "secrets",
  "persistentVolumeClaims",
  "events",
  "coschedulingGroups",
  "volcanoGroups",
  "pods",
  "roles",
  "roleBindings",
  "serviceAccounts",
  "autoscalers",
];

async function perform(
  cluster: ClusterView,
  namespace: string,
  step: Step,
  quietMs: number,
): Promise<Observation> {
  const answers: Answer[] = [];
  for (const action of step.actions) {
    answers.push(await act(cluster, namespace, action));
    if (action.does === "create" && SLOWLY_KNOWN.includes(action.object.kind)) {
      await cluster.quiet(namespace, WAIT.knownMs);
    }
  }
  const view = cluster.of(namespace);
  const refused = answers.some(({ result }) => result !== "ok");
  const awaited = step.until ?? (() => true);
  // What was refused leads nowhere: there is nothing to wait for.
  const came = refused || await until("the outcome", () => awaited(view), {
    timeoutMs: WAIT.forOutcomeMs,
    everyMs: 50,
  }).then(() => true, () => false);
  await cluster.quiet(namespace, quietMs);
  const list = (kind: WatchedKind) =>
    view.list(kind).toSorted((a, b) => a.metadata.name < b.metadata.name ? -1 : 1);
  return {
    answers,
    outcome: came ? "came" : "did not come",
    view: Object.fromEntries(LOOKED_AT.map((kind) => [kind, list(kind)])),
  };
}

/** A namespace for a case: the same on both sides. */
function namespaceOf(index: number): string {
  return `case-${String(index).padStart(3, "0")}`;
}

async function performCase(
  cluster: ClusterView,
  namespace: string,
  steps: readonly Step[],
  endQuietMs: number,
) {
  const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await create(cluster.client, manifest);
  await until(
    `the service account of ${namespace}`,
    () => cluster.of(namespace).get("serviceAccounts", "default"),
  );
  const observations: Observation[] = [];
  for (const step of steps) {
    const quietMs = step === steps.at(-1) ? endQuietMs : WAIT.quietMs;
    observations.push(await perform(cluster, namespace, step, quietMs));
  }
  return observations;
}

/**
 * Performs every case, each in a namespace of its own, `atOnce` at a time. At its end nothing may change for
 * `endQuietMs`, because events come late.
 */
export async function performAll(
  cluster: ClusterView,
  cases: CaseTable,
  atOnce: number,
  endQuietMs: number = WAIT.quietMs,
): Promise<Run> {
  const waiting = Object.entries(cases).map(([says, steps], index) => ({ says, steps, index }));
  const run: Record<string, Observation[]> = {};
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      run[one.says] = await performCase(cluster, namespaceOf(one.index), one.steps, endQuietMs);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return run;
}
