/** Searches that tests build. */
import { optimizationJobSchema } from "../../../crds/optimization_job.ts";
import { TRAINER_API_VERSION } from "../../../crds/names.ts";

/** A parameter as a few words: `lr uniform 0 1`, `n logUniform 1 8 Int`, `opt categorical a b`. */
export function parameter(text: string) {
  const [name = "", kind = "", ...rest] = text.split(" ");
  if (kind === "categorical") return { name, searchSpace: { categorical: { choices: rest } } };
  const [min, max, type = "Float"] = rest;
  return { name, searchSpace: { [kind]: { min, max, type } } };
}

/** What a test says of a search. */
export interface SearchParts {
  readonly name?: string;
  readonly uid?: string;
  readonly parameters?: readonly string[];
  readonly spec?: Record<string, unknown>;
  readonly metadata?: Record<string, unknown>;
  readonly template?: Record<string, unknown>;
  readonly status?: Record<string, unknown>;
}

/** A search of one parameter. */
export function optimizationJob({
  name = "digits",
  uid = "01234567-89ab-4cde-8f01-23456789abcd",
  parameters = ["lr uniform 0 1"],
  spec,
  metadata,
  template,
  status,
}: SearchParts = {}) {
  return optimizationJobSchema.parse({
    apiVersion: TRAINER_API_VERSION,
    kind: "OptimizationJob",
    metadata: { name, namespace: "ns", uid, ...metadata },
    spec: {
      objectives: [{ metric: "loss", direction: "Minimize" }],
      parameters: parameters.map(parameter),
      numTrials: 4,
      parallelTrials: 2,
      trainJobTemplate: { spec: { runtimeRef: { name: "torch" } }, ...template },
      ...spec,
    },
    ...(status && { status }),
  });
}
