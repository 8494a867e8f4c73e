/** Tests of the manager's caches: the objects that they request, and the fields that they keep. */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { createCaches, runCaches, unsynced } from "../../../app/manager/caches.ts";
import { MANAGER_PARTS, type ManagerPart } from "../../../app/manager/rights.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS } from "../../../crds/names.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { createSwitch } from "../../../platform/base/switch.ts";
import { until } from "../../support/until.ts";

/** What the API server has of each resource: one of ours, and ConfigMaps of others. */
const ITEMS: Readonly<Record<string, readonly unknown[]>> = {
  configmaps: [
    { metadata: { namespace: "a", name: "j-tls-config", uid: "1" }, data: { "ca.crt": "PEM" } },
    { metadata: { namespace: "a", name: "huge", uid: "2" }, data: { it: "x".repeat(1000) } },
  ],
  pods: [{
    metadata: { namespace: "a", name: "p", uid: "3", managedFields: [{}] },
    spec: { containers: [{ name: "node", image: "i" }] },
    status: { phase: "Running", podIP: "10.0.0.1" },
  }],
  podgroups: [{
    apiVersion: "scheduling.x-k8s.io/v1alpha1",
    kind: "PodGroup",
    metadata: {
      namespace: "a",
      name: "g",
      uid: "4",
      generation: 1,
      labels: { it: "is" },
      managedFields: [{}],
    },
    spec: { minMember: 3, scheduleTimeoutSeconds: 60 },
    status: { phase: "Running", occupiedBy: "a/g-node-0" },
  }],
};

/** Fills the caches of those parts, and passes them on with the parameters and the form of each first list. */
async function withCaches(
  parts: readonly ManagerPart[],
  check: (
    caches: ReturnType<typeof createCaches>,
    asked: ReadonlyMap<string, URLSearchParams>,
    accepted: ReadonlyMap<string, string | null>,
  ) => void | Promise<void>,
): Promise<void> {
  const asked = new Map<string, URLSearchParams>();
  const accepted = new Map<string, string | null>();
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const resource = pathname.split("/").at(-1) ?? "";
    if (searchParams.get("watch") !== null) {
      const open = new ReadableStream({ start: (it) => it.enqueue(new Uint8Array([10])) });
      return new Response(open);
    }
    asked.set(resource, searchParams);
    accepted.set(resource, request.headers.get("accept"));
    return Response.json({ metadata: { resourceVersion: "1" }, items: ITEMS[resource] ?? [] });
  });
  const client = createClient({
    connection: connectionTo({ server: `http://127.0.0.1:${server.addr.port}`, token: "t" }),
  });
  const caches = createCaches({
    kinds: JOB_KINDS,
    client,
    v1Kinds: { of: createSwitch },
    trialResources: { of: createSwitch },
    clock: systemClock,
    parts: new Set(parts),
    namespace: "me",
    onRestart() {},
    onSkipped() {},
  });
  const stop = new AbortController();
  const running = runCaches(caches, stop.signal);
  try {
    await until("all are filled", () => unsynced(caches).length === 0);
    await check(caches, asked, accepted);
  } finally {
    stop.abort();
    await running;
    client.close();
  }
}

Deno.test("the manager's caches select the objects that it needs, and keep the fields that are read", () =>
  withCaches(MANAGER_PARTS, (caches, asked, accepted) => {
    const labels = (resource: string) => asked.get(resource)?.get("labelSelector");
    assert.equal(labels("pods"), "trainer.kubeflow.org/trainjob-name");
    assert.equal(labels("jobs"), "jobset.sigs.k8s.io/jobset-name");
    assert.equal(labels("configmaps"), "trainer.kubeflow.org/trainjob-name");
    assert.equal(asked.get("pods")?.get("limit"), "25");
    assert.deepEqual(caches.configMaps.list(), [
      { metadata: { namespace: "a", name: "j-tls-config", uid: "1" } },
    ]);
    for (const resource of ["configmaps", "services", "serviceaccounts"]) {
      assert.match(accepted.get(resource) ?? "", /;as=PartialObjectMetadataList;/, resource);
    }
    assert.equal(accepted.get("pods"), "application/json");
    assert.deepEqual(caches.pods.list(), [
      { metadata: { namespace: "a", name: "p", uid: "3" }, spec: {}, status: { phase: "Running" } },
    ]);
  }));

Deno.test("pod groups have no cache until one is asked for, and then without their status", () =>
  withCaches(MANAGER_PARTS, async ({ createChildCache }, asked) => {
    assert.equal(asked.has("podgroups"), false);
    const stop = new AbortController();
    const cache = createChildCache(KINDS.coschedulingPodGroup, () => {});
    const running = cache.run(stop.signal);
    await cache.whenSynced();
    assert.equal(asked.get("podgroups")?.get("labelSelector"), LABELS.trainJobName);
    assert.deepEqual(cache.list(), [{
      apiVersion: "scheduling.x-k8s.io/v1alpha1",
      kind: "PodGroup",
      metadata: { namespace: "a", name: "g", uid: "4", labels: { it: "is" } },
      spec: { minMember: 3, scheduleTimeoutSeconds: 60 },
    }]);
    stop.abort();
    await running;
  }));

Deno.test("a cache that no part of the manager reads is not filled, and nothing waits for it", () =>
  withCaches(["controller"], (_caches, asked) => {
    for (const resource of ["jobs", "services", "serviceaccounts", "trials"]) {
      assert.equal(asked.has(resource), false, resource);
    }
    assert.equal(asked.has("trainjobs"), true);
  }));
