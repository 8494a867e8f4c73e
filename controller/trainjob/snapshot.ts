/** Snapshot of a TrainJob's runtime in a ConfigMap (docs/decisions/0003). Pure. */
import { parse, stringify } from "yaml";
import { KINDS } from "../../crds/kinds.ts";
import { type ConfigMap, namedObjectSchema } from "../../platform/kube/kubernetes.ts";
import { childNames, LABELS, RUNTIME_SNAPSHOT_KEY } from "../../crds/names.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import { runtimeRefOf, runtimeScope, type TrainJob } from "../../crds/trainjob.ts";
import type { ChildConfigMap } from "../../crds/watched.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { ownerText } from "./children.ts";
import { ownerReferenceTo, owns } from "./observed.ts";

const PREFIX = "unable to get runtime snapshot: invalid runtime snapshot:";

/** The runtime of a snapshot, or why it cannot be read. */
export type ReadSnapshot =
  | { readonly runtime: AnyTrainingRuntime }
  | { readonly problem: string };

/** YAML of each runtime: a cache has the same object for many TrainJobs. */
const texts = new WeakMap<AnyTrainingRuntime, string>();

function textOf(runtime: AnyTrainingRuntime): string {
  const known = texts.get(runtime);
  // Objects that may still change are written again.
  if (known !== undefined && Object.isFrozen(runtime)) return known;
  const text = stringify(runtime, { lineWidth: 0, aliasDuplicateObjects: false });
  texts.set(runtime, text);
  return text;
}

/** Returns the ConfigMap that keeps this runtime for the TrainJob. */
export function createSnapshot(trainJob: TrainJob, runtime: AnyTrainingRuntime): ConfigMap {
  const { name = "", namespace } = trainJob.metadata;
  return {
    metadata: {
      name: childNames.runtimeSnapshot(name),
      namespace,
      labels: { [LABELS.trainJobName]: name },
      ownerReferences: [ownerReferenceTo(trainJob)],
    },
    data: { [RUNTIME_SNAPSHOT_KEY]: textOf(runtime) },
  };
}

function groupOf(apiVersion: string): string {
  return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
}

function quoted(ref: { name: string; apiGroup: string; kind: string }): string {
  return [ref.name, ref.apiGroup, ref.kind].map((part) => `"${part}"`).join(", ");
}

function decode(text: string, trainJob: TrainJob): ReadSnapshot {
  const document: unknown = parse(text);
  const head = namedObjectSchema.parse(document);
  const found = {
    name: head.metadata.name,
    apiGroup: groupOf(head.apiVersion),
    kind: head.kind,
  };
  const expected = quoted(runtimeRefOf(trainJob));
  if (quoted(found) !== expected) {
    const what = "a runtime with name, api group and kind of";
    return {
      problem:
        `${PREFIX} the snapshot refers to the wrong runtime: expecting ${what} ${expected} ` +
        `but found runtime with name, api group and kind of ${quoted(found)}`,
    };
  }
  const kind = runtimeScope(trainJob) === "namespaced"
    ? KINDS.trainingRuntime
    : KINDS.clusterTrainingRuntime;
  return { runtime: kind.parse(document) };
}

/** Reads a TrainJob's snapshot. Never throws; problems have upstream's words. */
export function readSnapshot(trainJob: TrainJob, configMap: ChildConfigMap): ReadSnapshot {
  if (!owns(trainJob, configMap.metadata)) {
    const message = "a snapshot configmap exists but is owned by another object";
    return { problem: `${PREFIX} ${message}: it ${ownerText(trainJob, configMap)}` };
  }
  const text = configMap.data?.[RUNTIME_SNAPSHOT_KEY];
  if (text === undefined) {
    return { problem: `${PREFIX} snapshot ConfigMap missing "${RUNTIME_SNAPSHOT_KEY}" data key` };
  }
  try {
    return decode(text, trainJob);
  } catch (error) {
    return { problem: `${PREFIX} unable to unmarshal the snapshot: ${messageOf(error)}` };
  }
}
