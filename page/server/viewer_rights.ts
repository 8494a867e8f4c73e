/** Rights of the viewer on a job, as the API server says of the user itself. */
import type { JobRights } from "../../crds/wire/details.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { mayDo } from "../../platform/kube/self_reviews.ts";
import type { NamedJob } from "../../crds/job_kind.ts";

/** Asks what the viewer may do with a job; `isManaged`: whether there is a manager that would stop or restart one. */
export async function rightsOn(
  client: Pick<KubeClient, "create">,
  { kind, namespace, name }: NamedJob,
  { isManaged, signal }: { readonly isManaged: boolean; readonly signal: AbortSignal },
): Promise<JobRights> {
  const onJob = (verb: string) => mayDo(client, { verb, kind, namespace, name }, signal);
  const [patch, update, remove] = await Promise.all([
    onJob("patch"),
    isManaged ? onJob("update") : false,
    onJob("delete"),
  ]);
  return { suspend: patch, resume: patch, stop: update, restart: update, delete: remove };
}
