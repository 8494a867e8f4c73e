/** Names of a v1 job's replicas, and labels of its pods, in its pod templates: TrainJobs have others. Pure. */
import type { Container, EnvVar } from "../../platform/kube/kubernetes.ts";
import { isObject } from "../../platform/base/json.ts";
import { NODE } from "../../crds/names.ts";
import { allContainers } from "../../crds/pod_containers.ts";
import { V1_FORMER_LABELS, V1_LABELS } from "../../crds/v1/names.ts";
import { trainingContainer } from "../jobs/defaults.ts";
import { allReplicas, type Replica, replicaName, type Run } from "../jobs/run.ts";

/** Host names of the nodes by the names of the replicas for which they stand. */
export type NodeNames = ReadonlyMap<string, string>;

/** A node: its replicated job, and its index in that. */
export interface NodePlace {
  readonly job: string;
  readonly index: number;
}

/** Returns the name by which the node of a TrainJob is reached. */
export function nodeHost({ name }: Pick<Run, "name">, { job, index }: NodePlace): string {
  return `${name}-${job}-0-${index}.${name}`;
}

/** Returns the names, with the node of each replica, of which `placeOf` is also told its rank among all. */
export function nodeNames(
  run: Run,
  placeOf: (replica: Replica, rank: number) => NodePlace,
): NodeNames {
  return new Map(
    allReplicas(run).map((it, rank) => [replicaName(run, it), nodeHost(run, placeOf(it, rank))]),
  );
}

/** A word that may be a host name; what stands behind a single slash is a part of a path. */
const WORD = /(?<!(?:^|[^/])\/)\b[a-z0-9][-a-z0-9]*/g;

/** Returns the text with the names of nodes instead of those of replicas. */
export function renamed(names: NodeNames, text: string): string {
  return text.replace(WORD, (word) => names.get(word) ?? word);
}

/** Returns the container with its command, its arguments and the values of its variables renamed. */
export function renamedContainer(names: NodeNames, container: Container): Container {
  const all = (texts: readonly string[]) => texts.map((it) => renamed(names, it));
  const { command, args, env } = container;
  return {
    ...container,
    ...command && { command: all(command) },
    ...args && { args: all(args) },
    ...env && {
      env: env.map((it): EnvVar =>
        it.value === undefined ? it : { ...it, value: renamed(names, it.value) }
      ),
    },
  };
}

/** Returns the names of replicas that templates write out. */
export function namedReplicas(run: Run, names: NodeNames): string[] {
  const texts = run.replicas.flatMap(({ template }) => allContainers(template))
    .flatMap(({ command = [], args = [], env = [] }) => [
      ...command,
      ...args,
      ...env.map(({ value = "" }) => value),
    ]);
  const words = new Set(texts.flatMap((text) => text.match(WORD) ?? []));
  return [...names.keys()].filter((it) => words.has(it));
}

const LABEL_KEYS: readonly string[] = [
  ...Object.values(V1_LABELS),
  ...Object.values(V1_FORMER_LABELS),
];
/** Fields that select pods by their labels. */
const SELECTORS = ["affinity", "topologySpreadConstraints"];

/** The places where a value names one of the labels, with the label. */
function labelsIn(
  labels: readonly string[],
  value: unknown,
  path: string,
  selects = false,
): [string, string][] {
  if (Array.isArray(value)) {
    return value.flatMap((it, index) => labelsIn(labels, it, `${path}[${index}]`, selects));
  }
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([key, inner]): [string, string][] => {
    const at = `${path}.${key}`;
    if (selects && labels.includes(key)) return [[path, key]];
    const isKey = selects && key === "key" || key === "fieldPath";
    const label = isKey && typeof inner === "string"
      ? labels.find((it) => it === inner || inner === `metadata.labels['${it}']`)
      : undefined;
    if (label !== undefined) return [[at, label]];
    return labelsIn(labels, inner, at, selects || SELECTORS.includes(key));
  });
}

/** Returns what a template asks of its pods that those of a TrainJob cannot have; `labels` are those that the job's pods had. */
export function templateRefusals(run: Run, labels: readonly string[] = LABEL_KEYS): string[] {
  return run.replicas.flatMap(({ type, template }) => {
    const { spec } = template;
    const at = `spec.${run.kind.specsKey}[${type}].template.spec`;
    const trains = trainingContainer(run.kind, template);
    const others = allContainers(template)
      .filter((it) => it !== trains && it.name === NODE);
    return [
      ...labelsIn(labels, spec, at).map(([path, label]) =>
        `${path}: names the label ${label}, which pods of TrainJobs have not`
      ),
      ...others.map(() =>
        `${at}: a container is named ${NODE}, as that which trains is in a TrainJob: rename it`
      ),
      ...(["hostname", "subdomain"] as const).filter((it) => spec?.[it] !== undefined)
        .map((it) => `${at}.${it}: nodes of a TrainJob are reached by names of their own`),
    ];
  });
}
