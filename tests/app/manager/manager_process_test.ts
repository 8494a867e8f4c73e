/** Tests of a manager as a process: start, readiness, SIGTERM and SIGKILL. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { installPrerequisites } from "../../../app/standalone/prerequisites.ts";
import { addToKubeconfig } from "../../../standalone/kubeconfig/kubeconfig_file.ts";
import { type ControlPlane, startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { CA_KEY, MANAGER } from "../../../crds/names.ts";
import type { Kind } from "../../../platform/kube/resource.ts";
import { createAuthority } from "../../../webhook/certificate_authority.ts";
import { shellRuntime } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { freePort } from "../../support/free_port.ts";
import { type ManagerProcess, startManagerProcess } from "./manager_process.ts";
import { type Pusher, pusher, type PushOutcome } from "./replicas.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

/** Runs `work` with a control plane, and a way to start managers that are gone at the end. */
async function withPlane(
  work: (set: {
    plane: ControlPlane;
    start: (name: string) => Promise<ManagerProcess>;
  }) => Promise<void>,
): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  await work({
    plane,
    async start(name) {
      const manager = await startManagerProcess({ kubeconfig: plane.kubeconfig, name });
      cleanup.defer(async () => {
        await manager.stop("SIGKILL").catch(() => {}); // It may have ended by itself.
      });
      return manager;
    },
  });
}

const isReady = (manager: ManagerProcess) =>
  until(`${manager.name} is ready`, async () => (await manager.readyz()).code === 200);

/** Pushes to a process, trusting the CA of the Secret. */
async function pushTo(
  { client }: ControlPlane,
  job: Pusher,
  { status }: ManagerProcess,
  percentage: number,
): Promise<PushOutcome> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = await client.get(KINDS.secret, key);
  const ca = Buffer.from(data?.[CA_KEY] ?? "", "base64").toString();
  return await job.pushTo(status, percentage, ca);
}

async function holder({ client }: ControlPlane): Promise<string | undefined> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.lease };
  return (await client.get(KINDS.lease, key)).spec?.holderIdentity;
}

/** Returns the leader and the follower. */
async function roles(plane: ControlPlane, managers: readonly ManagerProcess[]) {
  const name = (await holder(plane))?.split("_")[0];
  const leader = managers.find((it) => it.name === name);
  const other = managers.find((it) => it.name !== name);
  assert.ok(leader && other);
  return { leader, other };
}

/** Until then every answer must tell the client to come again. */
async function pushUntilAccepted(
  plane: ControlPlane,
  job: Pusher,
  manager: ManagerProcess,
  percentage: number,
): Promise<void> {
  await until(`${manager.name} accepts`, async () => {
    const { status, retryAfter } = await pushTo(plane, job, manager, percentage);
    if (status === 200) return true;
    assert.equal(status, 503);
    assert.match(retryAfter ?? "", /^\d+$/);
    return false;
  });
}

Deno.test("SIGTERM ends a manager within 10 s with code 0, its last push written and its Lease released", async () => {
  await withPlane(async ({ plane, start }) => {
    const manager = await start("only");
    await isReady(manager);
    await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
    const job = await pusher(plane, "last-words");
    assert.match(await holder(plane) ?? "", /^only_uid-only_[0-9a-f-]{36}$/);
    for (const percentage of [1, 2, 3]) {
      assert.equal((await pushTo(plane, job, manager, percentage)).status, 200);
    }
    const { code, tookMs } = await manager.stop("SIGTERM");
    assert.equal(code, 0, manager.log());
    assert.ok(tookMs < 10_000, `took ${tookMs} ms`);
    assert.equal(await job.shown(), 3);
    assert.equal(await holder(plane), "");
    const settings = manager.log().split("\n").find((line) => line.includes('"settings"'));
    assert.match(settings ?? "", /"leaseDuration":4000/);
    assert.doesNotMatch(manager.log(), /eyJ[A-Za-z0-9_-]{8}/, "no token is logged");
  });
});

