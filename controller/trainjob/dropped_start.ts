/**
 * Start of a TrainJob's run where the definition of TrainJobs drops `status.startTime`: an annotation of the job's
 * snapshot, which the manager may write (docs/decisions/0064).
 */
import { KINDS } from "../../crds/kinds.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import type { ChildConfigMap } from "../../crds/watched.ts";
import type { Writer } from "./act.ts";
import { owns } from "./observed.ts";

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

/** Keeps the start that was written and is not in the status, and removes one that is. */
export async function keepStart(
  { client, key: { namespace }, signal }: Writer,
  written: TrainJob,
  { snapshot, startTime }: {
    readonly snapshot: ChildConfigMap | undefined;
    readonly startTime: string | undefined;
  },
): Promise<void> {
  const { name, uid } = snapshot?.metadata ?? {};
  const wanted = written.status?.startTime === undefined ? startTime : undefined;
  if (name === undefined || !owns(written, snapshot?.metadata)) return;
  if (wanted === annotated(snapshot)) return;
  const annotations = { [ANNOTATIONS.startTime]: wanted ?? null };
  const body = { metadata: { uid, annotations } };
  await client.patch(KINDS.configMap, { namespace, name }, { type: "merge", body }, { signal });
}
