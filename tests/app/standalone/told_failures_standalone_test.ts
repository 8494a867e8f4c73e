/** Test of what jobs say of their failures, from the pod's process to the status. */
import { equal, match } from "node:assert/strict";
import type { JobFailure } from "../../../crds/job_failure.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import type { TrainJob } from "../../../crds/trainjob.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const PROGRAM =
  `python3 -c 'import time; time.sleep(0.2); print("\\033[31mred\\033[0m"); import tochr'`;
const HEADLINE = "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'";
/** From the crash of a pod to the headline of its job, at most. */
const SOON_MS = 5_000;

const shared = shareStandalone(async (client) => {
  const again = { restartPolicy: "OnFailure", backoffLimit: 9 };
  for (
    const runtime of [
      shellRuntime("once", PROGRAM),
      shellRuntime("again", "exit 7", again),
      shellRuntime("word", "echo because > /dev/termination-log; echo other; exit 4"),
    ]
  ) await client.create(KINDS.clusterTrainingRuntime, runtime);
});

async function jobThat(
  runtime: string,
  is: (failure: JobFailure) => boolean,
  { name = runtime, annotations = {} } = {},
): Promise<{ readonly failure: JobFailure; readonly job: TrainJob }> {
  const { client } = shared();
  await client.create(KINDS.trainJob, trainJob(name, runtime, { annotations }));
  const job = await trainJobThat(
    client,
    name,
    "says why it fails",
    ({ status }) => status?.failure !== undefined && is(status.failure),
  );
  return { job, failure: job.status?.failure ?? { time: "" } };
}

Deno.test("a program that ends with a traceback is the headline of its job, soon", async () => {
  const { failure, job } = await jobThat("once", () => true);
  equal(failure.headline, HEADLINE);
  match(failure.message ?? "", /^Traceback[^]*red$|^red\nTraceback/);
  equal(failure.exitCode, 1);
  const failed = job.status?.conditions?.find(({ type }) => type === "Failed");
  match(failed?.message ?? "", /^jobset failed due to one or more job failures/);
  const toldMs = Date.parse(failed?.lastTransitionTime ?? "") - Date.parse(failure.time);
  equal(toldMs <= SOON_MS, true, `${toldMs} ms`);
  const told = await until("the failure has an event", async () => {
    const { items } = await shared().client.list(KINDS.event, { namespace: "default" });
    const own = items.filter(({ involvedObject, reason }) =>
      involvedObject?.name === "once" && involvedObject.kind === "TrainJob" && reason === "Failed"
    );
    return own.length > 0 ? own.map(({ message = "" }) => message) : undefined;
  });
  equal(told.length, 1);
  equal(told[0]?.includes(`first failure: ${HEADLINE} (pod "once-node-0-0-`), true, told[0] ?? "");
});

Deno.test("what a program leaves in its termination message goes before its log", async () => {
  const { failure } = await jobThat("word", () => true);
  equal(failure.headline, "node-0 exited 4: because");
});

Deno.test("a job that may not have the words of its program has none", async () => {
  const annotations = { [ANNOTATIONS.failureMessage]: "off" };
  const { failure } = await jobThat("once", () => true, { name: "quiet", annotations });
  equal(failure.headline, "node-0 exited 1");
  equal(failure.message, undefined);
  const { items } = await shared().client.list(KINDS.pod, { namespace: "default" });
  const pod = items.find(({ metadata }) => metadata?.name?.startsWith("quiet-"));
  equal(pod?.spec?.containers[0]?.terminationMessagePolicy, "File");
});

Deno.test("a pod that is started again and again is told while its job runs", async () => {
  const { failure, job } = await jobThat("again", ({ restarts = 0 }) => restarts >= 2);
  equal(failure.headline, "node-0 exited 7");
  equal(job.status?.state, "Running");
  equal(failure.restartLimit, 9);
});
