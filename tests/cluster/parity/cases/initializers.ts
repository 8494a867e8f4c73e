/** Initializers of datasets and models. */
import type { CaseTable } from "../case.ts";
import {
  container,
  type Fields,
  INITIALIZER_MOUNT,
  initializerJob,
  job,
  jobPatch,
  node,
  renders,
  runtimePatch,
  torch,
  trainJob,
} from "../sketches.ts";

const dataset = (own: Fields = {}) => initializerJob("dataset-initializer", own);
const model = (own: Fields = {}) => initializerJob("model-initializer", own);
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
    torch({
      jobs: [initializerJob("dataset-initializer", {}, { job: { parallelism: 2 } }), node()],
    }),
  ),
  "a dataset if the runtime has no initializer": on([node()], {
    dataset: { storageUri: "hf://a/b" },
  }),
  "a model if the runtime has no initializer": on([node()], {
    model: { storageUri: "hf://a/b" },
  }),
  "an initializer's job without its container": on(
    [job("dataset-initializer", { containers: [container("other", INITIALIZER_MOUNT)] }), node()],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an initializer's container without its mount": on(
    [job("dataset-initializer", { step: "dataset-initializer" }), node()],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an initializer's job of another name": on(
    [{ ...dataset(), name: "prepare" }, node()],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an initializer's job without its label": on(
    [
      job("dataset-initializer", {
        containers: [container("dataset-initializer", INITIALIZER_MOUNT)],
        pod: { volumes: [{ name: "initializer", emptyDir: {} }] },
      }),
      node(),
    ],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "two jobs of the dataset initializer": on(
    [dataset(), { ...dataset({ env: [{ name: "A", value: "1" }] }), name: "more-data" }, node()],
    { dataset: { storageUri: "hf://a/b", secretRef: { name: "token" } } },
  ),
  "a container beside that of an initializer": on(
    [
      initializerJob("dataset-initializer", {}, {
        containers: [container("side"), container("dataset-initializer", INITIALIZER_MOUNT)],
      }),
      node(),
    ],
    { dataset: { storageUri: "hf://a/b" } },
  ),
  "an initializer whose mount a patch adds": renders(
    torch({
      jobs: [
        initializerJob("dataset-initializer", {}, {
          containers: [container("dataset-initializer")],
        }),
        node(),
      ],
    }),
    trainJob({
      initializer: { dataset: { storageUri: "hf://a/b" } },
      runtimePatches: [runtimePatch("example.com/me", [
        jobPatch("dataset-initializer", {
          containers: [{ name: "dataset-initializer", ...INITIALIZER_MOUNT }],
        }),
      ])],
    }),
  ),
  "a secret that envFrom of the runtime has already": on(
    [dataset({ envFrom: [{ secretRef: { name: "token" } }] }), node()],
    { dataset: { secretRef: { name: "token" } } },
  ),
  "steps and jobs that are none, in a chain": on(
    [
      model(),
      dataset(),
      job("check", { more: { dependsOn: [complete("model-initializer")] } }),
      node({ more: { dependsOn: [complete("check"), complete("dataset-initializer")] } }),
      job("evaluate", { more: { dependsOn: [{ name: "node", status: "Ready" }] } }),
    ],
    { dataset: { storageUri: "hf://a/b" }, model: { storageUri: "hf://c/d" } },
    { numNodes: 3, image: "example.com/mine:2", args: ["x"] },
  ),
  "an invalid URI": on(both, { dataset: { storageUri: "alpaca" } }),
};
