/** Changes of a job that are no more than its progress, which others write up to 50 times a second and which needs no work. Pure. */
import type { AnyJob } from "../crds/job_kind.ts";
import { ANNOTATIONS } from "../crds/names.ts";
import { sameJson } from "../platform/base/json.ts";
import type { Change } from "../platform/kube/watching/informer_cache.ts";

/** The progress, in either place. */
const progressOf = ({ metadata, status }: AnyJob) => [
  status?.trainerStatus,
  metadata.annotations?.[ANNOTATIONS.trainerStatus],
];

const withoutProgress = ({ metadata, status, ...job }: AnyJob) => ({
  ...job,
  metadata: {
    ...metadata,
    annotations: { ...metadata.annotations, [ANNOTATIONS.trainerStatus]: undefined },
    resourceVersion: undefined,
  },
  status: { ...status, trainerStatus: undefined },
});

/** Reports whether only the progress of a job has changed. */
export function isProgressOnly({ type, object, old }: Change<AnyJob>): boolean {
  if (type !== "updated" || old === undefined) return false;
  return !sameJson(progressOf(object), progressOf(old)) &&
    sameJson(withoutProgress(object), withoutProgress(old));
}
