/** The Training Operator on a real control plane: its CRDs, its webhooks and its program, as a process of the test. */
import type { ControlPlane } from "../../cluster/control_plane/control_plane.ts";
import { createDaemon, type Daemon } from "../../cluster/control_plane/daemon.ts";
import { type LoopbackTarget, loopbackWebhooks } from "../../cluster/parity/loopback_webhooks.ts";
import { apply, crdsServed, kubectl } from "../../cluster/support/installation.ts";
import { freePort } from "../../support/free_port.ts";
import type { Peer, PeerName } from "../support/peer.ts";
import { createOperatorCertificates } from "./certificates.ts";

const PROGRAM = "training-operator.v1";

const peer = (module: string): PeerName => ({
  module,
  goModule: "github.com/kubeflow/training-operator",
  programs: [PROGRAM],
});

/** The last version of each kind but MXJob. */
export const TRAINING_OPERATOR = peer("training-operator");
/** The last version that has MXJob. */
export const TRAINING_OPERATOR_MX = peer("training-operator-mx");

const NAMESPACE = "kubeflow";
const SERVICE = "training-operator.kubeflow.svc";
const CERTIFICATE = "training-operator-webhook-cert";
/** It looks for the configuration of this name, to write its CA there. */
const WEBHOOKS = "validator.training-operator.kubeflow.org";
/** It reads its certificates from this folder, whatever TMPDIR says. */
const FIXED_FOLDER = "/tmp/k8s-webhook-server";

/** Writes the certificates where the program and the API server look for them. Returns the folder and the CA. */
async function provideCertificates(plane: ControlPlane) {
  const { ca, server } = await createOperatorCertificates(SERVICE);
  const folder = `${plane.folder}/training-operator`;
  const files = {
    "ca.crt": ca.cert,
    "ca.key": ca.key,
    "tls.crt": server.cert,
    "tls.key": server.key,
  };
  await Deno.mkdir(`${folder}/serving-certs`, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${folder}/serving-certs/${name}`, text, { mode: 0o600 });
  }
  await apply(plane, [
    { apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } },
    {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: CERTIFICATE, namespace: NAMESPACE },
      data: Object.fromEntries(Object.entries(files).map(([name, text]) => [name, btoa(text)])),
    },
  ]);
  return { folder, caPem: ca.cert };
}

/** Has the program find a folder of its own at the fixed place, in a mount namespace. */
function withFixedFolder(folder: string, command: readonly string[]): string[] {
  const script = `mkdir -p ${FIXED_FOLDER} && mount --bind "$0" ${FIXED_FOLDER} && exec "$@"`;
  return ["--map-root-user", "--mount", "--", "sh", "-c", script, folder, ...command];
}

/** Its webhooks as its kustomization names them, at a port of this machine. Returns their URLs. */
async function installWebhooks(
  plane: ControlPlane,
  sources: string,
  target: LoopbackTarget,
): Promise<readonly string[]> {
  const overlay = { names: { ValidatingWebhookConfiguration: WEBHOOKS }, objectSelectors: {} };
  const file = `${sources}/manifests/base/webhook/manifests.yaml`;
  const configurations = await loopbackWebhooks(file, target, overlay);
  await apply(plane, configurations);
  return configurations.flatMap(({ webhooks }) => webhooks.map(({ clientConfig: { url } }) => url));
}

async function statusOf(url: string, client?: Deno.HttpClient): Promise<number> {
  const signal = AbortSignal.timeout(2_000);
  const answer = await fetch(url, { signal, ...(client && { client }) });
  await answer.body?.cancel();
  return answer.status;
}

/** Returns whether all of its webhooks serve: they do so one after another, after it calls itself ready. */
async function servesAll(urls: readonly string[], caPem: string): Promise<boolean> {
  using client = Deno.createHttpClient({ caCerts: [caPem] });
  const statuses = await Promise.all(urls.map((url) => statusOf(url, client)));
  return !statuses.includes(404);
}

/** Options of its start. */
export interface OperatorOptions {
  /** Arguments beside those that a test on one machine needs. */
  readonly args?: readonly string[];
}

/** Installs its CRDs. */
export async function installOperatorCrds(plane: ControlPlane, { sources }: Peer): Promise<void> {
  const crds = `${sources}/manifests/base/crds`;
  // A CRD is too large for the annotation of a client-side apply.
  await kubectl(plane, ["apply", "--server-side", "--validate=false", "-k", crds]);
  await crdsServed(plane, []);
}

/** Starts it, with its CRDs in place; resolves when its webhooks serve. Stop it before the control plane. */
export async function startTrainingOperator(
  plane: ControlPlane,
  { programs, sources }: Peer,
  { args = [] }: OperatorOptions = {},
): Promise<Daemon> {
  const ports = { webhook: freePort(), health: freePort() };
  const { folder, caPem } = await provideCertificates(plane);
  const webhooks = await installWebhooks(plane, sources, { port: ports.webhook, caPem });
  const daemon = createDaemon({
    name: "training-operator",
    program: "unshare",
    args: withFixedFolder(folder, [
      programs[PROGRAM] ?? PROGRAM,
      `--kubeconfig=${plane.kubeconfig}`,
      "--metrics-bind-address=0",
      `--health-probe-bind-address=127.0.0.1:${ports.health}`,
      `--webhook-server-port=${ports.webhook}`,
      "--controller-threads=5",
      ...args,
    ]),
    logFile: `${plane.folder}/training-operator.log`,
    isReady: async () => {
      const isReady = await statusOf(`http://127.0.0.1:${ports.health}/readyz`) === 200;
      return isReady && await servesAll(webhooks, caPem);
    },
  });
  await daemon.start();
  return daemon;
}
