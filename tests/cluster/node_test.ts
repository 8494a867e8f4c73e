/** Test of `milepost node` as a process of its own, with a self-signed certificate. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { findCondition } from "../../platform/kube/conditions.ts";
import { processesThatMention } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, withControlPlane } from "./control_plane/control_plane.ts";
import { createDaemon } from "./control_plane/daemon.ts";
import { apply, kubectl, serviceAccountToken } from "./support/installation.ts";
import { startTestNode } from "./support/node.ts";

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

/** Asks the API server as programs in a cluster do, and names what the account may not have been given. */
const ASKS =
  "cd /var/run/secrets/kubernetes.io/serviceaccount && curl -sS --max-time 20 --cacert ca.crt " +
  '-H "Authorization: Bearer $(cat token)" ' +
  '"https://$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT/api/v1/namespaces/default/pods"';

Deno.test("milepost node gives pods what a kubelet gives, and mounts at once under NodeRestriction", async () => {
  await withControlPlane(async (plane) => {
    const node = await startTestNode(plane);
    try {
      const requests = { "ephemeral-storage": "1Mi" };
      const pods = Array.from({ length: 24 }, (_, index) => ({
        ...POD,
        metadata: { name: `asks-${index}`, namespace: "default" },
        spec: {
          restartPolicy: "Never",
          containers: [
            { name: "main", image: "none", command: ["sh", "-c", ASKS], resources: { requests } },
          ],
        },
      }));
      await apply(plane, pods);
      const done = "--for=jsonpath={.status.phase}=Succeeded";
      await kubectl(plane, ["wait", done, "pod", "--all", "--timeout=90s"]);
      const said = await kubectl(plane, ["logs", "asks-7"]);
      assert.match(said, /User \\"system:serviceaccount:default:default\\" cannot list resource/);
      const { items } = await plane.client.list(KINDS.event, { namespace: "default" });
      const failed = items.filter(({ reason }) => reason === "FailedMount");
      assert.deepEqual(failed.map(({ message }) => message), []);
    } finally {
      await node.stop();
    }
  }, { admissionPlugins: ["NodeRestriction"] });
});

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
      const reader = `Authorization: Bearer ${await tokenOf("reader")}`;
      // A pod is ready before its program has written anything.
      await until(
        "the line is in the log",
        async () => await read("reader", reader) === "reader: here 200",
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
