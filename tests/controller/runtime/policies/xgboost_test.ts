/** Tests of `controller/runtime/policies/xgboost.ts`. */
import { deepEqual, equal } from "node:assert/strict";
import type { Trainer } from "../../../../crds/trainjob.ts";
import type { Container } from "../../../../platform/kube/kubernetes.ts";
import { trainJobProblems } from "../../../../controller/runtime/validation.ts";
import { nodeJob, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { containerOf, envOf, INDEX, problemsOf, rendered, runtimeOf } from "./rendering.ts";

const XGBOOST = { numNodes: 1, xgboost: {} };
const VARIABLES = (workers: string, host = "tj-node-0-0.tj") => [
  ["DMLC_TRACKER_URI", host],
  ["DMLC_TRACKER_PORT", "29500"],
  ["DMLC_TASK_ID", INDEX],
  ["DMLC_NUM_WORKER", workers],
];

const limits = (gpus: string) => ({ limits: { "nvidia.com/gpu": gpus } });
const WORKERS: Record<string, { trainer?: Trainer; node?: Partial<Container>; want: string }> = {
  "one for each node": { trainer: { numNodes: 3 }, want: "3" },
  "one without a trainer in the TrainJob (G4)": { want: "1" },
  "one for each GPU of the TrainJob": {
    trainer: { numNodes: 2, resourcesPerNode: limits("4") },
    want: "8",
  },
  "one for each GPU of the runtime": {
    trainer: { numNodes: 2 },
    node: { resources: limits("2") },
    want: "4",
  },
  "one for each GPU of the merged resources (G8)": {
    trainer: { resourcesPerNode: { requests: { cpu: "4" } } },
    node: { resources: limits("2") },
    want: "2",
  },
  "one for each node with no GPU by number": {
    trainer: { resourcesPerNode: limits("0") },
    want: "1",
  },
  "none of no nodes, as upstream": { trainer: { numNodes: 0 }, want: "0" },
};

for (const [what, { trainer, node, want }] of Object.entries(WORKERS)) {
  Deno.test(`xgboost counts ${what}`, () => {
    const job = trainJob(trainer && { trainer });
    deepEqual(
      envOf(containerOf(rendered(runtimeOf(XGBOOST, [nodeJob(node)]), job))),
      VARIABLES(want),
    );
  });
}

Deno.test("xgboost finds the tracker by the trainer's job and the subdomain (G5)", () => {
  const from = runtime({ mlPolicy: XGBOOST }, {
    replicatedJobs: [replicatedJob("boost", "trainer")],
    network: { subdomain: "sub" },
  });
  const node = containerOf(rendered(from), "boost");
  deepEqual(envOf(node), VARIABLES("1", "tj-boost-0-0.sub"));
  deepEqual(node?.ports, [{ containerPort: 29500 }]);
});

Deno.test("xgboost refuses each of its variables by its index, in upstream's words", () => {
  const env = ["A", "DMLC_TASK_ID", "DMLC_OTHER", "DMLC_NUM_WORKER"]
    .map((name) => ({ name, value: "1" }));
  const job = trainJob({ trainer: { env } });
  equal(
    problemsOf(runtimeOf(XGBOOST), job),
    "spec.trainer.env[1]: DMLC_TASK_ID is reserved for the XGBoost runtime; " +
      "spec.trainer.env[3]: DMLC_NUM_WORKER is reserved for the XGBoost runtime",
  );
  const input = { trainJob: job, runtime: runtimeOf(XGBOOST), executor: "builtin" } as const;
  deepEqual(trainJobProblems(input).map(({ reason }) => reason), [
    "FieldValueForbidden",
    "FieldValueForbidden",
  ]);
});
