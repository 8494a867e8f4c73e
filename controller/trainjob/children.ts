/** Plans for the children of a TrainJob, by the mode of each. Pure. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { LABELS } from "../../crds/names.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import { controllerOf, isOfPredecessor } from "../../platform/kube/owner_references.ts";
import type { Kind, KubeObject } from "../../platform/kube/resource.ts";
import type { Child, ChildContent } from "../runtime/child.ts";
import { asObject, covers, withoutNulls } from "../../platform/base/json.ts";
import { ownerReferenceTo, owns } from "./observed.ts";

/** The write that brings a child up to date. */
export type ChildWrite =
  | { readonly kind: "none" }
  | { readonly kind: "create"; readonly object: KubeObject }
  /** Creates what `make` returns; no message may hold any of it. */
  | { readonly kind: "create-once"; readonly make: () => Promise<KubeObject> }
  /** A merge patch with uid and resource version in it. */
  | { readonly kind: "patch"; readonly body: unknown }
  | {
    readonly kind: "delete";
    readonly uid: string | undefined;
    readonly propagation: "Foreground" | "Background";
  };

/** The write of one child; with a problem there is nothing to write. */
export interface ChildPlan {
  readonly kind: Kind<KubeObject>;
  readonly name: string;
  readonly write: ChildWrite;
  readonly problem?: string;
  /** Delay until the next look at the problem, in milliseconds. */
  readonly retryMs?: number;
}

/** Delay after an object that the garbage collector is about to delete, in milliseconds. */
const COLLECTED_RETRY_MS = 5_000;
/** Delay after another problem, in milliseconds: Secrets, objects of others and rights are not watched. */
export const CHILD_RETRY_MS = 60_000;

const NONE: ChildWrite = { kind: "none" };

/** The object to create, which the TrainJob controls; without the fields that must be absent. */
function childObject(trainJob: TrainJob, name: string, content: ChildContent): KubeObject {
  const { namespace } = trainJob.metadata;
  const { metadata: { labels, ...metadata } = {}, ...fields } = content;
  return {
    ...asObject(withoutNulls(fields)),
    metadata: {
      ...metadata,
      name,
      namespace,
      labels: { [LABELS.trainJobName]: trainJob.metadata.name ?? "", ...labels },
      ownerReferences: [ownerReferenceTo(trainJob)],
    },
  };
}

function createPlan(trainJob: TrainJob, child: Child): ChildWrite {
  if (child.mode !== "once") {
    return { kind: "create", object: childObject(trainJob, child.name, child.content) };
  }
  const make = async () => childObject(trainJob, child.name, await child.make());
  return { kind: "create-once", make };
}

/** Returns a phrase with the owner of an object that is not the TrainJob's. */
export function ownerText(trainJob: TrainJob, { metadata }: KubeObject): string {
  const owner = controllerOf(metadata);
  if (owner === undefined) return "is owned by no controller";
  const isPredecessors = isOfPredecessor(metadata, KINDS.trainJob, trainJob.metadata);
  const which = isPredecessors ? ` with another UID, ${owner.uid}` : "";
  return `is owned by ${owner.kind} "${owner.name}"${which}`;
}

/** Returns the message about an object of a child's name that is not the TrainJob's. */
export function foreignProblem(
  trainJob: TrainJob,
  { kind }: Pick<Kind<unknown>, "kind">,
  live: KubeObject,
): string {
  return `${kind} "${live.metadata?.name}" exists and ${
    ownerText(trainJob, live)
  }; delete it, or ` +
    "give the TrainJob another name";
}

/** Returns the content that an existing child must have now; undefined if it is left alone. */
function followed(child: Child, runs: boolean): ChildContent | undefined {
  if (child.mode === "once") return undefined;
  return runs && child.mode === "while-suspended" ? child.whileRunning : child.content;
}

/** Plans the write of one child. An object that the TrainJob's UID does not control is never written. */
export function planChild(child: Child, { trainJob, live, runs }: {
  readonly trainJob: TrainJob;
  /** The object of that kind and name, whoever owns it. */
  readonly live: KubeObject | undefined;
  /** The JobSet runs, so that pods may rely on the child. */
  readonly runs: boolean;
}): ChildPlan {
  const { kind, name } = child;
  if (live === undefined) return { kind, name, write: createPlan(trainJob, child) };
  if (!owns(trainJob, live.metadata)) {
    const problem = foreignProblem(trainJob, kind, live);
    const isCollected = isOfPredecessor(live.metadata, KINDS.trainJob, trainJob.metadata);
    const retryMs = isCollected ? COLLECTED_RETRY_MS : CHILD_RETRY_MS;
    return { kind, name, write: NONE, problem, retryMs };
  }
  const content = followed(child, runs);
  const isLeftAlone = content === undefined || live.metadata?.deletionTimestamp !== undefined;
  if (isLeftAlone || covers(live, content, true)) return { kind, name, write: NONE };
  // The label too: what upstream's controller created has none, and is not watched without it.
  const labels = { [LABELS.trainJobName]: trainJob.metadata.name ?? "" };
  const metadata = content.metadata ?? {};
  const change = {
    ...content,
    metadata: { ...metadata, labels: { ...labels, ...metadata.labels } },
  };
  return { kind, name, write: { kind: "patch", body: asRead(live, change) } };
}
