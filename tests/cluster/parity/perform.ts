/** Runner of a case on one cluster: performs its steps, collects the objects after each. */
import { until } from "../../support/until.ts";
import { type Answer, create, patch, remove } from "./answers.ts";
import type { Action, CaseTable, PodFate, Step } from "./case.ts";
import type { AnyObject, ClusterView, NamespaceView } from "./cluster_view.ts";

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

function statusOf({ phase, ready = true, exitCode = 1 }: PodFate, containers: unknown) {
  const now = new Date().toISOString().replace(/\.\d+Z$/, "Z");
  const isReady = phase === "Running" && ready;
  const exited = { exitCode: phase === "Failed" ? exitCode : 0, startedAt: now, finishedAt: now };
  const state = phase === "Running" ? { running: { startedAt: now } } : { terminated: exited };
  const names = Array.isArray(containers) ? containers.map(({ name }) => String(name)) : [];
  return {
    phase,
    startTime: now,
    conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: now }],
    containerStatuses: names.map((name) => ({
      name,
      state,
      ready: isReady,
      restartCount: 0,
      image: "none",
      imageID: "none",
    })),
  };
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
    const body = { status: statusOf(fate, spec?.containers) };
    const { result, message = "" } = await patch(cluster.client, target, body, namespace);
    if (result !== "ok") return { result, message };
  }
  return { result: "ok" };
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
  }
}

const LOOKED_AT = [
  "trainJobs",
  "jobSets",
  "jobs",
  "services",
  "configMaps",
  "secrets",
  "persistentVolumeClaims",
  "events",
  "coschedulingGroups",
  "volcanoGroups",
] as const;

async function perform(cluster: ClusterView, namespace: string, step: Step): Promise<Observation> {
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
  await cluster.quiet(namespace, WAIT.quietMs);
  const list = (kind: typeof LOOKED_AT[number]) =>
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

async function performCase(cluster: ClusterView, namespace: string, steps: readonly Step[]) {
  const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } };
  await create(cluster.client, manifest);
  await until(
    `the service account of ${namespace}`,
    () => cluster.of(namespace).get("serviceAccounts", "default"),
  );
  const observations: Observation[] = [];
  for (const step of steps) observations.push(await perform(cluster, namespace, step));
  return observations;
}

/** Performs every case, each in a namespace of its own, `atOnce` at a time. */
export async function performAll(
  cluster: ClusterView,
  cases: CaseTable,
  atOnce: number,
): Promise<Run> {
  const waiting = Object.entries(cases).map(([says, steps], index) => ({ says, steps, index }));
  const run: Record<string, Observation[]> = {};
  const work = async () => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      run[one.says] = await performCase(cluster, namespaceOf(one.index), one.steps);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return run;
}
