/** Tests of the real SDK of the Training Operator, kubeflow-training, against `standalone`. */
import assert from "node:assert/strict";
import { z } from "zod";
import { isNotFound } from "../../platform/kube/errors.ts";
import { V1_KINDS } from "../../crds/v1/kinds.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { run } from "../support/command.ts";
import { pythonEnvironment } from "../support/python_environment.ts";
import { withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";

const session = new URL("./training_sdk_session.py", import.meta.url).pathname;

const reportSchema = z.object({
  kind: z.enum(["TFJob", "PyTorchJob", "XGBoostJob", "MPIJob", "PaddleJob", "JAXJob"]),
  created: z.string(),
  ended: z.string(),
  conditions: z.record(z.string(), z.string()),
  is: z.array(z.boolean()),
  got: z.string(),
  listed: z.array(z.string()),
  pods: z.array(z.string()),
  workers: z.array(z.string()),
  masters: z.array(z.string()),
  logs: z.record(z.string(), z.string()),
  followed: z.record(z.string(), z.string()),
  labels: z.record(z.string(), z.string()),
  events: z.array(z.string()),
});
type Report = z.infer<typeof reportSchema>;

/** Pods of each kind by their ends: all of them, and the one that speaks for the job. */
const PODS: Readonly<Record<Report["kind"], readonly [all: readonly string[], master: string]>> = {
  TFJob: [["worker-0", "worker-1"], "worker-0"],
  PyTorchJob: [["master-0", "worker-0"], "master-0"],
  XGBoostJob: [["master-0", "worker-0"], "master-0"],
  MPIJob: [["launcher"], "launcher"],
  PaddleJob: [["worker-0", "worker-1"], ""],
  JAXJob: [["worker-0", "worker-1"], "worker-0"],
};

function check(report: Report): void {
  const { kind, conditions, logs, followed } = report;
  const name = `sdk-${kind.toLowerCase()}`;
  const [all, master] = PODS[kind];
  const masters = master === "" ? [] : [`${name}-${master}`];
  assert.deepEqual([report.created, report.ended, report.got], [name, name, name]);
  assert.deepEqual(report.listed, [name]);
  assert.equal(conditions.Created, "True");
  assert.equal(conditions.Succeeded, "True");
  assert.notEqual(conditions.Running, "True");
  assert.deepEqual(report.is, [true, false, false, true, false]);
  assert.deepEqual(report.labels, { seen: "yes" });
  assert.deepEqual(report.pods, all.map((it) => `${name}-${it}`));
  assert.deepEqual(report.workers, report.pods.filter((it) => it.includes("-worker-")));
  assert.deepEqual(report.masters, masters);
  assert.deepEqual(Object.keys(logs), masters);
  assert.deepEqual(Object.keys(followed), masters);
  assert.ok(report.events.some((it) => it.includes(name)), String(report.events));
  for (const text of [...Object.values(logs), ...Object.values(followed)]) {
    assert.match(text, new RegExp(`trained by ${kind}`));
  }
}

Deno.test("the SDK kubeflow-training creates, waits for, updates, reads and deletes a job of each kind", async () => {
  const python = await pythonEnvironment("kubeflow-training==1.9.0", "kubernetes==35.0.0");
  if ("missing" in python) {
    // deno-lint-ignore no-console -- a word to whoever runs the tests
    console.log(`the SDK's test is skipped: ${python.missing}`);
    return;
  }
  await withStandalone(async ({ client, kubeconfig, folder }) => {
    const { code, stdout, stderr } = await run(`${python.bin}/python`, {
      args: [session],
      env: { KUBECONFIG: kubeconfig, HOME: folder, PYTHONWARNINGS: "ignore" },
      timeoutMs: 300_000,
    });
    assert.equal(code, 0, stderr);
    const reports = stdout.trim().split("\n").filter((line) => line.startsWith("{"))
      .map((line) => reportSchema.parse(JSON.parse(line)));
    assert.equal(reports.length, Object.keys(PODS).length);
    for (const report of reports) {
      check(report);
      const key = { namespace: "default", name: report.got };
      await until(`${V1_KINDS[report.kind].kind} ${report.got} is gone`, async () => {
        try {
          await client.get(V1_RESOURCES[report.kind], key);
          return false;
        } catch (error) {
          if (isNotFound(error)) return true;
          throw error;
        }
      });
    }
  });
});
