/** Messages of the observation API: schemas for its responses and for OpenAPI. */
import { z } from "zod";
import { sortableTime } from "../../trials/recording/row_time.ts";
import { CONDITION_REASON, jobStopSchema, STOP_LIMITS } from "../../crds/trainjob.ts";
import { NAME_PATTERN } from "../../platform/http/routes.ts";
import { POSITION_PATTERN } from "./position.ts";

/** Bounds of a read. */
export const OBSERVATION_LIMITS = {
  /** Rows of a page by default. */
  page: 500,
  /** Most rows of a page. */
  maxPage: 5000,
  /** Characters of a time in a query. */
  timeLength: 64,
} as const;

/** States of a TrainJob as trial controllers see it. */
const OBSERVATION_STATES = ["Running", "Succeeded", "Failed", "EarlyStopped"] as const;

const NAME = new RegExp(`^${NAME_PATTERN}$`);

const text = (description: string) => z.string().meta({ description });
const time = (description: string) => z.string().meta({ format: "date-time", description });

export const metricSchema = z.object({
  name: z.string(),
  latest: text("The value with the latest time."),
  min: text("The smallest number, as it was pushed."),
  max: text("The largest number, as it was pushed."),
}).meta({ description: "What is known of a metric over the whole log." });

export const logRowSchema = z.object({
  time: time("When the pod measured it, in UTC with up to six digits of fraction."),
  name: z.string(),
  value: z.string(),
}).meta({ description: "One value of one metric." });

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

/** Bounds of a request to stop a job. */
export const STOP_REQUEST_LIMITS = {
  bodyBytes: 16_384,
  /** Characters of its message. */
  messageLength: 1024,
} as const;

const { reasonLength, graceSeconds: maxGrace } = STOP_LIMITS;
const REASON =
  `must be the reason of a condition, such as Pruned: 1 to ${reasonLength} letters and ` +
  "digits, that begin with a letter";
const MESSAGE = `must be a text of at most ${STOP_REQUEST_LIMITS.messageLength} characters`;
const UID_LENGTH = 128;
const UID = `must be the UID of the job: 1 to ${UID_LENGTH} characters`;
const GRACE = `must be a whole number from 0 to ${maxGrace}`;

/** The body of a request to stop a job. Unknown names are refused: a misspelt grace would stop it at once. */
export const stopRequestSchema = z.strictObject({
  reason: z.string({ error: REASON }).max(reasonLength, REASON).regex(CONDITION_REASON, REASON)
    .meta({
      description: "Why, in one word: the reason of the condition EarlyStopped.",
    }),
  message: z.string({ error: MESSAGE }).max(STOP_REQUEST_LIMITS.messageLength, MESSAGE).optional()
    .meta({ description: "Why, for people: the message of that condition." }),
  graceSeconds: z.int({ error: GRACE }).min(0, GRACE).max(maxGrace, GRACE).optional().meta({
    description:
      "How long the job may go on. Default: as its annotation says, which is 0 without one.",
  }),
  uid: z.string({ error: UID }).min(1, UID).max(UID_LENGTH, UID).optional().meta({
    description: "Of the job that is meant: another one of the same name is left alone.",
  }),
}, {
  error: (issue) =>
    issue.code === "unrecognized_keys" ? undefined : "must be a JSON object with a reason",
});

/** The answer to a request to stop a job. */
export const stoppingSchema = z.object({
  stop: jobStopSchema.meta({ description: "The decision that status.stop of the TrainJob holds." }),
}).meta({ description: "That the job is to be stopped, or was, by the first decision about it." });

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
  watch: z.enum(["true", "false", "1", "0"], "must be true or false").meta({
    description: "Answers with server-sent events.",
  }).optional(),
});

/** The path's parameters: names as Kubernetes has them. */
export const pathSchema = z.object({
  namespace: z.string().regex(NAME).meta({ description: "Of the TrainJob." }),
  name: z.string().regex(NAME).meta({ description: "The TrainJob." }),
});
