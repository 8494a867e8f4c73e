/** Tests of the objects that a standalone installs into its API server, also when it starts again. */
import assert from "node:assert/strict";
import { installPrerequisites } from "../../../app/standalone/prerequisites.ts";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, MANAGER } from "../../../crds/names.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { getOrUndefined } from "../../../platform/kube/upsert.ts";
import { until } from "../../support/fake_clock.ts";

Deno.test("installPrerequisites() writes nothing the second time, and what was changed again", async () => {
  const plane = await startControlPlane({ port: 0, kubelet: false });
  const writes: string[] = [];
  const client = createClient({
    connection: loadKubeconfig(plane.kubeconfig),
    onRequest: ({ verb, resource, code }) => {
      if (verb !== "get" && code < 400) writes.push(`${verb} ${resource}`);
    },
  });
  try {
    await installPrerequisites(client);
    assert.deepEqual(writes, []);

    const key = { namespace: MANAGER.namespace, name: MANAGER.publicConfigMap };
    const body = {
      metadata: { annotations: { [ANNOTATIONS.manifestHash]: "of an older version" } },
    };
    await plane.client.patch(KINDS.configMap, key, { type: "merge", body });
    await installPrerequisites(client);
    assert.deepEqual(writes, ["update configmaps"]);
  } finally {
    client.close();
    await plane.stop();
  }
});

Deno.test("installPrerequisites() leaves a CRD of JobSets that somebody else installed", async () => {
  const plane = await startControlPlane({ port: 0, kubelet: false });
  const crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/jobsets.jobset.x-k8s.io";
  const change = (annotations: Record<string, string | null>) =>
    plane.client.read(crd, {
      method: "PATCH",
      headers: { "content-type": "application/merge-patch+json" },
      body: JSON.stringify({ metadata: { annotations } }),
    });
  const read = async () => JSON.parse((await plane.client.read(crd)).text);
  try {
    await change({ [ANNOTATIONS.manifestHash]: null, owner: "somebody" });
    const before = await read();
    await installPrerequisites(plane.client);
    assert.deepEqual(await read(), before);
  } finally {
    await plane.stop();
  }
});

Deno.test("the Job controller of a standalone may delete Jobs after their time to live", async () => {
  const plane = await startControlPlane({ port: 0, kubelet: false });
  const key = { namespace: "default", name: "brief" };
  const containers = [{ name: "main", image: "any", command: ["true"] }];
  try {
    await plane.client.create(KINDS.job, {
      metadata: key,
      spec: {
        completions: 0,
        ttlSecondsAfterFinished: 0,
        template: { spec: { restartPolicy: "Never", containers } },
      },
    });
    await until(
      "the Job is gone",
      async () => await getOrUndefined(plane.client, KINDS.job, key) === undefined,
    );
  } finally {
    await plane.stop();
  }
});
