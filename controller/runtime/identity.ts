/** Stages: what ties pods to their TrainJob, and the JobSet to who executes it. */
import {
  LABELS,
  MILEPOST_JOBSET_CONTROLLER,
  UPSTREAM_JOBSET_CONTROLLER,
} from "../../crds/names.ts";
import { jobsOf, type Stage } from "./draft.ts";

/** The label by which webhook and caches select the pods of a TrainJob (design, decision 3). */
export const podIdentity: Stage = {
  name: "podIdentity",
  apply(draft) {
    const { name = "" } = draft.trainJob.metadata;
    for (const job of jobsOf(draft)) {
      const template = job.template.spec?.template;
      if (!template) continue;
      const labels = { ...template.metadata?.labels, [LABELS.trainJobName]: name };
      template.metadata = { ...template.metadata, labels };
    }
    return undefined;
  },
};

/** Whether the JobSet waits, and which controller runs it (design, decision 2). */
export const execution: Stage = {
  name: "execution",
  apply(draft) {
    draft.spec.suspend = draft.trainJob.spec.suspend ?? false;
    const { managedBy } = draft.spec;
    const takesOver = managedBy === undefined || managedBy === UPSTREAM_JOBSET_CONTROLLER;
    if (draft.executor === "builtin" && takesOver) {
      draft.spec.managedBy = MILEPOST_JOBSET_CONTROLLER;
    }
    return undefined;
  },
};
