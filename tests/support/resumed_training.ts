/** Training that is suspended and resumed, and goes on from its checkpoint: as `examples/checkpoint` has it. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { KINDS } from "../../crds/kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { TrainJob } from "../../crds/trainjob.ts";
import { jobLog } from "./job_log.ts";
import { trainJobThat } from "./standalone.ts";
import { until } from "./until.ts";

const root = new URL("../../", import.meta.url).pathname.replace(/\/$/, "");
const namespace = "default";
const WAIT_MS = 240_000;

/** The lines of the job's first pod. */
const linesOf = (client: KubeClient, name: string) => jobLog(client, name, { rank: "node-0" });

/** The number in the first line that matches. */
function stepIn(lines: readonly string[], pattern: RegExp): number {
  const found = lines.map((line) => pattern.exec(line)?.[1]).find((it) => it !== undefined);
  assert.ok(found !== undefined, `${pattern} in ${lines.join("\n")}`);
  return Number(found);
}

/** Creates the example's claim and job, suspends and resumes it, and sees that no step is lost or trained twice. */
export async function seeResumed(
  client: KubeClient,
  adapt: (job: TrainJob) => TrainJob = (job) => job,
): Promise<void> {
  const text = (await Deno.readTextFile(`${root}/examples/checkpoint/trainjob.yaml`))
    .replaceAll("/workspace", root);
  const [claim, made] = parseAllDocuments(text).map((it) => it.toJS());
  const metadata = { ...claim.metadata, namespace };
  await client.create(
    KINDS.persistentVolumeClaim,
    KINDS.persistentVolumeClaim.parse({ ...claim, metadata }),
  );
  const job = adapt(KINDS.trainJob.parse({ ...made, metadata: { ...made.metadata, namespace } }));
  const { name = "" } = job.metadata;
  await client.create(KINDS.trainJob, job);
  const suspend = (suspend: boolean) =>
    client.patch(KINDS.trainJob, { namespace, name }, {
      type: "merge",
      body: { spec: { suspend } },
    });

  await until(`${name} trains`, async () => {
    const { status } = await client.get(KINDS.trainJob, { namespace, name });
    const lines = await linesOf(client, name);
    assert.notEqual(status?.state, "Failed", lines.join("\n"));
    return (status?.trainerStatus?.progressPercentage ?? 0) >= 5;
  }, { timeoutMs: WAIT_MS, everyMs: 200 });
  await suspend(true);
  await trainJobThat(client, name, "is suspended", ({ status }) => status?.state === "Suspended");
  const first = await until("the pods are gone", async () => {
    const lines = await linesOf(client, name);
    return lines.some((line) => line.includes("saved step")) ? lines : undefined;
  });
  assert.equal(stepIn(first, /begins after step (\d+)/), 0);
  const saved = stepIn(first, /saved step (\d+), and ends/);
  assert.ok(saved > 0);

  await suspend(false);
  let last = "";
  await until(`${name} completes`, async () => {
    const { status } = await client.get(KINDS.trainJob, { namespace, name });
    const isDone = status?.state === "Complete" && status.trainerStatus?.progressPercentage === 100;
    last = `${JSON.stringify(status)}\n${(await linesOf(client, name)).join("\n")}`;
    return isDone;
  }, { timeoutMs: WAIT_MS, everyMs: 200 }).catch((error) => {
    throw new Error(`${error}\n${last}`);
  });
  const second = await linesOf(client, name);
  assert.equal(stepIn(second, /begins after step (\d+)/), saved);
  assert.equal(stepIn(second, /done at step (\d+)/), 2000);
}
