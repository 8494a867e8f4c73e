/** Stages that tie pods to their TrainJob, and the JobSet to its executor. */
import { LABELS } from "../../crds/names.ts";
import { MILEPOST_JOBSET_CONTROLLER, UPSTREAM_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { jobsOf, type Stage } from "./draft.ts";

/**
 * Sets the labels by which webhook and caches select the pods of a TrainJob, and of a trial. A trial's
 * label that a runtime or a patch sets is removed: only the controller may set it.
 */
export const podIdentity: Stage = {
  name: "podIdentity",
  apply(draft) {
    const { name = "" } = draft.trainJob.metadata;
    for (const job of jobsOf(draft)) {
      const template = job.template.spec?.template;
      if (!template) continue;
      const { [LABELS.trial]: _, ...others } = template.metadata?.labels ?? {};
      const labels = {
        ...others,
        [LABELS.trainJobName]: name,
        ...(draft.trial === undefined ? {} : { [LABELS.trial]: draft.trial }),
      };
      template.metadata = { ...template.metadata, labels };
    }
  },
};

/** Sets whether the JobSet is suspended, and which controller runs it. */
export const execution: Stage = {
  name: "execution",
  apply(draft) {
    draft.spec.suspend = draft.trainJob.spec.suspend ?? false;
    const { managedBy } = draft.spec;
    const takesOver = managedBy === undefined || managedBy === UPSTREAM_JOBSET_CONTROLLER;
    if (draft.executor === "builtin" && takesOver) {
      draft.spec.managedBy = MILEPOST_JOBSET_CONTROLLER;
    }
  },
};
