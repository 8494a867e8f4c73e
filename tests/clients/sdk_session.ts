/** Session of the real Kubeflow SDK, with its expected results on any control plane. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { isNotFound } from "../../platform/kube/errors.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { shellRuntime, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";

const session = new URL("./sdk_session.py", import.meta.url).pathname;
/** The Python client, which reads what the SDK's TrainJob does not have. */
const SOURCES = new URL("../../clients/python/src", import.meta.url).pathname;

const report = z.object({
  runtimes: z.array(z.string()),
  name: z.string(),
  waited: z.string(),
  status: z.string(),
  steps: z.array(z.tuple([z.string(), z.string()])),
  logs: z.array(z.string()),
  followed: z.array(z.string()),
  events: z.array(z.string()),
  jobs: z.array(z.string()),
});

/** A runtime whose pods find the same Python as the client. */
function sdkRuntime(bin: string) {
  const runtime = shellRuntime("sdk", "true");
  const container = runtime.spec?.template.spec?.replicatedJobs?.[0]?.template.spec?.template.spec
    ?.containers[0];
  if (container === undefined) throw new Error("the runtime has no container");
  container.env = [{ name: "PATH", value: `${bin}:/usr/local/bin:/usr/bin:/bin` }];
  return runtime;
}

/** The session's process: its first line, a function that continues it, and its end. */
function startSession(bin: string, kubeconfig: string, home: string) {
  const child = new Deno.Command(`${bin}/python`, {
    args: [session],
    env: {
      KUBECONFIG: kubeconfig,
      HOME: home,
      PYTHONDONTWRITEBYTECODE: "1",
      PYTHONPATH: SOURCES,
      PYTHONWARNINGS: "ignore",
    },
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let output = "";
  let errors = "";
  const collect = async (stream: ReadableStream<Uint8Array>, take: (text: string) => void) => {
    for await (const part of stream.pipeThrough(new TextDecoderStream())) take(part);
  };
  const reading = Promise.all([
    collect(child.stdout, (text) => output += text),
    collect(child.stderr, (text) => errors += text),
  ]);
  return {
    line: () => output.split("\n").find((it) => it.startsWith("{") && it.endsWith("}")),
    output: () => output,
    errors: () => errors,
    async goOn(): Promise<number> {
      const writer = child.stdin.getWriter();
      await writer.write(new TextEncoder().encode("\n"));
      await writer.close();
      const { code } = await child.status;
      await reading;
      return code;
    },
    async kill(): Promise<void> {
      try {
        child.kill("SIGKILL");
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
      await child.status;
      await reading;
      if (!child.stdin.locked) await child.stdin.close().catch(() => undefined);
    },
  };
}

/** Control plane of the session. */
export interface SdkSession {
  /** As the administrator. */
  readonly client: KubeClient;
  readonly kubeconfig: string;
  /** A folder of the test, the session's home. */
  readonly home: string;
  /** Folder of the Python with the SDK. */
  readonly bin: string;
  /** Runtimes that are there before the session. */
  readonly runtimes?: readonly string[];
}

/** Trains, reports, waits, reads logs and deletes with the SDK; throws where something is not so. */
export async function checkSdkSession(where: SdkSession): Promise<void> {
  const { client, kubeconfig, home, bin, runtimes = [] } = where;
  await client.create(KINDS.clusterTrainingRuntime, sdkRuntime(bin));
  const sdk = startSession(bin, kubeconfig, home);
  try {
    const line = await until("the SDK's report", () => {
      if (/Traceback/.test(sdk.errors())) throw new Error(sdk.errors());
      return sdk.line();
    }, { timeoutMs: 120_000 });
    const seen = report.parse(JSON.parse(line));
    assert.deepEqual(seen.runtimes, ["sdk", ...runtimes].sort());
    assert.equal(seen.waited, "Complete");
    assert.equal(seen.status, "Complete");
    assert.deepEqual(seen.steps, [["node-0", "Succeeded"]]);
    assert.deepEqual(seen.logs.join("\n").split("\n").filter((it) => it !== ""), [
      "training",
      "progress taken: True",
    ]);
    assert.match(seen.followed.join("\n"), /training/);
    assert.deepEqual(seen.jobs, [seen.name]);
    assert.ok(seen.events.length > 0, "the SDK saw no event");
    const shown = await trainJobThat(
      client,
      seen.name,
      "shows what the SDK pushed",
      (job) => job.status?.trainerStatus?.progressPercentage === 100,
    );
    assert.deepEqual(shown.status?.trainerStatus?.metrics, [{ name: "loss", value: "0.25" }]);
    assert.equal(await sdk.goOn(), 0, sdk.errors());
    assert.match(sdk.output(), /^shown: Complete \[\{'name': 'loss', 'value': '0.25'\}\]$/m);
    assert.match(sdk.output(), /^deleted$/m);
    await until("the job is gone", async () => {
      try {
        await client.get(KINDS.trainJob, { namespace: "default", name: seen.name });
        return false;
      } catch (error) {
        return isNotFound(error);
      }
    });
  } finally {
    await sdk.kill();
  }
}
