/** Messages of the observation API: schemas for its responses and for OpenAPI. */
import { z } from "zod";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { jobRestartSchema } from "../../crds/job_restart.ts";
import { jobStopSchema } from "../../crds/trainjob.ts";
import { logRowSchema, metricSchema, OBSERVATION_LIMITS } from "../../crds/wire/observation.ts";
import { NAME_PATTERN } from "../../platform/http/routes.ts";
import { booleanParameter } from "../../platform/http/strict_query.ts";
import { POSITION_PATTERN } from "./position.ts";

/** States of a TrainJob as trial controllers see it. */
const OBSERVATION_STATES = ["Running", "Succeeded", "Failed", "EarlyStopped"] as const;

const NAME = new RegExp(`^${NAME_PATTERN}$`);

const text = (description: string) => z.string().meta({ description });

export const observationSchema = z.object({
  state: z.enum(OBSERVATION_STATES).meta({
    description:
      "Running also before the first pod runs, and while the TrainJob is suspended or its runtime is not " +
      "supported; never once it has ended.",
  }),
  reason: text("Of the condition that decides the state.").optional(),
  message: text("Of the condition that decides the state.").optional(),
  trial: text("The Katib Trial that the TrainJob is of.").optional(),
  primaryPod: text("The pod that pushed last of those that count.").optional(),
  metrics: z.array(metricSchema).meta({ description: "By name." }),
  log: z.array(logRowSchema).max(OBSERVATION_LIMITS.maxPage).meta({
    description: "A page of the log, by time.",
  }),
  continue: text(
    "Present where there are more rows: give it back for the next page. In events of a watch: always " +
      "present once the log has a row, for the next stream to begin behind it.",
  ).optional(),
});
export type Observation = z.infer<typeof observationSchema>;

export const endSchema = z.object({
  reason: z.enum(["Complete", "Failed", "Deleted"]),
}).meta({ description: "How the TrainJob ended, in the last event of a watch." });

export const failureSchema = z.object({
  kind: z.literal("Status"),
  apiVersion: z.literal("v1"),
  metadata: z.object({}),
  status: z.literal("Failure"),
  reason: z.string(),
  code: z.int(),
  message: text("What is wrong, and what to do."),
  details: z.object({
    causes: z.array(z.object({ field: z.string(), message: z.string() })),
  }).optional(),
}).meta({ description: "Why there is no observation." });

const NO_LIMIT = `must be a whole number from 1 to ${OBSERVATION_LIMITS.maxPage}`;

/** The answer to a request to stop a job. */
export const stoppingSchema = z.object({
  stop: jobStopSchema.meta({ description: "The decision that status.stop of the TrainJob holds." }),
}).meta({ description: "That the job is to be stopped, or was, by the first decision about it." });

/** The answer to a request to restart a job. */
export const restartingSchema = z.object({
  restart: jobRestartSchema.meta({ description: "What status.restart of the TrainJob holds." }),
}).meta({
  description: "That the job is restarted, or was by the same request before: then it may be over.",
});

/** The query, of texts. Unknown names are refused: a misspelt `watch` would wait in vain. */
export const querySchema = z.strictObject({
  since: z.string().max(OBSERVATION_LIMITS.timeLength).refine(
    (it) => sortableTime(it) !== undefined,
    "must be a time as RFC 3339 has it, for example 2025-01-23T10:30:45Z",
  ).meta({ format: "date-time", description: "Leaves out rows before that time." }).optional(),
  limit: z.int(NO_LIMIT).min(1, NO_LIMIT).max(OBSERVATION_LIMITS.maxPage, NO_LIMIT).meta({
    default: OBSERVATION_LIMITS.page,
    description: "Rows of the page, and of each event of a watch.",
  }).optional(),
  continue: z.string().regex(
    new RegExp(POSITION_PATTERN),
    "must be what an answer gave as continue",
  ).meta({ description: "Begins behind what was read before." }).optional(),
  watch: booleanParameter.meta({
    description: "Answers with server-sent events.",
  }).optional(),
});

/** The path's parameters: names as Kubernetes has them. */
export const pathSchema = z.object({
  namespace: z.string().regex(NAME).meta({ description: "Of the TrainJob." }),
  name: z.string().regex(NAME).meta({ description: "The TrainJob." }),
});
