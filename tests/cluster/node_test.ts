/** Test of `milepost node` as a process of its own, with a self-signed certificate. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { findCondition } from "../../kube/conditions.ts";
import { processesThatMention } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, withControlPlane } from "./control_plane/control_plane.ts";
import { createDaemon } from "./control_plane/daemon.ts";
import { apply, kubectl, serviceAccountToken } from "./support/installation.ts";

const main = new URL("../../main.ts", import.meta.url).pathname;

async function createNode(plane: ControlPlane, name: string) {
  const kubeconfig = await plane.kubeconfigFor(name, {
    user: `system:node:${name}`,
    groups: ["system:nodes"],
  });
  const dataDir = `${plane.folder}/${name}`;
  const flags = [`--kubeconfig=${kubeconfig}`, `--node-name=${name}`, `--data-dir=${dataDir}`];
  return createDaemon({
    name: "milepost node",
    program: Deno.execPath(),
    args: ["run", "-A", "--no-check", main, "node", ...flags],
    logFile: `${plane.folder}/${name}.log`,
    isReady: async () => {
      const node = await plane.client.get(KINDS.node, { name });
      return findCondition(node.status?.conditions, "Ready")?.status === "True";
    },
  });
}

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "long", namespace: "default" },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: "main", image: "none", command: ["sh", "-c", "echo here; sleep 1000"] }],
  },
};

/** Two service accounts, of which one may read at nodes. */
const ACCOUNTS = [
  ...["reader", "other"].map((name) => ({
    apiVersion: "v1",
    kind: "ServiceAccount",
    metadata: { name, namespace: "default" },
  })),
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "reader" },
    roleRef: {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "system:kubelet-api-admin",
    },
    subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
  },
];

Deno.test("milepost node runs pods, lets accounts with the right read logs, and ends its pods", async () => {
  await withControlPlane(async (plane) => {
    const { client } = plane;
    const node = await createNode(plane, "node-b");
    await node.start();
    try {
      await apply(plane, [POD, ...ACCOUNTS]);
      await kubectl(plane, ["wait", "--for=condition=Ready", "pod/long", "--timeout=60s"]);
      const { status } = await client.get(KINDS.node, { name: "node-b" });
      const port = status?.daemonEndpoints?.kubeletEndpoint?.Port;
      const address = status?.addresses?.find(({ type }) => type === "InternalIP")?.address;
      const url = `https://${address}:${port}/containerLogs/default/long/main?tailLines=1`;
      const read = async (name: string, authorization: string) => {
        // The certificate that the node made is self-signed, so curl must not verify it.
        const command = new Deno.Command("curl", {
          args: ["-sk", "--max-time", "20", "-w", "%{http_code}", "-H", authorization, url],
        });
        const { stdout } = await command.output();
        return `${name}: ${new TextDecoder().decode(stdout).replaceAll("\n", " ")}`;
      };
      const tokenOf = (name: string) => serviceAccountToken(client, { namespace: "default", name });
      assert.equal(
        await read("reader", `Authorization: Bearer ${await tokenOf("reader")}`),
        "reader: here 200",
      );
      assert.match(await read("other", `Authorization: Bearer ${await tokenOf("other")}`), / 403$/);
      assert.match(await read("forged", "Authorization: Bearer a.b.c"), / 401$/);

      // The API server trusts only certificates of its own CA: it says so instead of a log.
      await assert.rejects(kubectl(plane, ["logs", "long"]), /certificate|x509/);
    } finally {
      await node.stop();
    }
    await until(
      "its pods' processes are gone",
      async () => (await processesThatMention(`${plane.folder}/node-b`)).size === 0,
    );
  });
});
