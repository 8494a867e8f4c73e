/** Katib's Trial, `kubeflow.org/v1beta1`: the fields that are read. */
import { z } from "zod";
import { KATIB } from "./katib_names.ts";
import { schemas } from "../platform/kube/kubernetes.ts";

/**
 * A part that Katib's CRD does not check: what has another shape is as good as absent here, so that one
 * odd Trial does not break a list of all. Whoever needs the part says what is wrong with it.
 */
const lenient = <T>(schema: z.ZodType<T>) => schema.optional().catch(undefined);

const text = lenient(z.string());
const labels = lenient(z.record(z.string(), z.string()));

const trialObjectiveSchema = z.looseObject({
  /** `minimize` or `maximize`. */
  type: text,
  goal: lenient(z.number()),
  objectiveMetricName: text,
  additionalMetricNames: lenient(z.array(z.string())),
  metricStrategies: lenient(z.array(z.looseObject({ name: z.string(), value: z.string() }))),
});

/** A rule as it stands in the object; its parts may be anything, or absent, as a start step of 0 is. */
const trialRuleSchema = z.looseObject({
  name: z.unknown().optional(),
  value: z.unknown().optional(),
  comparison: z.unknown().optional(),
  startStep: z.unknown().optional(),
});
export type TrialRule = z.infer<typeof trialRuleSchema>;

/** Unlike Kubernetes' conditions, with a time of its last update. */
export const trialConditionSchema = z.looseObject({
  type: z.string(),
  status: z.string(),
  reason: text,
  message: text,
  lastUpdateTime: text,
  lastTransitionTime: text,
});
type TrialCondition = z.infer<typeof trialConditionSchema>;

/** A metric of an observation: all values are strings. */
const trialMetricSchema = z.looseObject({
  name: z.string(),
  min: text,
  max: text,
  latest: text,
});
export type TrialMetric = z.infer<typeof trialMetricSchema>;

const trialSpecSchema = z.looseObject({
  objective: lenient(trialObjectiveSchema),
  // A rule of another shape stays in the list, so that the others do not count as all.
  earlyStoppingRules: lenient(z.array(trialRuleSchema.catch({}))),
  /** The job, any object. */
  runSpec: lenient(z.record(z.string(), z.unknown())),
  retainRun: lenient(z.boolean()),
  metricsCollector: lenient(z.looseObject({
    collector: lenient(z.looseObject({ kind: text })),
  })),
  primaryPodLabels: labels,
  primaryContainerName: text,
  successCondition: text,
  failureCondition: text,
});
export type TrialSpec = z.infer<typeof trialSpecSchema>;

const shortText = z.string().optional();
/** A condition of which nothing is lost when it is read. */
const plainConditionSchema = trialConditionSchema.extend({
  reason: shortText,
  message: shortText,
  lastUpdateTime: shortText,
  lastTransitionTime: shortText,
});

const statusPartsSchema = z.looseObject({
  startTime: text,
  completionTime: text,
  observation: lenient(z.looseObject({ metrics: lenient(z.array(trialMetricSchema)) })),
});

type TrialStatus = z.infer<typeof statusPartsSchema> & {
  /** Those that have type and status. */
  conditions?: TrialCondition[];
  /** All as they stand, where one of them is odd. */
  allConditions?: unknown[];
};

const trialStatusSchema = statusPartsSchema
  .extend({ conditions: lenient(z.array(z.unknown())) })
  .transform(({ conditions: all, allConditions: _, ...status }): TrialStatus => {
    if (all === undefined) return status;
    const conditions = all.flatMap((one) => trialConditionSchema.safeParse(one).data ?? []);
    const isPlain = all.every((one) => plainConditionSchema.safeParse(one).success);
    return { ...status, conditions, ...(!isPlain && { allConditions: all }) };
  });

export const trialSchema = z.looseObject({
  apiVersion: z.literal(KATIB.apiVersion),
  kind: z.literal(KATIB.trialKind),
  metadata: schemas.objectMeta,
  spec: lenient(trialSpecSchema),
  status: lenient(trialStatusSchema),
});
export type Trial = z.infer<typeof trialSchema>;
