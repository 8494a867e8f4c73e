/** Initializers of datasets and models. */
import type { CaseTable } from "../case.ts";
import { container, type Fields, job, node, renders, torch, trainJob } from "../sketches.ts";

const mount = { volumeMounts: [{ name: "initializer", mountPath: "/workspace" }] };

function initializer(
  step: "dataset-initializer" | "model-initializer",
  own: Fields = {},
  more: Fields = {},
): Fields {
  return job(step, {
    step,
    containers: [container(step, { ...mount, ...own })],
    pod: { volumes: [{ name: "initializer", emptyDir: {} }] },
    ...more,
  });
}

const dataset = (own: Fields = {}) => initializer("dataset-initializer", own);
const model = (own: Fields = {}) => initializer("model-initializer", own);
const complete = (name: string) => ({ name, status: "Complete" });
const waiting = node({
  more: { dependsOn: [complete("dataset-initializer"), complete("model-initializer")] },
});
const both = [dataset(), model(), waiting];

const on = (jobs: readonly Fields[], wants: Fields, trainer?: Fields) =>
  renders(
    torch({ jobs }),
    trainJob({ initializer: wants, ...trainer === undefined ? {} : { trainer } }),
  );
const own = (jobs: readonly Fields[], env: readonly Fields[]) =>
  on(jobs, { dataset: { storageUri: "hf://a/b", env } });

/** See above. */
export const INITIALIZERS: CaseTable = {
  "a runtime with initializers, a TrainJob without": renders(torch({ jobs: both })),
  "a dataset by its URI": on(both, { dataset: { storageUri: "hf://tatsu-lab/alpaca" } }),
  "a model by its URI": on(both, { model: { storageUri: "s3://bucket/model" } }),
  "dataset and model": on(both, {
    dataset: { storageUri: "hf://a/b" },
    model: { storageUri: "hf://c/d" },
  }, { numNodes: 2 }),
  "an initializer without a URI": on(both, { dataset: {} }),
  "an initializer with an empty URI": on(both, { dataset: { storageUri: "" } }),
  "the URI replaces the runtime's": own(
    [dataset({ env: [{ name: "STORAGE_URI", value: "hf://x/y" }, { name: "A", value: "1" }] })],
    [{ name: "B", value: "2" }],
  ),
  "env of an initializer replaces and appends": own(
    [dataset({ env: [{ name: "A", value: "1" }] }), node()],
    [{ name: "A", value: "one" }, { name: "IGNORE_PATTERNS", value: "*.bin" }],
  ),
  "env of an initializer wins over its URI": own(
    [dataset(), node()],
    [{ name: "STORAGE_URI", value: "hf://other/one" }],
  ),
  "a secret of an initializer": on(both, {
    dataset: { storageUri: "hf://a/b", secretRef: { name: "token" } },
    model: { storageUri: "hf://c/d", secretRef: { name: "other" } },
  }),
  "a secret beside envFrom of the runtime": on(
    [dataset({ envFrom: [{ configMapRef: { name: "c" } }] }), node()],
    { dataset: { storageUri: "hf://a/b", secretRef: { name: "token" } } },
  ),
  "replicas of an initializer become 1": renders(
    torch({ jobs: [initializer("dataset-initializer", {}, { job: { parallelism: 2 } }), node()] }),
  ),
  "a dataset if the runtime has no initializer": on([node()], {
    dataset: { storageUri: "hf://a/b" },
  }),
  "a model if the runtime has no initializer": on([node()], {
    model: { storageUri: "hf://a/b" },
  }),
  "an initializer's job without its container": on(
    [job("dataset-initializer", { containers: [container("other", mount)] }), node()],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an initializer's container without its mount": on(
    [job("dataset-initializer", { step: "dataset-initializer" }), node()],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an invalid URI": on(both, { dataset: { storageUri: "alpaca" } }),
};
