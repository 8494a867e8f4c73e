/** OptimizationJobs that a definition admits or refuses, and changes of them. */
import type { Manifest } from "../manifest.ts";
import { jobPatch, runtimePatch } from "../sketches.ts";

/** Changes of an object: values by their paths; undefined takes a field away. */
export type Changes = Readonly<Record<string, unknown>>;

/** What is done with one object. */
export interface DefinitionCase {
  /** Changes of the {@link SEARCH} that is made; with no step after it, its answer is the case's. */
  readonly make?: Changes;
  /** A merge patch of the made object, or of its status. */
  readonly patch?: { readonly body: unknown; readonly subresource?: "status" };
}

/** The object that cases change. */
export const SEARCH = {
  apiVersion: "trainer.kubeflow.org/v1alpha1",
  kind: "OptimizationJob",
  metadata: { name: "search" },
  spec: {
    objectives: [{ metric: "loss" }],
    parameters: [{
      name: "lr",
      searchSpace: { categorical: { choices: ["0.1", "0.2"] } },
    }],
    trainJobTemplate: { spec: { runtimeRef: { name: "plain" } } },
  },
} satisfies Manifest;

const SPACE = "spec.parameters.0.searchSpace";
const range = (min: unknown, max: unknown, type?: string) => ({
  min,
  max,
  ...(type !== undefined && { type }),
});
const uniform = (min: unknown, max: unknown, type?: string): Changes => ({
  [SPACE]: { uniform: range(min, max, type) },
});
const many = <T>(count: number, of: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => of(index));
const choices = (values: readonly unknown[]): Changes => ({
  [SPACE]: { categorical: { choices: values } },
});
const parameters = (count: number): Changes => ({
  "spec.parameters": many(count, (it) => ({
    name: `p${it}`,
    searchSpace: { categorical: { choices: ["a"] } },
  })),
});
const status = (body: unknown) => ({ body: { status: body }, subresource: "status" as const });
const spec = (body: unknown) => ({ body: { spec: body } });
const condition = {
  type: "Created",
  status: "True",
  reason: "OptimizationJobCreated",
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
};

