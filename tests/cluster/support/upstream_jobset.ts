/** Upstream's JobSet controller on a real control plane, installed as its own kustomization says. */
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { createDaemon, type Daemon } from "../control_plane/daemon.ts";
import { freePort } from "../../support/free_port.ts";
import { moduleFolder, programs } from "../control_plane/programs.ts";
import { crdsServed, kubectl, serviceAccountToken } from "./installation.ts";

/** Identity of upstream's controller. */
export const UPSTREAM_ACCOUNT = {
  namespace: "jobset-system",
  name: "jobset-controller-manager",
} as const;

/** What is installed; the controller itself is a process of the test instead of a Deployment. */
const KINDS = new Set([
  "Namespace",
  "CustomResourceDefinition",
  "ServiceAccount",
  "Role",
  "ClusterRole",
  "RoleBinding",
  "ClusterRoleBinding",
]);
const WEBHOOKS = new Set(["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);

const objectSchema = z.looseObject({ kind: z.string() });
const webhooksSchema = z.looseObject({
  webhooks: z.array(z.looseObject({
    clientConfig: z.looseObject({ service: z.looseObject({ path: z.string() }) }),
  })),
});
type Manifest = z.infer<typeof objectSchema>;

/** The manifests of the module's own `config/default`. */
async function manifests(plane: ControlPlane): Promise<Manifest[]> {
  const folder = await moduleFolder("jobset", "sigs.k8s.io/jobset");
  const text = await kubectl(plane, ["kustomize", `${folder}/config/default`]);
  return parseAllDocuments(text).map((document) => objectSchema.parse(document.toJS()));
}

/** The same webhooks, at a port of this machine. */
function atPort(configuration: Manifest, port: number, caPem: string): Manifest {
  const { webhooks, ...rest } = webhooksSchema.parse(configuration);
  return {
    ...rest,
    kind: configuration.kind,
    webhooks: webhooks.map((webhook) => ({
      ...webhook,
      clientConfig: {
        url: `https://127.0.0.1:${port}${webhook.clientConfig.service.path}`,
        caBundle: btoa(caPem),
      },
    })),
  };
}

/** Its CRD is too large for the annotation of a client-side apply. */
async function put(plane: ControlPlane, objects: readonly Manifest[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  const args = ["apply", "--server-side", "--force-conflicts", "--validate=false", "-f", "-"];
  await kubectl(plane, args, JSON.stringify(list));
}

async function writeConfiguration(
  plane: ControlPlane,
  ports: { readonly webhook: number; readonly health: number },
  gates: readonly string[],
): Promise<string> {
  const folder = `${plane.folder}/upstream-jobset`;
  await Deno.mkdir(folder, { recursive: true });
  const { cert, key } = await plane.ca.server("jobset-webhook", ["127.0.0.1"]);
  await Deno.writeTextFile(`${folder}/tls.crt`, cert);
  await Deno.writeTextFile(`${folder}/tls.key`, key, { mode: 0o600 });
  const file = `${folder}/configuration.json`;
  await Deno.writeTextFile(
    file,
    JSON.stringify({
      apiVersion: "config.jobset.x-k8s.io/v1alpha1",
      kind: "Configuration",
      leaderElection: { leaderElect: false },
      featureGates: Object.fromEntries(gates.map((gate) => [gate, true])),
      internalCertManagement: { enable: false },
      webhook: { host: "127.0.0.1", port: ports.webhook, certDir: folder },
      health: { healthProbeBindAddress: `127.0.0.1:${ports.health}` },
      metrics: { bindAddress: "0" },
    }),
  );
  return file;
}

/**
 * Installs CRD, rights and webhooks, and starts the controller under its own service account. The
 * webhook configurations come last, as in a cluster whose Deployment is there. Stop it before the
 * control plane. The gates are those of its features that are to be on.
 */
export async function startUpstreamJobSet(
  plane: ControlPlane,
  gates: readonly string[] = [],
): Promise<Daemon> {
  const { jobset: program = "jobset" } = await programs("jobset");
  const ports = { webhook: freePort(), health: freePort() };
  const all = await manifests(plane);
  await put(plane, all.filter(({ kind }) => KINDS.has(kind)));
  await crdsServed(plane, ["crd/jobsets.jobset.x-k8s.io"]);
  const token = await serviceAccountToken(plane.client, UPSTREAM_ACCOUNT);
  const kubeconfig = await plane.kubeconfigFor("upstream-jobset", { token });
  const daemon = createDaemon({
    name: "upstream's JobSet controller",
    program,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--config=${await writeConfiguration(plane, ports, gates)}`,
    ],
    logFile: `${plane.folder}/upstream-jobset.log`,
    isReady: async () => {
      const url = `http://127.0.0.1:${ports.health}/readyz`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  try {
    const webhooks = all.filter(({ kind }) => WEBHOOKS.has(kind));
    await put(plane, webhooks.map((one) => atPort(one, ports.webhook, plane.ca.cert)));
  } catch (error) {
    await daemon.stop();
    throw error;
  }
  return daemon;
}
