/** Milepost's kubelet as a node of a real control plane: pods run as processes of this machine. */
import { startNode } from "../../../app/node/node.ts";
import { hostAddress } from "../../../standalone/kubelet/machine.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";

/** A node that runs. */
export interface TestNode {
  readonly name: string;
  /** Where its pods' folders are. */
  readonly dataDir: string;
  /** Ends its pods' processes. Safe to call again. */
  stop(): Promise<void>;
}

/** Starts a node, as the user that a kubelet is (`system:node:NAME`). */
export async function startTestNode(plane: ControlPlane, name = "node-a"): Promise<TestNode> {
  const kubeconfig = await plane.kubeconfigFor(name, {
    user: `system:node:${name}`,
    groups: ["system:nodes"],
  });
  const dataDir = `${plane.folder}/${name}`;
  // Signed by the CA that the API server trusts for kubelets, so that it reads logs here.
  const { cert, key } = await plane.ca.server(`system:node:${name}`, [hostAddress(), name]);
  const [tlsCert, tlsKey] = [`${plane.folder}/${name}.crt`, `${plane.folder}/${name}.key`];
  await Deno.writeTextFile(tlsCert, cert);
  await Deno.writeTextFile(tlsKey, key, { mode: 0o600 });
  const clientCa = `${plane.folder}/${name}-clients.crt`;
  await Deno.writeTextFile(clientCa, plane.ca.cert);
  const node = await startNode({
    kubeconfig,
    nodeName: name,
    dataDir,
    port: 0,
    tlsCert,
    tlsKey,
    clientCa,
    inheritEnvironment: true,
    mountNamespaces: true,
  });
  let stopped: Promise<void> | undefined;
  return { name, dataDir, stop: () => stopped ??= node.stop() };
}
