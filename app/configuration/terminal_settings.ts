/** The tables of the settings of the commands of the terminal: `top`, `get`, `logs`, `stop`, `restart`, `optimize`. */
import { z } from "zod";
import { GRACE_BY_HAND_SECONDS, stopRequestSchema } from "../../crds/wire/stop_request.ts";
import { parseDuration } from "../../platform/base/duration.ts";
import { LOG_LIMITS } from "../../views/details/log_query.ts";
import { boolean, logLevel, optionalCount, readIfGiven } from "./setting_schemas.ts";
import { uiSettings } from "./ui_settings.ts";

const { kubeconfig, context, managerNamespace, managerService } = uiSettings.shape;

/** Where the jobs are. */
const place = {
  kubeconfig,
  context,
  namespace: uiSettings.shape.namespace.describe("namespace of the job"),
};
const manager = {
  managerNamespace: managerNamespace.describe("namespace of the manager"),
  managerService,
  logLevel: logLevel("error"),
};
const json = (what: string) => boolean(false).describe(`print ${what} as JSON`);
const allNamespaces = (verb: string) =>
  boolean(false).describe(`${verb} the jobs of all namespaces`).meta({ short: "-A" });
const look = {
  ascii: boolean(false).describe("draw with ASCII only"),
};

/** `milepost top`. */
export const topSettings = z.strictObject({
  ...place,
  namespace: uiSettings.shape.namespace.describe(
    "namespaces whose jobs are shown; repeated, or separated by commas",
  ),
  allNamespaces: allNamespaces("show"),
  json: json("each change"),
  ...look,
  ...manager,
});

/** `milepost get`. */
export const getSettings = z.strictObject({
  ...place,
  namespace: uiSettings.shape.namespace.describe(
    "namespace of the job; without a name those whose jobs are listed, repeated, or separated by commas",
  ),
  allNamespaces: allNamespaces("list"),
  json: json("what is known of the job, or of the jobs,"),
  ...look,
  ...manager,
});

/** `milepost logs`. */
export const logsSettings = z.strictObject({
  ...place,
  rank: z.string().min(1).optional().describe("the rank whose log is printed, such as node-0 or 0")
    .meta({ value: "rank", otherwise: "all" }),
  container: z.string().min(1).optional().describe("the container whose log is printed")
    .meta({ short: "-c", value: "name", otherwise: "the first of each pod" }),
  follow: boolean(false).describe("print further lines until the job has ended").meta({
    short: "-f",
  }),
  previous: boolean(false).describe("print the log of each container before its last restart")
    .meta({ short: "-p" }),
  since: z.string().optional().transform(
    readIfGiven("must be a duration such as 90s, 5m or 2h", parseDuration),
  ).describe("only lines that are no older than this").meta({
    value: "duration",
    otherwise: "all",
  }),
  tail: optionalCount(LOG_LIMITS.maxTailLines, `${LOG_LIMITS.tailLines}; with --since all`)
    .describe(`lines of each rank before the newest; at most ${LOG_LIMITS.maxTailLines}`),
  logLevel: logLevel("error"),
});

/** In milliseconds. */
const graceOf = (given: string | number) =>
  parseDuration(/^\d+$/.test(`${given}`) ? `${given}s` : `${given}`);

const message = z.string().min(1).optional().describe("why, for people")
  .meta({ value: "text", otherwise: "none" });

/** `milepost stop`. */
export const stopSettings = z.strictObject({
  ...place,
  reason: stopRequestSchema.shape.reason.default("StoppedByUser").describe(
    "why, in one word: the reason of the condition",
  ).meta({ value: "word" }),
  message,
  grace: z.union([z.string(), z.number()]).optional().transform(
    readIfGiven("must be seconds, or a duration such as 90s or 5m", graceOf),
  ).describe("seconds for which the job may go on, or a duration such as 5m").meta({
    value: "time",
    otherwise: `as its annotation says, else ${GRACE_BY_HAND_SECONDS}`,
  }),
  now: boolean(false).describe("stop the job immediately, without a grace period"),
  ...manager,
});

/** `milepost restart`. */
export const restartSettings = z.strictObject({ ...place, message, ...manager });

/** `milepost optimize`. */
export const optimizeSettings = z.strictObject({
  ...place,
  namespace: uiSettings.shape.namespace.describe("namespace of the search"),
  ...look,
  logLevel: logLevel("error"),
});
