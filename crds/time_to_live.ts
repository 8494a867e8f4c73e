/** Time to live of TrainJobs that have ended, as an annotation of a job or a runtime says it. */
import type { ReadAnnotation } from "./early_stopping.ts";
import { ANNOTATIONS } from "./names.ts";

/** Longest time to live, in seconds: that of a Job of Kubernetes. */
const MOST = 2_147_483_647;

/** Reads the annotation `trainer.kubeflow.org/ttl-seconds-after-finished`, in seconds. */
export function readTimeToLive(text: string): ReadAnnotation<number> {
  if (/^\d{1,10}$/.test(text) && Number(text) <= MOST) return { ok: true, value: Number(text) };
  const message = `must be a whole number of seconds from 0 to ${MOST}`;
  return { ok: false, problems: [{ field: "", message }] };
}

/** Returns the time to live that the annotations of an object give, in seconds; undefined without a valid one. */
export function timeToLiveOf(
  object: { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } },
): number | undefined {
  const text = object.metadata.annotations?.[ANNOTATIONS.timeToLive];
  const read = text === undefined ? undefined : readTimeToLive(text);
  return read?.ok ? read.value : undefined;
}
