/** Checks of trials' JobSets against their templates. */
import { getLogger } from "@logtape/logtape";
import { type AnyJob, type JobKind, jobRefOf } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { JobSet } from "../../crds/jobset.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { Informer } from "../../platform/kube/watching/informer.ts";
import { controllerOf } from "../../platform/kube/owner_references.ts";
import { keyOf } from "../../platform/kube/resource.ts";
import type { PlanSource } from "../../owner/observations/observations.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { aboutLog, type Notice } from "../../trials/plan/notice.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import { primaryContainerProblem } from "../../trials/plan/primary_container.ts";

const log = getLogger(["milepost", "katib"]);

/** Options of {@link followJobSets}. */
export interface JobSetChecks {
  readonly kinds: JobKinds;
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  readonly jobs: ReadonlyMap<JobKind, { readonly jobs: Pick<Informer<AnyJob>, "get"> }>;
  readonly plans: Pick<PlanSource, "planFor">;
  readonly notify: (notices: readonly Notice[]) => void;
}

/** Whether a Trial or an annotation may name the training container. */
function hasTemplate({ metadata }: AnyJob): boolean {
  return trialReference(metadata) !== undefined ||
    metadata.annotations?.[ANNOTATIONS.trialTemplate] !== undefined;
}

function noticesOf({ key, job, mapping }: ObservationPlan, jobSet: JobSet): Notice[] {
  const problem = mapping && primaryContainerProblem(mapping, jobSet);
  if (problem === undefined) return [];
  return [{ about: aboutLog(key, job), ...problem }];
}

/** Checks each JobSet that is made or changed, until the returned function is called. */
export function followJobSets(
  { kinds, jobSets, jobs, plans, notify }: JobSetChecks,
  signal: AbortSignal,
): () => void {
  async function check(jobSet: JobSet): Promise<void> {
    const owner = controllerOf(jobSet.metadata);
    const kind = owner && kinds.ofOwner(owner);
    if (owner === undefined || kind === undefined) return;
    const { namespace } = jobSet.metadata;
    const job = jobs.get(kind)?.jobs.get({ namespace, name: owner.name });
    if (job?.metadata.uid !== owner.uid || !hasTemplate(job)) return;
    const plan = await plans.planFor(jobRefOf(kind, job), signal);
    if (plan.kind === "plan" && !signal.aborted) notify(noticesOf(plan, jobSet));
  }
  return jobSets.onChange(({ type, object, old }) => {
    const isSame = old !== undefined && old.metadata.generation === object.metadata.generation;
    if (type === "deleted" || isSame) return;
    check(object).catch((error) => {
      const fields = { jobSet: keyOf(object), problem: messageOf(error) };
      log.debug("the JobSet of a trial could not be checked", fields);
    });
  });
}