export const OPTIMIZATION_JOBS: Readonly<Record<string, DefinitionCase>> = {
  "defaults": {
    make: { [SPACE]: { uniform: range("0", "1") } },
  },
  "fields that no definition has": {
    make: {
      "spec.pruneAlgorithm": { median: {} },
      "spec.searchAlgorithm": { random: { randomState: 42 } },
    },
  },
  "metadata of a template": {
    make: {
      "spec.trainJobTemplate.metadata": {
        labels: { team: "a" },
        annotations: { note: "b" },
        generateName: "c-",
      },
    },
  },
  "no spec": { make: { spec: undefined } },
  "no objective": { make: { "spec.objectives": [] } },
  "two objectives": {
    make: { "spec.objectives": [{ metric: "loss" }, { metric: "accuracy" }] },
  },
  "an objective without a metric": { make: { "spec.objectives": [{}] } },
  "an empty metric": { make: { "spec.objectives": [{ metric: "" }] } },
  "a metric of 65 characters": {
    make: { "spec.objectives": [{ metric: "m".repeat(65) }] },
  },
  "a direction in lower case": {
    make: { "spec.objectives": [{ metric: "loss", direction: "minimize" }] },
  },
  "random with a seed": {
    make: { "spec.searchAlgorithm": { random: { seed: 9007199254740991 } } },
  },
  "a seed that is no integer": {
    make: { "spec.searchAlgorithm": { random: { seed: 0.5 } } },
  },
  "no algorithm by name": { make: { "spec.searchAlgorithm": {} } },
  "two algorithms": { make: { "spec.searchAlgorithm": { random: {}, grid: {} } } },
  "a grid of choices": { make: { "spec.searchAlgorithm": { grid: {} } } },
  "a grid of a range": {
    make: { ...uniform("0", "1"), "spec.searchAlgorithm": { grid: {} } },
  },
  "no parameters": { make: { "spec.parameters": [] } },
  "100 parameters": { make: parameters(100) },
  "101 parameters": { make: parameters(101) },
  "two parameters of one name": {
    make: {
      "spec.parameters": many(
        2,
        () => ({ name: "a", searchSpace: { categorical: { choices: ["a"] } } }),
      ),
    },
  },
  "a parameter whose name is no variable": { make: { "spec.parameters.0.name": "a b/c" } },
  "a parameter of 65 characters": {
    make: { "spec.parameters.0.name": "p".repeat(65) },
  },
  "a parameter without a space": { make: { [SPACE]: undefined } },
  "an empty space": { make: { [SPACE]: {} } },
  "two spaces": {
    make: { [SPACE]: { uniform: range("0", "1"), categorical: { choices: ["a"] } } },
  },
  "min above max": { make: uniform("1", "0") },
  "min equal to max": { make: uniform("1", "1.0") },
  "bounds with exponents": { make: uniform("-1e-3", "1E+2", "Int") },
  "a bound that is a number": { make: uniform(0, "1") },
  "a bound with a plus": { make: uniform("+0", "1") },
  "a bound without a whole part": { make: uniform("0", ".5") },
  "a bound with a leading zero": { make: uniform("0", "01") },
  "an infinite bound": { make: uniform("0", "inf") },
  "no max": { make: { [SPACE]: { uniform: { min: "0" } } } },
  "a type that is none": { make: uniform("0", "1", "Double") },
  "integers with fractional bounds": { make: uniform("0.2", "0.8", "Int") },
  "a log of 0": { make: { [SPACE]: { logUniform: range("0", "1") } } },
  "a log with min above max": { make: { [SPACE]: { logUniform: range("2", "1") } } },
  "a log": { make: { [SPACE]: { logUniform: range("1e-5", "1e-1") } } },
  "no choice": { make: choices([]) },
  "an empty choice": { make: choices([""]) },
  "100 choices": { make: choices(many(100, String)) },
  "101 choices": { make: choices(many(101, String)) },
  "a choice of 65 characters": { make: choices(["c".repeat(65)]) },
  "a choice that is a number": { make: choices([0.1]) },
  "one choice twice": { make: choices(["a", "a"]) },
  "no trials": { make: { "spec.numTrials": 0 } },
  "101 trials": { make: { "spec.numTrials": 101 } },
  "more trials at a time than in all": {
    make: { "spec.numTrials": 2, "spec.parallelTrials": 3 },
  },
  "100 trials at a time": {
    make: { "spec.numTrials": 100, "spec.parallelTrials": 100 },
  },
  "a template with a name": {
    make: { "spec.trainJobTemplate.metadata": { name: "a" } },
  },
  "a template with a namespace": {
    make: { "spec.trainJobTemplate.metadata": { namespace: "a" } },
  },
  "a template without a spec": { make: { "spec.trainJobTemplate": {} } },
  "a template without a runtime": { make: { "spec.trainJobTemplate.spec": {} } },
  "a template with a deadline of 0": {
    make: { "spec.trainJobTemplate.spec.activeDeadlineSeconds": 0 },
  },
  "a template that another controller runs": {
    make: { "spec.trainJobTemplate.spec.managedBy": "example.com/other" },
  },
  "a template that mounts a volume twice": {
    make: {
      "spec.trainJobTemplate.spec.runtimePatches": [
        runtimePatch("example.com/me", [
          jobPatch("node", {
            containers: [{
              name: "node",
              volumeMounts: many(2, (it) => ({ name: "data", mountPath: `/${it}` })),
            }],
          }),
        ]),
      ],
    },
  },
  "a reference to a Secret without a name": {
    make: {
      "spec.trainJobTemplate.spec.trainer": {
        env: [{ name: "A", valueFrom: { secretKeyRef: { key: "k" } } }],
      },
    },
  },
  "a change of the spec": { patch: spec({ numTrials: 2 }) },
  "a change of the template": {
    patch: spec({ trainJobTemplate: { spec: { suspend: true } } }),
  },
  "a change of annotations": {
    patch: { body: { metadata: { annotations: { note: "a" } } } },
  },
  "a status beside the spec": {
    patch: { body: { status: { result: { trainJobName: "a" } } } },
  },
  "a result": {
    patch: status({
      result: { trainJobName: "a", parameters: [{ name: "lr", value: "1" }] },
      conditions: [condition],
    }),
  },
  "a spec beside the status": {
    patch: { body: { spec: { numTrials: 2 } }, subresource: "status" },
  },
  "a result without a job": { patch: status({ result: {} }) },
  "a result of a job with a long name": {
    patch: status({ result: { trainJobName: "a".repeat(64) } }),
  },
  "a result with an empty value": {
    patch: status({ result: { trainJobName: "a", parameters: [{ name: "lr", value: "" }] } }),
  },
  "two conditions of one type": {
    patch: status({ conditions: [condition, condition] }),
  },
  "a condition without a reason": {
    patch: status({ conditions: [{ ...condition, reason: "" }] }),
  },
  "a condition of another status": {
    patch: status({ conditions: [{ ...condition, status: "Maybe" }] }),
  },
};
