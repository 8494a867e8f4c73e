/** Test of the rotation of CA and serving certificate under load: no admission and no push fails for good. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { KINDS } from "../../../crds/kinds.ts";
import { CA_KEY, childNames, MANAGER } from "../../../crds/names.ts";
import { isNotFound } from "../../../platform/kube/errors.ts";
import { CERTIFICATE_POLICY } from "../../../webhook/certificate_decision.ts";
import { trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import {
  leaderAmong,
  type Pusher,
  pusher,
  type Replica,
  type Replicas,
  withReplicas,
} from "./replicas.ts";

const SECRET = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
/** Everything is rotated within seconds: as long as watches take here, with much to spare. */
const POLICY = { ...CERTIFICATE_POLICY, propagationMs: 3_000 };

/** Requests during a rotation, with their counts. */
interface Load {
  pushes: number;
  lost: number;
  admitted: number;
  readonly refused: string[];
}

/** Pushes to every replica, with the CA that the job's ConfigMap holds, until `stop` aborts. */
async function keepPushing(
  { plane }: Replicas,
  job: Pusher,
  replicas: readonly Replica[],
  load: Load,
  stop: AbortSignal,
): Promise<void> {
  const key = { namespace: "default", name: childNames.tlsConfig(job.name) };
  const once = async (replica: Replica) => {
    const { data } = await plane.client.get(KINDS.configMap, key);
    return (await job.push(replica, load.pushes % 100, data?.[CA_KEY] ?? "")).status === 200;
  };
  while (!stop.aborted) {
    for (const replica of replicas) {
      const done = await once(replica).catch(() => false) || await once(replica).catch(() => false);
      load.pushes += 1;
      if (!done) load.lost += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Creates TrainJobs, which the webhook judges, until `stop` aborts. */
async function keepAdmitting(
  { plane }: Replicas,
  load: Load,
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    const job = trainJob(`admitted-${load.admitted}`, "plain", { spec: { suspend: true } });
    const create = () => plane.client.create(KINDS.trainJob, job);
    await create().catch(create).catch((error) => load.refused.push(String(error)));
    load.admitted += 1;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function authorityOf({ plane }: Replicas): Promise<string | undefined> {
  try {
    const { data } = await plane.client.get(KINDS.secret, SECRET);
    const pem = Buffer.from(data?.[CA_KEY] ?? "", "base64").toString();
    return pem.slice(0, pem.indexOf("-----END"));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Returns the number of CAs that each replica trusts. */
const trusted = (replicas: readonly Replica[]) =>
  replicas.map(({ manager }) => manager.caBundle().match(/BEGIN CERTIFICATE/g)?.length ?? 0);

Deno.test("a deleted Secret leads to a new CA everywhere without a lost push or admission", async () => {
  await withReplicas(async (cluster) => {
    const options = { certificatePolicy: POLICY };
    const replicas = [await cluster.start("a", options), await cluster.start("b", options)];
    await leaderAmong(replicas);
    const [a, b] = replicas;
    assert.equal(a?.manager.caBundle(), b?.manager.caBundle(), "both replicas share one CA");
    const before = await authorityOf(cluster);
    const job = await pusher(cluster.plane, "rotated");
    const stop = new AbortController();
    const load: Load = { pushes: 0, lost: 0, admitted: 0, refused: [] };
    const loading = Promise.all([
      keepPushing(cluster, job, replicas, load, stop.signal),
      keepAdmitting(cluster, load, stop.signal),
    ]);
    try {
      await until("there is load", () => load.pushes > 2 && load.admitted > 1);
      await cluster.plane.client.delete(KINDS.secret, SECRET);
      await until(
        "both replicas trust the next CA beside the old one",
        () => trusted(replicas).every((it) => it === 2),
      );
      await until("the next CA signs", async () => {
        const now = await authorityOf(cluster);
        return now !== undefined && now !== before;
      });
      await until("the old CA is forgotten", () => trusted(replicas).every((it) => it === 1));
      await until("the job's ConfigMap has the new CA alone", async () => {
        const key = { namespace: "default", name: childNames.tlsConfig(job.name) };
        const { data } = await cluster.plane.client.get(KINDS.configMap, key);
        return data?.[CA_KEY] === a?.manager.caBundle();
      });
      await until("the webhooks have the new CA alone", async () => {
        const { webhooks = [] } = await cluster.plane.client.get(
          KINDS.mutatingWebhookConfiguration,
          { name: MANAGER.mutatingConfiguration },
        );
        return webhooks.every(({ clientConfig }) =>
          Buffer.from(clientConfig.caBundle ?? "", "base64").toString() === a?.manager.caBundle()
        );
      });
      await until("there was load", () => load.pushes > 20 && load.admitted > 5);
    } finally {
      stop.abort();
    }
    await loading;
    assert.equal(load.lost, 0);
    assert.deepEqual(load.refused, []);
  });
});

Deno.test("a follower adopts certificates and never changes them", async () => {
  await withReplicas(async (cluster) => {
    const leader = await cluster.start("a");
    await leaderAmong([leader]);
    const before = await authorityOf(cluster);
    // A follower that would replace everything at once, if it might.
    const eager = { ...CERTIFICATE_POLICY, authorityRenewalMs: 20 * 365 * 24 * 3_600_000 };
    const follower = await cluster.start("b", { certificatePolicy: eager });
    assert.equal(follower.manager.leading(), false);
    assert.equal(follower.manager.caBundle(), leader.manager.caBundle());
    assert.equal(await authorityOf(cluster), before);
    await leader.manager.stop();
    await until("it replaces them once it leads", () => trusted([follower])[0] === 2);
  });
});
