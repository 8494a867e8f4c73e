/** Writes of a reconciliation, each with the preconditions that make it safe to repeat. */
import { KINDS } from "../../crds/kinds.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { identityOf } from "../../crds/watched.ts";
import { asRead } from "../../platform/kit/as_read.ts";
import type { Attempts } from "../../platform/kit/attempts.ts";
import { deleteExactly } from "../../platform/kit/deletion.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isNotFound, isNotServed, KubeError, lacksRight } from "../../platform/kube/errors.ts";
import { formatKey, type KubeObject, type ObjectKey } from "../../platform/kube/resource.ts";
import { type ChildCaches, NotServedError } from "./child_caches.ts";
import type { ChildPlan } from "./children.ts";
import { rightToGrant } from "./missing_right.ts";

/** The TrainJob to write for, and the client. */
export interface Writer {
  readonly client: KubeClient;
  readonly key: ObjectKey;
  /** The name of the manager, with which the names of its roles begin. */
  readonly managerName: string;
  /** The calls of this pass, which outdated objects end. */
  readonly attempts: Attempts;
  readonly signal: AbortSignal;
  /** Runs the creation or the change of a child, to remember the response. */
  readonly track: ChildCaches["track"];
}

/** Codes after which a repetition may succeed, whatever the object is. */
const TRANSIENT_CODES: readonly number[] = [408, 409, 429, 500, 502, 503, 504];

/** Reports whether the API server refused the object itself, so that a repetition is refused too. */
export function isRefusal(error: unknown): error is KubeError {
  return error instanceof KubeError && !TRANSIENT_CODES.includes(error.code) &&
    !isNotFound(error) && error.code !== 401;
}

/**
 * Creates a secret object. An error passes on the code and the reason of a refusal, and no text, which may quote
 * the object. If the manager lacks the right, the message names it.
 */
async function createOnce(
  { client, managerName, signal }: Writer,
  { kind, name }: ChildPlan,
  make: () => Promise<KubeObject>,
): Promise<void> {
  const object = await make();
  try {
    await client.create(identityOf(kind), object, { signal });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const { code, reason } = error;
    const advice = lacksRight(error) ? `; ${rightToGrant(kind, managerName)}` : "";
    const message = `creating ${kind.kind} "${name}" was refused: ${code} ${reason}${advice}`;
    throw new KubeError(message, { code, reason });
  }
}

/**
 * Writes one child. Returns the object after a creation or a change, but of a secret one. Throws a conflict
 * if it exists already; the caller then reads it again. Throws a {@link NotServedError} if there is no such kind.
 */
export async function writeChild(
  writer: Writer,
  plan: ChildPlan,
): Promise<KubeObject | undefined> {
  try {
    return await write(writer, plan);
  } catch (error) {
    throw isNotServed(error) ? new NotServedError(plan.kind) : error;
  }
}

async function write(writer: Writer, plan: ChildPlan): Promise<KubeObject | undefined> {
  const { client, key: { namespace }, signal, track } = writer;
  const { kind, name, write } = plan;
  const key = { namespace, name };
  switch (write.kind) {
    case "none":
      return undefined;
    case "create":
      return await track(
        kind,
        formatKey(key),
        () => client.create(kind, write.object, { signal }),
      );
    case "create-once":
      await createOnce(writer, plan, write.make);
      return undefined;
    case "patch": {
      const patch = { type: "merge", body: write.body } as const;
      return await track(kind, formatKey(key), () => client.patch(kind, key, patch, { signal }));
    }
    case "delete": {
      const { uid, propagation: propagationPolicy } = write;
      const child = { metadata: { ...key, uid } };
      await deleteExactly(client, kind, child, { propagationPolicy, signal });
      return undefined;
    }
  }
}

/** Writes the changed fields of the status, if the TrainJob is still as it was read. Returns it as it is then. */
export async function writeStatus(
  { client, key, signal }: Writer,
  trainJob: TrainJob,
  changes: Record<string, unknown>,
): Promise<TrainJob> {
  const body = asRead(trainJob, { status: changes });
  const options = { subresource: "status", signal };
  return await client.patch(KINDS.trainJob, key, { type: "merge", body }, options);
}
