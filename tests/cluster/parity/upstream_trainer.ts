/** Upstream's Trainer v2.3.0, the peer of these comparisons: its CRDs, webhooks and controller. */
import { freePort } from "../../support/free_port.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { createDaemon, type Daemon } from "../control_plane/daemon.ts";
import { moduleFolder, programs } from "../control_plane/programs.ts";
import { install } from "./answers.ts";
import { loopbackWebhooks, readManifests } from "./loopback_webhooks.ts";

const MODULE = "trainer";
const PROGRAM = "trainer-controller-manager";
const GO_MODULE = "github.com/kubeflow/trainer/v2";

/** What upstream's kustomization adds to the generated configurations. */
const OVERLAY = {
  names: {
    MutatingWebhookConfiguration: "defaulter.trainer.kubeflow.org",
    ValidatingWebhookConfiguration: "validator.trainer.kubeflow.org",
  },
  objectSelectors: Object.fromEntries(
    ["clustertrainingruntime", "trainingruntime"].map((kind) => [
      `validator.${kind}.trainer.kubeflow.org`,
      {
        matchExpressions: [{
          key: "trainer.kubeflow.org/webhook-validation",
          operator: "NotIn",
          values: ["disabled"],
        }],
      },
    ]),
  ),
};

/** Its settings as shipped, but for ports, limits of its client, and certificates, which we make. */
function configuration(ports: { health: number; webhook: number }) {
  return {
    apiVersion: "config.trainer.kubeflow.org/v1alpha1",
    kind: "Configuration",
    health: { healthProbeBindAddress: `127.0.0.1:${ports.health}` },
    metrics: { bindAddress: "0", secureServing: false },
    webhook: { port: ports.webhook, host: "127.0.0.1" },
    leaderElection: {
      leaderElect: false,
      resourceLock: "leases",
      resourceName: "trainer.kubeflow.org",
      resourceNamespace: "kubeflow-system",
      leaseDuration: "15s",
      renewDeadline: "10s",
      retryPeriod: "2s",
    },
    controller: { groupKindConcurrency: { "TrainJob.trainer.kubeflow.org": 5 } },
    certManagement: { enable: false },
    clientConnection: { qps: 500, burst: 1000 },
  };
}

/** The folder of upstream's sources, with its manifests. */
export function upstreamTrainerSources(): Promise<string> {
  return moduleFolder(MODULE, GO_MODULE);
}

/** Installs and starts it; answers once it serves. It ends with `stop()` of what is answered. */
export async function startUpstreamTrainer(plane: ControlPlane): Promise<Daemon> {
  const program = (await programs(MODULE))[PROGRAM] ?? PROGRAM;
  const base = `${await upstreamTrainerSources()}/manifests/base`;
  const ports = { health: freePort(), webhook: freePort() };
  const folder = `${plane.folder}/upstream-trainer`;
  // It looks for its certificate in a fixed place of the folder for temporary files.
  const certificates = `${folder}/k8s-webhook-server/serving-certs`;
  await Deno.mkdir(certificates, { recursive: true });
  const { cert, key } = await plane.ca.server("upstream-trainer", ["127.0.0.1"]);
  await Deno.writeTextFile(`${certificates}/tls.crt`, cert);
  await Deno.writeTextFile(`${certificates}/tls.key`, key);
  await Deno.writeTextFile(`${folder}/config.yaml`, JSON.stringify(configuration(ports)));

  for (const plural of ["trainjobs", "trainingruntimes", "clustertrainingruntimes"]) {
    const file = `${base}/crds/trainer.kubeflow.org_${plural}.yaml`;
    await install(plane.client, await readManifests(file));
  }
  const daemon = createDaemon({
    name: PROGRAM,
    program,
    args: [`--config=${folder}/config.yaml`],
    env: { KUBECONFIG: plane.kubeconfig, TMPDIR: folder },
    logFile: `${plane.folder}/${PROGRAM}.log`,
    isReady: async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.health}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  const target = { port: ports.webhook, caPem: plane.ca.cert };
  await install(
    plane.client,
    await loopbackWebhooks(`${base}/webhook/manifests.yaml`, target, OVERLAY),
  );
  return daemon;
}
