/** View of a TrainJob in the demo, from which lines, bars and JSON are made. */
import type { TrainJob } from "../../crds/trainjob.ts";

/** One TrainJob as the demo shows it. */
export interface JobView {
  readonly job: string;
  readonly state: string;
  readonly progressPercentage?: number;
  readonly estimatedRemainingSeconds?: number;
  readonly metrics: Readonly<Record<string, string>>;
}

/** How a TrainJob went, for the table at the end. */
export interface JobSummary {
  readonly job: string;
  readonly state: string;
  /** From creation to the end. */
  readonly seconds: number;
  readonly metrics: Readonly<Record<string, string>>;
  /** The message of the condition that ended it. */
  readonly message: string;
}

/** States that do not change any more. */
const ENDED: ReadonlySet<string> = new Set(["Complete", "Failed", "EarlyStopped"]);

/** Whether a job in this state has ended. */
export function hasEnded(view: Pick<JobView, "state">): boolean {
  return ENDED.has(view.state);
}

/** The view of a TrainJob; before the controller has seen it its state is Created. */
export function jobView(trainJob: TrainJob): JobView {
  const reported = trainJob.status?.trainerStatus;
  return {
    job: trainJob.metadata.name ?? "",
    state: trainJob.status?.state ?? "Created",
    ...(reported?.progressPercentage === undefined
      ? {}
      : { progressPercentage: reported.progressPercentage }),
    ...(reported?.estimatedRemainingSeconds === undefined
      ? {}
      : { estimatedRemainingSeconds: reported.estimatedRemainingSeconds }),
    metrics: Object.fromEntries((reported?.metrics ?? []).map((it) => [it.name, it.value])),
  };
}

/** Whether two views would be shown alike. */
export function sameView(a: JobView | undefined, b: JobView): boolean {
  return a !== undefined && JSON.stringify(a) === JSON.stringify(b);
}

/** The summary of a TrainJob that has ended; `endedAt`, in milliseconds, is used if no condition has a time. */
export function jobSummary(trainJob: TrainJob, endedAt: number): JobSummary {
  const view = jobView(trainJob);
  const condition = trainJob.status?.conditions?.find((it) =>
    it.status === "True" && ENDED.has(it.type)
  );
  const began = Date.parse(trainJob.metadata.creationTimestamp ?? "");
  const seconds = Number.isNaN(began) ? 0 : Math.max(0, (endedAt - began) / 1000);
  return {
    job: view.job,
    state: view.state,
    seconds: Math.round(seconds * 10) / 10,
    metrics: view.metrics,
    message: condition?.message ?? "",
  };
}
