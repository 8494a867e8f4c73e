/** Time that a job has spent, in `status.timeSpent`, of a job of any kind: what was productive, and what was not (docs/decisions/0085). */
import { z } from "zod";
import { int64 } from "./schema_marks.ts";

/** What the time of a job goes to. */
export type Spending = "productive" | "starting" | "stalled" | "lost";

const seconds = (description: string) => int64().min(0).meta({ description });

/** The schema of the time that a job has spent. */
export const jobTimeSpentSchema = z.looseObject({
  productiveSeconds: seconds("Making steps that no earlier run had made."),
  startingSeconds: seconds("From the starts of its pods to their second reports."),
  stalledSeconds: seconds("Making no progress, for longer than ever."),
  lostSeconds: seconds("Making steps again that an earlier run had made."),
  step: int64().min(0).optional().meta({ description: "The highest step that was reached." }),
  time: z.string().meta({ format: "date-time", description: "Up to when time is counted." }),
}).meta({ description: "What the time of the job went to, as far as its pods said so." });
export type JobTimeSpent = z.infer<typeof jobTimeSpentSchema>;