Deno.test("after kill -9 of the leader the other replica leads within the lease duration and 2 s", async () => {
  await withPlane(async ({ plane, start }) => {
    const managers = await Promise.all(["a", "b"].map(start));
    await Promise.all(managers.map(isReady));
    await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
    const job = await pusher(plane, "survives");
    const { leader, other } = await roles(plane, managers);
    assert.equal((await pushTo(plane, job, other, 10)).status, 200);
    await leader.stop("SIGKILL");
    const killed = performance.now();
    await pushUntilAccepted(plane, job, other, 20);
    const tookMs = performance.now() - killed;
    // The lease of the test, 2 s, and the pace of a busy machine.
    assert.ok(tookMs < 4_000 + 2_000 + 2_000, `took ${tookMs} ms`);
    await until("the push shows", async () => await job.shown() === 20);
    assert.match(await other.metrics(), /^milepost_leader 1$/m);
    const { code } = await other.stop("SIGTERM");
    assert.equal(code, 0, other.log());
  });
});

Deno.test("a leader that is paused and wakes up again writes nothing, and follows", async () => {
  await withPlane(async ({ plane, start }) => {
    const managers = await Promise.all(["a", "b"].map(start));
    await Promise.all(managers.map(isReady));
    await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
    const job = await pusher(plane, "asleep");
    const { leader, other } = await roles(plane, managers);
    Deno.kill(leader.pid, "SIGSTOP");
    await pushUntilAccepted(plane, job, other, 30);
    Deno.kill(leader.pid, "SIGCONT");
    // Pushes to it are now forwarded to the new owner.
    await pushUntilAccepted(plane, job, leader, 40);
    await until("the push shows", async () => await job.shown() === 40);
    assert.match(await leader.metrics(), /^milepost_leader 0$/m);
    assert.match(await other.metrics(), /^milepost_leader 1$/m);
    assert.match(
      await leader.metrics(),
      /^milepost_forwarded_pushes_total\{result="accepted"\} 1$/m,
    );
  });
});

Deno.test("SIGTERM ends a manager within 10 s even if the API server is gone", async () => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  let stopped: Promise<void> | undefined;
  const stop = () => stopped ??= plane.stop();
  cleanup.defer(stop);
  const manager = await startManagerProcess({ kubeconfig: plane.kubeconfig, name: "orphan" });
  cleanup.defer(async () => {
    await manager.stop("SIGKILL").catch(() => {}); // It has ended where all went well.
  });
  await isReady(manager);
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("plain", "true"));
  const job = await pusher(plane, "unwritten");
  assert.equal((await pushTo(plane, job, manager, 1)).status, 200);
  await stop();
  const { code, tookMs } = await manager.stop("SIGTERM");
  assert.equal(code, 0, manager.log());
  assert.ok(tookMs < 10_000, `took ${tookMs} ms`);
});

const CRD: Kind<unknown> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  parse: (value) => value,
};

Deno.test("a manager waits for a missing CRD, logs it, and starts when the CRD is created", async () => {
  await withPlane(async ({ plane, start }) => {
    await plane.client.delete(CRD, { name: "trainjobs.trainer.kubeflow.org" });
    const manager = await start("early");
    const { text } = await until("it says what it waits for", async () => {
      const answer = await manager.readyz();
      return answer.text.includes("caches") && !answer.text.includes("certificates") && answer;
    });
    assert.match(text, /^not ready: .*caches \(.*trainJobs/);
    await until(
      "the log names the kind",
      () => /waiting until its CRD is installed.*"TrainJob"/.test(manager.log()),
    );
    await installPrerequisites(plane.client);
    await until("it is ready", async () => (await manager.readyz()).code === 200, {
      timeoutMs: 60_000,
    });
  });
});

Deno.test("a manager waits for an unreachable API server, and can be stopped while it waits", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const kubeconfig = `${folder}/kubeconfig`;
    const server = `https://127.0.0.1:${freePort()}`;
    const { certificate: caCertificate } = await createAuthority(Date.now());
    await addToKubeconfig(kubeconfig, { server, caCertificate, token: "none" });
    const manager = await startManagerProcess({ kubeconfig, name: "alone" });
    assert.match((await manager.readyz()).text, /certificates/);
    await until("it says so", () => /cannot reach the API server/.test(manager.log()));
    const { code, tookMs } = await manager.stop("SIGTERM");
    assert.equal(code, 0, manager.log());
    assert.ok(tookMs < 10_000);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
