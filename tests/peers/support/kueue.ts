/** Kueue on a real control plane: its CRDs, its webhooks and its controller, as a process of the test. */
import { createDaemon, type Daemon } from "../../cluster/control_plane/daemon.ts";
import type { ControlPlane } from "../../cluster/control_plane/control_plane.ts";
import { crdsServed, kubectl } from "../../cluster/support/installation.ts";
import { loopbackWebhooks } from "../../cluster/parity/loopback_webhooks.ts";
import { freePort } from "../../support/free_port.ts";
import type { Peer, PeerName } from "./peer.ts";

/** Kueue's module. */
export const KUEUE: PeerName = {
  module: "kueue",
  goModule: "sigs.k8s.io/kueue",
  programs: ["kueue"],
};

/** User name of its controller. */
export const KUEUE_USER = "kueue";
/** Name of its mutating webhook configuration. */
export const MUTATING = "kueue-mutating";
const NAMESPACE = "kueue-system";

/** The kinds of workloads that it manages, by the names of their webhooks: TrainJobs, what they own, and v1 jobs. */
const JOBS = ["job", "jobset", "pod", "trainjob", "pytorchjob", "tfjob"];
/** Its own kinds that have webhooks. */
const OWN = ["workload", "clusterqueue", "resourceflavor", "cohort"];

interface Ports {
  readonly health: number;
  readonly metrics: number;
  readonly webhook: number;
}

function configuration({ health, metrics, webhook }: Ports, certDir: string) {
  return {
    apiVersion: "config.kueue.x-k8s.io/v1beta2",
    kind: "Configuration",
    namespace: NAMESPACE,
    leaderElection: { leaderElect: false },
    internalCertManagement: { enable: false },
    health: { healthProbeBindAddress: `127.0.0.1:${health}` },
    metrics: { bindAddress: `127.0.0.1:${metrics}` },
    webhook: { host: "127.0.0.1", port: webhook, certDir },
    // It would serve an aggregated API on a fixed port.
    featureGates: { VisibilityOnDemand: false },
    integrations: {
      frameworks: [
        "batch/job",
        "jobset.x-k8s.io/jobset",
        "trainer.kubeflow.org/trainjob",
        "kubeflow.org/pytorchjob",
        "kubeflow.org/tfjob",
        "pod",
      ],
    },
  };
}

/** Applies on the server: a CRD is too large for the annotation of a client-side apply. */
async function put(plane: ControlPlane, objects: readonly unknown[]): Promise<void> {
  const list = { apiVersion: "v1", kind: "List", items: objects };
  const args = ["apply", "--server-side", "--validate=false", "-f", "-"];
  await kubectl(plane, args, JSON.stringify(list));
}

async function webhooks(plane: ControlPlane, sources: string, port: number) {
  const file = `${sources}/config/components/webhook/manifests.yaml`;
  const names = {
    MutatingWebhookConfiguration: MUTATING,
    ValidatingWebhookConfiguration: "kueue-validating",
  };
  const all = await loopbackWebhooks(file, { port, caPem: plane.ca.cert }, {
    names,
    objectSelectors: {},
  });
  const elsewhere = {
    matchExpressions: [{
      key: "kubernetes.io/metadata.name",
      operator: "NotIn",
      values: ["kube-system", NAMESPACE],
    }],
  };
  const isFor = (name: string, kinds: readonly string[]) =>
    kinds.some((kind) => [`m${kind}.kb.io`, `v${kind}.kb.io`].includes(name));
  return all.map(({ webhooks, ...rest }) => ({
    ...rest,
    webhooks: (Array.isArray(webhooks) ? webhooks : [])
      .filter(({ name }) => isFor(name, [...JOBS, ...OWN]))
      .map((one) => isFor(one.name, JOBS) ? { ...one, namespaceSelector: elsewhere } : one),
  }));
}

/**
 * The program with an /etc of its own, in a mount namespace: it reads the certificate of its metrics from
 * a fixed place there.
 */
function withCertificateInEtc(folder: string, command: readonly string[]): string[] {
  const place = "/etc/kueue/metrics/certs";
  const script = `mkdir -p "$0/metrics" && cp "$0/tls.crt" "$0/tls.key" "$0/metrics" && ` +
    `mount -t tmpfs tmpfs /etc && mkdir -p ${place} && cp "$0/metrics/"* ${place} && exec "$@"`;
  const unshare = ["unshare", "--map-root-user", "--mount", "--"];
  return [...unshare, "sh", "-c", script, folder, ...command];
}

async function writeFiles(plane: ControlPlane, ports: Ports): Promise<string> {
  const folder = `${plane.folder}/kueue`;
  await Deno.mkdir(folder, { recursive: true });
  const { cert, key } = await plane.ca.server("kueue", ["127.0.0.1"]);
  await Deno.writeTextFile(`${folder}/tls.crt`, cert);
  await Deno.writeTextFile(`${folder}/tls.key`, key, { mode: 0o600 });
  await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify(configuration(ports, folder)));
  return folder;
}

/**
 * Installs and starts Kueue; resolves when its webhooks serve. The CRDs of TrainJobs and JobSets must be
 * there. Stop it before the control plane.
 */
export async function startKueue(
  plane: ControlPlane,
  { programs, sources }: Peer,
): Promise<Daemon> {
  const { kueue: program = "kueue" } = programs;
  const ports = { health: freePort(), metrics: freePort(), webhook: freePort() };
  const folder = await writeFiles(plane, ports);
  await put(plane, [{ apiVersion: "v1", kind: "Namespace", metadata: { name: NAMESPACE } }]);
  const crds = `${sources}/config/components/crd/bases`;
  await kubectl(plane, ["apply", "--server-side", "--validate=false", "-f", crds]);
  await crdsServed(plane, []);
  const who = { user: KUEUE_USER, groups: ["system:masters"] };
  const kubeconfig = await plane.kubeconfigFor("kueue", who);
  const [first = program, ...args] = withCertificateInEtc(folder, [
    program,
    `--config=${folder}/config.json`,
    `--kubeconfig=${kubeconfig}`,
    "--zap-log-level=2",
  ]);
  const daemon = createDaemon({
    name: "kueue",
    program: first,
    args,
    logFile: `${plane.folder}/kueue.log`,
    isReady: async () => {
      const url = `http://127.0.0.1:${ports.health}/readyz`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  try {
    await put(plane, await webhooks(plane, sources, ports.webhook));
  } catch (error) {
    await daemon.stop();
    throw error;
  }
  return daemon;
}
