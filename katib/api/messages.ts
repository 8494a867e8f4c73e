/** Messages of the observation API: schemas for its responses and for OpenAPI. */
import { z } from "zod";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { jobRestartSchema } from "../../crds/job_restart.ts";
import { labelsOfText } from "../../crds/label_selector.ts";
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

const { state, reason, message, log, continue: next } = observationSchema.shape;
const jobSchema = z.object({ name: z.string(), uid: z.string() }).meta({ description: "The job." });

/** An event of a stream of many jobs. */
export const jobObservationSchema = z.object({
  job: jobSchema,
  state,
  reason,
  message,
  log: log.meta({ description: "Rows of the job since its event before, by time." }),
  continue: next.meta({
    description: "The place behind these rows, once there are some: for `from` of the next stream.",
  }),
  more: z.literal(true).optional().meta({
    description:
      "Present if the rest of the log so far is in later events; a state that has ended is the last word without it.",
  }),
  problem: text("Present, with `more`, if the log cannot be read now: why. It is tried again.")
    .optional(),
});
export type JobObservation = z.infer<typeof jobObservationSchema>;

export const jobGoneSchema = z.object({ job: jobSchema }).meta({
  description: "That a job was deleted, or matches the selector no more.",
});

export const streamEndSchema = z.object({ reason: z.string() }).meta({
  description: "Why the server ends the stream.",
});

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

/** A place in a log, as a client gives it back. */
const positionText = z.string().regex(
  new RegExp(POSITION_PATTERN),
  "must be what an answer gave as continue",
);

const { streamJobs, selectorLength } = OBSERVATION_LIMITS;
const SELECTOR =
  `must be key=value, or several of them joined by commas, of at most ${selectorLength} characters`;
const FROM = `must be an object of at most ${streamJobs} positions, by the UIDs of their jobs`;

/** The body that asks for a stream of many jobs. Unknown names are refused: a misspelt `from` would tell all again. */
export const jobsRequestSchema = z.strictObject({
  labelSelector: z.string(SELECTOR).max(selectorLength, SELECTOR).transform((text, context) => {
    const read = labelsOfText(text);
    if ("labels" in read) return read.labels;
    context.addIssue(read.problem);
    return z.NEVER;
  }).meta({ description: "The jobs: those that have all of these labels, as key=value,…" }),
  from: z.record(z.string().max(128), positionText, FROM).refine(
    (from) => Object.keys(from).length <= streamJobs,
    FROM,
  ).optional().meta({
    description:
      "Begins behind what was read before: the last `continue` of each job, by the job's UID.",
  }),
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys" ? undefined : "must be a JSON object with labelSelector",
});
export type JobsRequest = z.infer<typeof jobsRequestSchema>;

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
  continue: positionText.meta({ description: "Begins behind what was read before." }).optional(),
  watch: booleanParameter.meta({
    description: "Answers with server-sent events.",
  }).optional(),
});

const namespace = z.string().regex(NAME);

/** The path's parameter of a stream of many jobs. */
export const jobsPathSchema = z.object({
  namespace: namespace.meta({ description: "Of the jobs." }),
});

/** The path's parameters: names as Kubernetes has them. */
export const pathSchema = z.object({
  namespace: namespace.meta({ description: "Of the TrainJob." }),
  name: z.string().regex(NAME).meta({ description: "The TrainJob." }),
});
