/** Tests of `controller/runtime/policies/jax.ts`. */
import { deepEqual, equal } from "node:assert/strict";
import { nodeJob, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { containerOf, envOf, INDEX, rendered, runtimeOf } from "./rendering.ts";

const JAX = { numNodes: 1, jax: {} };
const VARIABLES = (nodes: string, host = "tj-node-0-0.tj") => [
  ["JAX_NUM_PROCESSES", nodes],
  ["JAX_PROCESS_ID", INDEX],
  ["JAX_COORDINATOR_ADDRESS", `${host}:29500`],
];

const CASES: Record<string, { got: ReturnType<typeof rendered>; want: unknown }> = {
  "of the example of the documentation": {
    got: rendered(runtimeOf(JAX), trainJob({ trainer: { numNodes: 3 } })),
    want: VARIABLES("3"),
  },
  "without a trainer in the TrainJob (G4)": {
    got: rendered(runtimeOf({ numNodes: 2, jax: {} })),
    want: VARIABLES("2"),
  },
  "before those of the TrainJob, which may refer to them": {
    got: rendered(
      runtimeOf(JAX, [nodeJob({ env: [{ name: "A", value: "1" }] })]),
      trainJob({ trainer: { env: [{ name: "RANK", value: "$(JAX_PROCESS_ID)" }] } }),
    ),
    want: [["A", "1"], ...VARIABLES("1"), ["RANK", "$(JAX_PROCESS_ID)"]],
  },
  "unless the TrainJob sets them, as upstream": {
    got: rendered(
      runtimeOf(JAX),
      trainJob({ trainer: { env: [{ name: "JAX_PROCESS_ID", value: "7" }] } }),
    ),
    want: VARIABLES("1").map(([name, value]) => [name, name === "JAX_PROCESS_ID" ? "7" : value]),
  },
  "in place of those of the runtime": {
    got: rendered(
      runtimeOf(JAX, [nodeJob({ env: [{ name: "JAX_NUM_PROCESSES", value: "9" }] })]),
    ),
    want: VARIABLES("1"),
  },
  "with zero processes of no nodes, as upstream": {
    got: rendered(runtimeOf(JAX), trainJob({ trainer: { numNodes: 0 } })),
    want: VARIABLES("0"),
  },
};

for (const [sentence, { got, want }] of Object.entries(CASES)) {
  Deno.test(`jax sets its variables ${sentence}`, () => deepEqual(envOf(containerOf(got)), want));
}

Deno.test("jax finds the coordinator by the trainer's job and the subdomain (G5)", () => {
  const from = runtime({ mlPolicy: JAX }, {
    replicatedJobs: [replicatedJob("worker", "trainer")],
    network: { subdomain: "sub" },
  });
  deepEqual(
    envOf(containerOf(rendered(from), "worker")),
    VARIABLES("1", "tj-worker-0-0.sub"),
  );
});

Deno.test("jax declares its port once, and leaves other containers alone", () => {
  const job = nodeJob({ ports: [{ containerPort: 8080 }] });
  job.template.spec?.template.spec?.containers.push({ name: "side" });
  const jobSet = rendered(runtimeOf(JAX, [job]));
  deepEqual(containerOf(jobSet)?.ports, [{ containerPort: 8080 }, { containerPort: 29500 }]);
  equal(containerOf(jobSet, "node", "side")?.env, undefined);
});
