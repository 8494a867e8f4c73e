/** OptimizationJob, `trainer.kubeflow.org/v1alpha1`: a search for good parameters whose trials are TrainJobs. */
import { z } from "zod";
import { schemas } from "../platform/kube/kubernetes.ts";
import { TRAINER_API_VERSION } from "./names.ts";
import { checked, int32, int64, listMap, listSet } from "./schema_marks.ts";
import { templatedTrainJobSpecSchema } from "./trainjob.ts";

/** Bounds of a search, which its definition has. */
export const SEARCH_BOUNDS = {
  trials: 100,
  parameters: 100,
  choices: 100,
  textLength: 64,
} as const;
const { trials, parameters, choices, textLength } = SEARCH_BOUNDS;

const shortText = () => z.string().min(1).max(textLength);

/** Says that exactly one member of an object is set, as the marker `ExactlyOneOf` of upstream's generator does. */
const exactlyOne = (names: readonly string[]) =>
  checked(
    `[${names.map((it) => `has(self.${it})`).join(",")}].filter(x,x==true).size() == 1`,
    `exactly one of the fields in [${names.join(" ")}] must be set`,
  );

const objectiveSchema = z.looseObject({
  metric: shortText().meta({ description: "The metric, as pods push it." }),
  direction: z.enum(["Maximize", "Minimize"]).optional().meta({
    default: "Minimize",
    description: "Which values of it are better.",
  }),
});

const searchAlgorithmSchema = z.looseObject({
  random: z.looseObject({
    seed: int64().optional().meta({ description: "The same seed gives the same trials." }),
  }).optional().meta({ description: "Each trial is drawn independently of the others." }),
  grid: z.looseObject({}).optional().meta({
    description: "Each combination of choices once; all parameters must be categorical.",
  }),
}).meta(exactlyOne(["random", "grid"]));

/** A decimal number as text, as bounds of ranges are written. */
const double = () =>
  z.string().min(1).max(textLength).meta({
    pattern: "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?$",
  });

const IS_POSITIVE = checked("double(self.min) > 0.0", "min must be strictly greater than 0");
const IS_ORDERED = checked(
  "double(self.min) < double(self.max)",
  "min must be strictly less than max",
);
type Rules = ReturnType<typeof checked>;

const range = (...rules: readonly Rules[]) =>
  z.looseObject({
    max: double(),
    min: double(),
    type: z.enum(["Int", "Float"]).optional().meta({ default: "Float" }),
  }).meta({ "x-kubernetes-validations": rules.flatMap((it) => it["x-kubernetes-validations"]) });

const searchSpaceSchema = z.looseObject({
  uniform: range(IS_ORDERED).optional().meta({ description: "Each value is as likely." }),
  logUniform: range(IS_POSITIVE, IS_ORDERED).optional().meta({
    description: "Each order of magnitude is as likely.",
  }),
  categorical: z.looseObject({
    choices: listSet(z.string().max(textLength)).min(1).max(choices),
  }).optional().meta({ description: "One of these texts." }),
}).meta(exactlyOne(["uniform", "logUniform", "categorical"]));
export type SearchSpace = z.infer<typeof searchSpaceSchema>;

const parameterSchema = z.looseObject({
  name: shortText().meta({
    description: "Trials get it as the variable KUBEFLOW_TRAINER_OPT_<NAME>.",
  }),
  searchSpace: searchSpaceSchema,
});
export type SearchParameter = z.infer<typeof parameterSchema>;

const templateSchema = z.looseObject({
  metadata: schemas.objectMeta.meta({
    embeddedMetadata: true,
    ...checked(
      "!has(self.name) && !has(self.namespace)",
      "name and namespace cannot be set in a template.",
    ),
  }).optional(),
  spec: templatedTrainJobSpecSchema,
});

const specSchema = z.looseObject({
  objectives: listMap(objectiveSchema, ["metric"]).min(1).max(1).meta({
    description: "What is optimized.",
  }),
  searchAlgorithm: searchAlgorithmSchema.optional().meta({
    default: { random: {} },
    description: "How the values of trials are chosen.",
  }),
  parameters: listMap(parameterSchema, ["name"]).min(1).max(parameters).meta({
    description: "What is varied.",
  }),
  numTrials: int32().min(1).max(trials).optional().meta({
    default: 1,
    description: "Trials in all.",
  }),
  parallelTrials: int32().min(1).max(trials).optional().meta({
    default: 1,
    description: "Trials at a time.",
  }),
  trainJobTemplate: templateSchema.meta({ description: "The TrainJob of each trial." }),
}).meta({
  "x-kubernetes-validations": [
    {
      rule: "self == oldSelf",
      message: "OptimizationJobSpec is immutable and cannot be updated after creation",
    },
    {
      rule: "self.parallelTrials <= self.numTrials",
      message: "parallelTrials cannot exceed numTrials",
    },
    {
      rule: "!has(self.searchAlgorithm.grid) || " +
        "self.parameters.all(p, has(p.searchSpace.categorical))",
      message: "Grid search requires all parameters to be Categorical; " +
        "Uniform and LogUniform are not supported.",
    },
  ],
});
export type OptimizationJobSpec = z.infer<typeof specSchema>;

const assignmentSchema = z.looseObject({ name: shortText(), value: shortText() });
/** A parameter and the value that a trial has for it. */
export type Assignment = z.infer<typeof assignmentSchema>;

const statusSchema = z.looseObject({
  conditions: listMap(schemas.condition, ["type"]).max(100).optional(),
  result: z.looseObject({
    trainJobName: z.string().min(1).max(63),
    parameters: listMap(assignmentSchema, ["name"]).max(parameters).optional(),
  }).optional().meta({ description: "The best trial so far." }),
});
export type OptimizationJobStatus = z.infer<typeof statusSchema>;

export const optimizationJobSchema = z.looseObject({
  apiVersion: z.literal(TRAINER_API_VERSION),
  kind: z.literal("OptimizationJob"),
  metadata: schemas.objectMeta,
  spec: specSchema,
  status: statusSchema.optional(),
});
export type OptimizationJob = z.infer<typeof optimizationJobSchema>;

/** Returns the objective, with the definition's defaults. */
export function objectiveOf({ spec }: Pick<OptimizationJob, "spec">) {
  const { metric = "", direction = "Minimize" } = spec.objectives[0] ?? {};
  return { metric, direction } as const;
}
