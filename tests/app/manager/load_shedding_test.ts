/** Test of load shedding in a whole Milepost: strangers are limited while it has too much to do, others are not. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { startManager } from "../../../app/manager/manager.ts";
import { createMetrics } from "../../../app/manager/metrics.ts";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { TEST_FLAGS } from "../../support/manager_flags.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";
import { progress, requestToken, shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const STRANGER = "127.0.0.7";
const API_SERVER = "127.0.0.8";
const POD = "127.0.0.9";
/** More than the burst of a stranger and what comes back while the test runs. */
const MANY = 400;

/** Opens connections from an address, which send nothing. */
function dialMany(port: number, localAddress: string) {
  const sockets = Array.from({ length: MANY }, (): Socket => {
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    return socket;
  });
  let opened = 0;
  let closed = 0;
  for (const socket of sockets) {
    socket.once("connect", () => opened += 1);
    socket.once("close", () => closed += 1);
    socket.resume();
  }
  return {
    closed: () => closed,
    opened: () => opened,
    [Symbol.dispose]: () => sockets.forEach((socket) => socket.destroy()),
  };
}

/** Keeps the event loop from turning. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

async function tokenOfPod(client: KubeClient, job: string): Promise<string> {
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  const pod = await until(`a pod of ${job}`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
    return items[0];
  });
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: "default", name: "default" };
  return await requestToken(client, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
}

Deno.test("while the manager has too much to do, new connections of strangers are limited, and no others", async () => {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({ port: 0, signingKey: SIGNING_KEY, kubelet: false });
  cleanup.defer(() => plane.stop());
  const metrics = createMetrics();
  const manager = await startManager(
    readConfiguration({
      environment: {},
      flags: { ...TEST_FLAGS, apiServerAddresses: API_SERVER },
    }),
    { client: plane.managerClient, host: "127.0.0.1", metrics },
  );
  cleanup.defer(() => manager.stop());
  await manager.whenReady();
  await plane.client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
  await plane.client.create(KINDS.trainJob, trainJob("job", "idle"));
  const token = await tokenOfPod(plane.client, "job");
  using http = Deno.createHttpClient({ caCerts: [manager.caBundle()], localAddress: POD });
  const { status: port = 0, webhook } = manager.ports;
  const answer = await fetch(`https://127.0.0.1:${port}${statusPath(TRAINJOB, "default", "job")}`, {
    method: "POST",
    client: http,
    headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(progress(1)),
    signal: AbortSignal.timeout(60_000),
  });
  assert.equal(answer.status, 200, await answer.text());

  const shed = async () => (await metrics.connectionsShed.get()).values[0]?.value ?? 0;
  block(500);
  {
    using strangers = dialMany(port, STRANGER);
    await until("most strangers are closed at the status port", () => strangers.closed() > 200);
    using others = dialMany(webhook, STRANGER);
    await until("and at the webhook's", () => others.closed() > 200);
  }
  const before = await shed();
  assert.ok(before > 400, `${before}`);
  {
    using pods = dialMany(port, POD);
    using apiServers = dialMany(webhook, API_SERVER);
    await until("connections of a proved pod's address", () => pods.opened() === MANY);
    await until("connections of the API server", () => apiServers.opened() === MANY);
    using strangers = dialMany(port, STRANGER);
    await until("the rates still apply", () => strangers.closed() > 200);
    assert.equal(pods.closed() + apiServers.closed(), 0);
  }
});
