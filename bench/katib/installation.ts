/** Katib beside Milepost on a real control plane: CRDs, webhook, trial controller and DB manager. */
import { KINDS } from "../../crds/kinds.ts";
import { createDaemon } from "../../tests/cluster/control_plane/daemon.ts";
import type { ControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { install } from "../../tests/cluster/parity/answers.ts";
import { loopbackWebhooks, readManifests } from "../../tests/cluster/parity/loopback_webhooks.ts";
import { crdsServed } from "../../tests/cluster/support/installation.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { until } from "../../tests/support/until.ts";
import { startPostgres } from "./postgres.ts";
import type { KatibManifests } from "./programs.ts";

/** Namespace of Katib's own things. */
const NAMESPACE = "kubeflow";
/** Fixed path of the certificate of its controller's webhooks. */
const CERTIFICATE_FOLDER = "/tmp/cert";
const CONFIG_KEY = "katib-config.yaml";

/** Katib that runs. */
export interface Katib {
  /** `HOST:PORT` of the DB manager. */
  readonly dbManager: string;
  stop(): Promise<void>;
}

/** Katib's shipped settings, as far as they matter here, with free ports. */
function configuration(ports: { webhook: number; metrics: number; health: number }): string {
  return JSON.stringify({
    apiVersion: "config.kubeflow.org/v1beta1",
    kind: "KatibConfig",
    init: {
      certGenerator: { enable: false },
      controller: {
        webhookPort: ports.webhook,
        metricsAddr: `127.0.0.1:${ports.metrics}`,
        healthzAddr: `127.0.0.1:${ports.health}`,
        trialResources: [
          "TrainJob.v1alpha1.trainer.kubeflow.org",
          "Job.v1.batch",
          "PyTorchJob.v1.kubeflow.org",
        ],
      },
    },
    runtime: { metricsCollectors: [{ kind: "StdOut", image: "none" }] },
  });
}

async function listens(port: number): Promise<boolean> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => undefined);
  connection?.close();
  return connection !== undefined;
}

/** Starts Katib's DB manager on a Postgres, whose table it makes. */
export async function startDbManager(
  plane: Pick<ControlPlane, "folder">,
  program: string,
  postgresPort: number,
) {
  const port = freePort();
  const daemon = createDaemon({
    name: "db-manager",
    program,
    args: [`--listen-address=127.0.0.1:${port}`],
    env: {
      DB_NAME: "postgres",
      DB_USER: "katib",
      DB_PASSWORD: "none",
      KATIB_POSTGRESQL_DB_HOST: "127.0.0.1",
      KATIB_POSTGRESQL_DB_PORT: String(postgresPort),
      KATIB_POSTGRESQL_DB_DATABASE: "katib",
    },
    logFile: `${plane.folder}/db-manager.log`,
    isReady: () => listens(port),
  });
  await daemon.start();
  return { daemon, port };
}

async function startController(plane: ControlPlane, program: string, dbManagerPort: number) {
  const ports = { webhook: freePort(), metrics: freePort(), health: freePort() };
  const folder = `${plane.folder}/katib`;
  await Deno.mkdir(folder);
  const { cert, key } = await plane.ca.server("katib-controller", ["127.0.0.1"]);
  await Deno.writeTextFile(`${folder}/tls.crt`, cert);
  await Deno.writeTextFile(`${folder}/tls.key`, key, { mode: 0o600 });
  await Deno.writeTextFile(`${folder}/config.yaml`, configuration(ports));
  await plane.client.create(KINDS.configMap, {
    metadata: { name: "katib-config", namespace: NAMESPACE },
    data: { [CONFIG_KEY]: configuration(ports) },
  });
  // It gets a file system of its own in which the fixed place holds the certificate.
  const script = `mkdir -p ${CERTIFICATE_FOLDER} && mount --bind "$0" ${CERTIFICATE_FOLDER} && ` +
    'exec "$@"';
  const daemon = createDaemon({
    name: "katib-controller",
    program: "unshare",
    args: [
      ...["--map-root-user", "--mount", "--", "sh", "-c", script, folder],
      program,
      `--katib-config=${folder}/config.yaml`,
    ],
    env: {
      KUBECONFIG: plane.kubeconfig,
      KATIB_CORE_NAMESPACE: NAMESPACE,
      KATIB_DB_MANAGER_SERVICE_NAMESPACE: "",
      KATIB_DB_MANAGER_SERVICE_IP: "127.0.0.1",
      KATIB_DB_MANAGER_SERVICE_PORT: String(dbManagerPort),
    },
    logFile: `${plane.folder}/katib-controller.log`,
    isReady: async () => {
      const answer = await fetch(`http://127.0.0.1:${ports.health}/readyz`);
      await answer.body?.cancel();
      return answer.ok;
    },
  });
  await daemon.start();
  return { daemon, webhookPort: ports.webhook };
}

/** Katib v0.19, as the caller has built it. */
export interface KatibParts {
  readonly controller: string;
  readonly dbManager: string;
  readonly manifests: KatibManifests;
}

/** Installs Katib's CRDs. */
export async function installKatibCrds(
  plane: ControlPlane,
  { crds }: KatibManifests,
): Promise<void> {
  for (const file of crds) await install(plane.client, await readManifests(file));
  const kinds = ["experiments", "suggestions", "trials"];
  await crdsServed(plane, kinds.map((plural) => `crd/${plural}.kubeflow.org`));
}

/**
 * Starts Katib, whose CRDs are installed. Its webhook is reached on loopback; everything else is as
 * shipped.
 */
export async function startKatib(plane: ControlPlane, parts: KatibParts): Promise<Katib> {
  await using cleanup = new AsyncDisposableStack();
  const postgres = await startPostgres(plane.folder);
  cleanup.defer(() => postgres.daemon.stop("SIGINT"));
  await plane.client.create(KINDS.namespace, { metadata: { name: NAMESPACE } });
  const dbManager = await startDbManager(plane, parts.dbManager, postgres.port);
  cleanup.defer(() => dbManager.daemon.stop());
  const controller = await startController(plane, parts.controller, dbManager.port);
  cleanup.defer(() => controller.daemon.stop());
  await until("Katib's webhook", () => listens(controller.webhookPort));
  const target = { port: controller.webhookPort, caPem: plane.ca.cert };
  await install(
    plane.client,
    await loopbackWebhooks(parts.manifests.webhooks, target, { names: {}, objectSelectors: {} }),
  );
  const started = cleanup.move();
  return {
    dbManager: `127.0.0.1:${dbManager.port}`,
    stop: () => started.disposeAsync(),
  };
}
