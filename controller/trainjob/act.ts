/** Writes what was decided, each write with what makes it safe to repeat. */
import { KINDS } from "../../crds/kinds.ts";
import { childNames } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../kube/client.ts";
import { isNotFound, KubeError } from "../../kube/errors.ts";
import type { ObjectKey } from "../../kube/resource.ts";
import type { JobSetPlan } from "./jobset_plan.ts";
import type { ResourceDecision, TlsPlan } from "./resources.ts";

/** Where and how to write. */
export interface Writer {
  readonly client: KubeClient;
  readonly key: ObjectKey;
  readonly signal: AbortSignal;
}

/** Answers that say that trying again later may help, whatever the object is. */
const TRANSIENT_CODES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

/** Whether the API server refused the object itself, and not the moment. */
export function isRefusal(error: unknown): error is KubeError {
  return error instanceof KubeError && !TRANSIENT_CODES.includes(error.code) &&
    !isNotFound(error) && error.code !== 401;
}

/** Writes the snapshot. That one exists is a conflict like any other: the caller looks anew. */
export async function writeSnapshot(
  { client, signal }: Writer,
  { snapshot }: ResourceDecision,
): Promise<void> {
  if (snapshot) await client.create(KINDS.configMap, snapshot, { signal });
}

/** Writes the ConfigMap of the CA. */
export async function writeTls({ client, key, signal }: Writer, plan: TlsPlan): Promise<void> {
  if (plan.kind === "create") await client.create(KINDS.configMap, plan.configMap, { signal });
  if (plan.kind !== "patch") return;
  const name = childNames.tlsConfig(key.name);
  const patch = { type: "merge", body: plan.body } as const;
  await client.patch(KINDS.configMap, { namespace: key.namespace, name }, patch, { signal });
}

/** Creates, patches or deletes the JobSet; that it is gone already is no error. */
export async function writeJobSet(
  { client, key, signal }: Writer,
  plan: JobSetPlan,
): Promise<void> {
  if (plan.kind === "create") await client.create(KINDS.jobSet, plan.jobSet, { signal });
  if (plan.kind === "patch") {
    await client.patch(KINDS.jobSet, key, { type: "merge", body: plan.body }, { signal });
  }
  if (plan.kind !== "delete") return;
  const { uid, propagation: propagationPolicy } = plan;
  try {
    const preconditions = { uid };
    await client.delete(KINDS.jobSet, key, { propagationPolicy, preconditions, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Writes the fields of the status that change, on the TrainJob as it was read. */
export async function writeStatus(
  { client, key, signal }: Writer,
  trainJob: TrainJob,
  changes: Record<string, unknown>,
): Promise<void> {
  const { uid, resourceVersion } = trainJob.metadata;
  const body = { metadata: { uid, resourceVersion }, status: changes };
  const options = { subresource: "status", signal };
  await client.patch(KINDS.trainJob, key, { type: "merge", body }, options);
}
