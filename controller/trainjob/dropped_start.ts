/**
 * Start of a TrainJob's run where the definition of TrainJobs drops `status.startTime`: an annotation of the job's
 * snapshot, which the manager may write (docs/decisions/0002).
 */
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS, TRAINJOB_REASONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ChildConfigMap } from "../../crds/watched.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { isRefusal, type Writer } from "./act.ts";
import { owns } from "./observed.ts";
import { shorten } from "../shorten.ts";

function annotated(snapshot: ChildConfigMap | undefined): string | undefined {
  return snapshot?.metadata?.annotations?.[ANNOTATIONS.startTime];
}

/** Returns the TrainJob with the start in its status, wherever it is kept. */
export function withStart(trainJob: TrainJob, snapshot: ChildConfigMap | undefined): TrainJob {
  const { status } = trainJob;
  const startTime = status?.startTime ?? annotated(snapshot);
  const isKnown = startTime === status?.startTime || !owns(trainJob, snapshot?.metadata);
  return isKnown ? trainJob : { ...trainJob, status: { ...status, startTime } };
}

/**
 * Keeps the start that was written and is not in the status, and removes one that is. Returns what it means that the
 * API server refuses this: training does not wait for it, and a right to patch ConfigMaps is not given only for this.
 */
export async function keepStart(
  { client, key: { namespace }, signal }: Writer,
  written: TrainJob,
  { snapshot, startTime }: {
    readonly snapshot: ChildConfigMap | undefined;
    readonly startTime: string | undefined;
  },
): Promise<string | undefined> {
  const { name, uid } = snapshot?.metadata ?? {};
  const wanted = written.status?.startTime === undefined ? startTime : undefined;
  if (name === undefined || !owns(written, snapshot?.metadata)) return undefined;
  if (wanted === annotated(snapshot)) return undefined;
  const annotations = { [ANNOTATIONS.startTime]: wanted ?? null };
  const body = { metadata: { uid, annotations } };
  try {
    await client.patch(KINDS.configMap, { namespace, name }, { type: "merge", body }, { signal });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return shorten(
      "The start of the run is not kept, and if the JobSet is deleted the job may end with " +
        `${TRAINJOB_REASONS.deadlineExceeded}: apply Milepost's definition of TrainJobs, which has the field ` +
        `status.startTime, or grant the manager patch on configmaps (${messageOf(error)})`,
    );
  }
  return undefined;
}
