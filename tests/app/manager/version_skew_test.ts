/** Test of the previous version beside this one, each leading in turn, over a log that the previous one began. */
import assert from "node:assert/strict";
import { z } from "zod";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, CA_KEY, MANAGER } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { freePort } from "../../support/free_port.ts";
import { observer } from "../../support/observer.ts";
import { shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { type ManagerProcess, startManagerProcess } from "./manager_process.ts";
import { previousBundle } from "./previous_bundle.ts";
import { pusher, showsProgress } from "./replicas.ts";
import { startLog, writeCertificates } from "../trials/shared_log.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

const BUNDLED = ["run", "-A", "--cached-only", "--no-config", "--no-lock"];
const NEVER_MET = JSON.stringify({
  objective: { name: "loss", type: "minimize" },
  rules: [{ name: "loss", value: "99", comparison: "greater" }],
});
const observationSchema = z.looseObject({
  log: z.array(z.looseObject({ value: z.string() })),
});

async function caOf(client: KubeClient): Promise<string> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = await client.get(KINDS.secret, key);
  return atob(data?.[CA_KEY] ?? "");
}

/** Whether a replica leads, by its own word. */
async function leads(replica: ManagerProcess): Promise<boolean> {
  return /^milepost_leader 1$/m.test(await replica.metrics());
}

async function ready(replica: ManagerProcess): Promise<ManagerProcess> {
  await until(`${replica.name} is ready`, async () => (await replica.readyz()).code === 200);
  return replica;
}

Deno.test("the previous version and this one serve side by side, whichever of them leads", async (t) => {
  const previous = [...BUNDLED, await previousBundle()];
  const folder = await Deno.makeTempDir({ prefix: "milepost-skew-" });
  await using cleanup = new AsyncDisposableStack();
  cleanup.defer(() => Deno.remove(folder, { recursive: true }));
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  const { client, kubeconfig } = plane;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
  const port = freePort();
  const flags = [`--observation-sink=grpc:127.0.0.1:${port}`, "--log-level=debug"];
  const running = new Set<ManagerProcess>();
  async function start(name: string, program?: readonly string[]): Promise<ManagerProcess> {
    const replica = await startManagerProcess({
      kubeconfig,
      name,
      flags,
      ...(program && { program }),
    });
    running.add(replica);
    return await ready(replica);
  }
  async function kill(replica: ManagerProcess): Promise<void> {
    running.delete(replica);
    await replica.stop("SIGKILL");
  }
  cleanup.defer(async () => {
    for (const replica of running) await replica.stop("SIGKILL");
  });

  const old = await start("old", previous);
  await writeCertificates(client, folder);
  const oldLog = new Deno.Command(Deno.execPath(), {
    args: [
      ...previous,
      "observation-log",
      "--bind-address=127.0.0.1",
      `--port=${port}`,
      `--data-dir=${folder}`,
      `--tls-cert=${folder}/tls.crt`,
      `--tls-key=${folder}/tls.key`,
      `--client-ca=${folder}/ca.crt`,
    ],
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  let oldLogEnded = false;
  const endOldLog = async () => {
    if (oldLogEnded) return;
    oldLogEnded = true;
    oldLog.kill("SIGTERM");
    await oldLog.status;
  };
  cleanup.defer(endOldLog);
  // Rules that are never met: of such a job every acknowledged push is in the log.
  const asking = trainJob("job", "plain");
  asking.metadata.annotations = { [ANNOTATIONS.earlyStopping]: NEVER_MET };
  await client.create(KINDS.trainJob, asking);
  const job = await pusher(plane, "job", { exists: true });
  const ca = await caOf(client);
  const reader = await observer(client);
  const acknowledged: string[] = [];

  /** Pushes at a replica until it is acknowledged, the same push each time, as clients do. */
  async function push(replica: ManagerProcess, percentage: number): Promise<void> {
    const value = String(percentage / 100);
    const body = JSON.stringify({
      trainerStatus: {
        progressPercentage: percentage,
        metrics: [{ name: "loss", value }],
        step: percentage,
        lastUpdatedTime: new Date().toISOString(),
      },
      container: "node",
    });
    await until(`the push of ${percentage} at ${replica.name}`, async () => {
      using http = Deno.createHttpClient({ caCerts: [ca] });
      const answer = await fetch(replica.status + statusPath(TRAINJOB, "default", job.name), {
        method: "POST",
        client: http,
        headers: { authorization: `Bearer ${job.token}` },
        body,
        signal: AbortSignal.timeout(10_000),
      });
      await answer.body?.cancel();
      return answer.status === 200;
    });
    acknowledged.push(value);
    await showsProgress(job, percentage);
  }

  async function rowsAt({ status }: ManagerProcess): Promise<string[]> {
    return await until("the observation", async () => {
      const { status: code, body } = await reader.read({ status, caBundle: () => ca }, job.name);
      return code === 200 ? observationSchema.parse(body).log.map(({ value }) => value) : undefined;
    });
  }

  const current = await start("new");
  await t.step("the previous version leads", async () => {
    assert.ok(await leads(old));
    await push(old, 1);
    await push(current, 2);
    await push(old, 3);
    for (const replica of [old, current]) assert.deepEqual(await rowsAt(replica), acknowledged);
    assert.match(await current.metrics(), /forwarded_pushes_total\{result="accepted"\} [1-9]/);
  });

  await endOldLog();
  const log = await startLog(client, port, folder);
  cleanup.defer(() => log.stop());
  await t.step("this version continues its log, and leads", async () => {
    await push(current, 4);
    await kill(old);
    await until("the new one leads", () => leads(current));
    await push(current, 5);
    assert.deepEqual(await rowsAt(current), acknowledged);
  });

  const oldAgain = await start("old-again", previous);
  await t.step("the previous version forwards to it", async () => {
    await push(oldAgain, 6);
    await push(current, 7);
    assert.match(await oldAgain.metrics(), /forwarded_pushes_total\{result="accepted"\} [1-9]/);
    for (const replica of [oldAgain, current]) {
      assert.deepEqual(await rowsAt(replica), acknowledged);
    }
  });

  await t.step("the previous version leads again", async () => {
    await kill(current);
    await until("the old one leads", () => leads(oldAgain));
    await push(oldAgain, 8);
    assert.deepEqual(await rowsAt(oldAgain), acknowledged);
    assert.equal(acknowledged.length, 8);
  });
});
