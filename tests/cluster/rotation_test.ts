/**
 * Test of the rotation of certificates on a real control plane, under load and behind Services: before they
 * expire, and when their Secret is deleted. No admission and no push fails twice.
 */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readConfiguration } from "../../app/configuration/configuration.ts";
import { type Manager, startManager } from "../../app/manager/manager.ts";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames, MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import {
  AUTHORITY_LIFE_MS,
  createAuthority,
  issueServingCertificate,
  SERVING_LIFE_MS,
} from "../../webhook/certificate_authority.ts";
import { CERTIFICATE_POLICY } from "../../webhook/certificate_decision.ts";
import { encodeSecret } from "../../webhook/certificate_secret.ts";
import { servingNames } from "../../webhook/serving_names.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { type Installation } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { managerSettings } from "./support/manager.ts";
import { reporterOf, statusOf } from "./support/pushing.ts";
import { portOf, startService, type TestService } from "./support/service.ts";

const withSharedCluster = shareCluster();

const SECRET = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
/** A rotation takes seconds: as long as watches take here, with much to spare. */
const POLICY = { ...CERTIFICATE_POLICY, propagationMs: 4_000 };
const DAY_MS = 24 * 60 * 60 * 1000;

/** Certificates of long ago: both the CA and what it signed end within weeks. */
async function storeOldCertificates(client: KubeClient): Promise<string> {
  const authority = await createAuthority(Date.now() - AUTHORITY_LIFE_MS + 40 * DAY_MS);
  const names = servingNames({
    service: MANAGER.name,
    namespace: MANAGER.namespace,
    baseUrls: ["https://127.0.0.1"],
  });
  const issued = Date.now() - SERVING_LIFE_MS + 20 * DAY_MS;
  const serving = await issueServingCertificate(authority, names, issued);
  const set = { authority, serving, older: [] };
  await client.create(KINDS.secret, encodeSecret(set, SECRET, undefined));
  return authority.certificate;
}

/** Result of a load: its attempts, and those that failed twice in a row. */
interface Load {
  readonly tried: number;
  readonly failed: readonly string[];
}

/** Does `work` again and again until `stop` aborts; what fails is tried once more. */
async function keep(work: (turn: number) => Promise<void>, stop: AbortSignal): Promise<Load> {
  const failed: string[] = [];
  let tried = 0;
  for (; !stop.aborted; tried++) {
    await work(tried).catch(() => work(tried)).catch((error) => failed.push(String(error)));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { tried, failed };
}

/** A push on a new connection, with the CA that the pod's file has now. */
async function pushOnce(client: KubeClient, url: string, turn: number): Promise<void> {
  using reporter = await reporterOf(client, { trainJob: "rotated" });
  const code = await reporter.send(url, statusOf(turn % 100));
  if (code !== 200) throw new Error(`push ${turn}: ${code} ${reporter.lastAnswer}`);
}

/** An admission by both webhooks; nothing is stored. */
async function admitOnce(client: KubeClient, turn: number): Promise<void> {
  const path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs?dryRun=All";
  await client.read(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(trainJob(`admitted-${turn}`, "long")),
  });
}

/** Returns the number of CAs that each replica trusts. */
const trusted = (managers: readonly Manager[]) =>
  managers.map((manager) => manager.caBundle().match(/BEGIN CERTIFICATE/g)?.length ?? 0);

/** In the end both replicas trust the new CA alone, and so does everybody who calls them. */
async function rotates(client: KubeClient, managers: readonly Manager[], before: string) {
  await until(
    "the old CA to be forgotten",
    () =>
      managers.every((manager) => !manager.caBundle().includes(before)) &&
      trusted(managers).every((it) => it === 1),
    { timeoutMs: 60_000 },
  );
  const now = managers[0]?.caBundle() ?? "";
  assert.equal(managers[1]?.caBundle(), now);
  const config = { namespace: "default", name: childNames.tlsConfig("rotated") };
  await until(
    "the ConfigMap of the job to have the new CA alone",
    async () => (await client.get(KINDS.configMap, config)).data?.[CA_KEY] === now,
  );
  const own = { name: MANAGER.mutatingConfiguration };
  await until("the webhooks to have the new CA alone", async () => {
    const { webhooks = [] } = await client.get(KINDS.mutatingWebhookConfiguration, own);
    return webhooks.every(({ clientConfig: { caBundle = "" } }) =>
      Buffer.from(caBundle, "base64").toString() === now
    );
  });
}

/** A replica in this process, behind both Services. */
async function startReplica(
  { kubeconfig, client }: Installation,
  { webhooks, statuses }: { webhooks: TestService; statuses: TestService },
): Promise<Manager> {
  const own = managerSettings(kubeconfig);
  webhooks.add(portOf(own.webhookBaseUrl));
  statuses.add(portOf(own.statusBaseUrl));
  const flags = { ...own, webhookBaseUrl: webhooks.url, statusBaseUrl: statuses.url };
  const configuration = readConfiguration({ environment: {}, flags });
  const manager = await startManager(configuration, { client, certificatePolicy: POLICY });
  await manager.whenReady();
  return manager;
}

Deno.test("certificates rotate before they expire and when the Secret is deleted, and no caller fails twice", async (t) => {
  await withSharedCluster(async ({ plane, installation, manager: first }) => {
    const { client } = plane;
    // The replicas of this test are its own, behind Services.
    await first.kill();
    await client.delete(KINDS.secret, SECRET);
    const old = await storeOldCertificates(client);
    await using cleanup = new AsyncDisposableStack();
    const services = { webhooks: startService(), statuses: startService() };
    cleanup.defer(() => services.webhooks.close());
    cleanup.defer(() => services.statuses.close());
    const managers = await Promise.all([0, 1].map(async () => {
      const manager = await startReplica(installation, services);
      cleanup.defer(() => manager.stop());
      return manager;
    }));
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("long", "sleep 600"));
    await client.create(KINDS.trainJob, trainJob("rotated", "long"));
    await trainJobThat(client, "rotated", "runs", ({ status }) => status?.state === "Running");
    const stop = new AbortController();
    const load = Promise.all([
      keep((turn) => pushOnce(client, services.statuses.url, turn), stop.signal),
      keep((turn) => admitOnce(client, turn), stop.signal),
    ]);
    const open = { sanitizeOps: false, sanitizeResources: false };
    try {
      await t.step({
        ...open,
        name: "before they expire",
        fn: () => rotates(client, managers, old),
      });
      await t.step({
        ...open,
        name: "when the Secret is deleted",
        fn: async () => {
          const before = managers[0]?.caBundle() ?? "";
          await client.delete(KINDS.secret, SECRET);
          await until("both CAs to be trusted", () => trusted(managers).every((it) => it === 2));
          await rotates(client, managers, before);
        },
      });
    } finally {
      stop.abort();
    }
    for (const { tried, failed } of await load) {
      assert.ok(tried > 20, "there was load");
      assert.deepEqual(failed, []);
    }
  }, { inProcess: true });
});
