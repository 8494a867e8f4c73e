/** Looks at the JobSets of trials as they are made, and says where they do not fit their template. */
import { getLogger } from "@logtape/logtape";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { JobSet } from "../../crds/jobset.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { messageOf } from "../../kube/errors.ts";
import type { Informer } from "../../kube/informer.ts";
import { isControlledBy } from "../../kube/ownership.ts";
import { keyOf } from "../../kube/resource.ts";
import type { PlanSource } from "../adapter/adapter.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { aboutJob, aboutTrial, type Notice } from "../../trials/plan/notice.ts";
import type { ObservationPlan } from "../../trials/plan/observation_plan.ts";
import { primaryContainerProblem } from "../../trials/plan/primary_container.ts";

const log = getLogger(["milepost", "katib"]);

/** What {@link followJobSets} works with. */
export interface JobSetChecks {
  readonly jobSets: Pick<Informer<JobSet>, "onChange">;
  readonly trainJobs: Pick<Informer<TrainJob>, "get">;
  readonly plans: Pick<PlanSource, "planFor">;
  readonly notify: (notices: readonly Notice[]) => void;
}

/** Only these say which container trains. */
function hasTemplate({ metadata }: TrainJob): boolean {
  return trialReference(metadata) !== undefined ||
    metadata.annotations?.[ANNOTATIONS.trialTemplate] !== undefined;
}

function noticesOf({ key, job, mapping }: ObservationPlan, jobSet: JobSet): Notice[] {
  const problem = mapping && primaryContainerProblem(mapping, jobSet);
  if (problem === undefined) return [];
  const about = key.kind === "trial" ? aboutTrial({ metadata: key }) : aboutJob({ metadata: job });
  return [{ about, ...problem }];
}

/** Looks at each JobSet that is made or changed, until the answer is called or `signal` aborts. */
export function followJobSets(
  { jobSets, trainJobs, plans, notify }: JobSetChecks,
  signal: AbortSignal,
): () => void {
  async function check(jobSet: JobSet): Promise<void> {
    const trainJob = trainJobs.get(keyOf(jobSet));
    const { namespace = "", name = "", uid = "" } = trainJob?.metadata ?? {};
    if (!trainJob || !isControlledBy(jobSet.metadata, uid) || !hasTemplate(trainJob)) return;
    const plan = await plans.planFor({ namespace, name, uid }, signal);
    if (plan.kind === "plan" && !signal.aborted) notify(noticesOf(plan, jobSet));
  }
  const stop = jobSets.onChange(({ type, object, old }) => {
    const isSame = old !== undefined && old.metadata.generation === object.metadata.generation;
    if (type === "deleted" || isSame) return;
    check(object).catch((error) => {
      const fields = { jobSet: keyOf(object), problem: messageOf(error) };
      log.debug("the JobSet of a trial could not be checked", fields);
    });
  });
  signal.addEventListener("abort", stop, { once: true });
  return () => {
    signal.removeEventListener("abort", stop);
    stop();
  };
}
