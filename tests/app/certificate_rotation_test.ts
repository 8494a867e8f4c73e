/** Rotation of CA and serving certificate under load: no admission and no push fails for good. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames, MANAGER } from "../../crds/names.ts";
import { isNotFound } from "../../kube/errors.ts";
import { CERTIFICATE_POLICY } from "../../webhook/certificate_decision.ts";
import { trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
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

/** Pushes to every replica, with the CA that the job's ConfigMap holds, until `stop` aborts. */
async function keepPushing(
  { plane }: Replicas,
  job: Pusher,
  replicas: readonly Replica[],
  stop: AbortSignal,
): Promise<{ pushes: number; lost: number }> {
  const count = { pushes: 0, lost: 0 };
  const key = { namespace: "default", name: childNames.tlsConfig(job.name) };
  const once = async (replica: Replica) => {
    const { data } = await plane.client.get(KINDS.configMap, key);
    return (await job.push(replica, count.pushes % 100, data?.[CA_KEY] ?? "")).status === 200;
  };
  while (!stop.aborted) {
    for (const replica of replicas) {
      const done = await once(replica).catch(() => false) || await once(replica).catch(() => false);
      count.pushes += 1;
      if (!done) count.lost += 1;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return count;
}

/** Creates TrainJobs, which the webhook judges, until `stop` aborts. */
async function keepAdmitting(
  { plane }: Replicas,
  stop: AbortSignal,
): Promise<{ admitted: number; refused: string[] }> {
  const seen = { admitted: 0, refused: new Array<string>() };
  while (!stop.aborted) {
    const job = trainJob(`admitted-${seen.admitted}`, "plain", { spec: { suspend: true } });
    const create = () => plane.client.create(KINDS.trainJob, job);
    await create().catch(create).catch((error) => seen.refused.push(String(error)));
    seen.admitted += 1;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  return seen;
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

/** How many CAs each replica trusts. */
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
    const load = Promise.all([
      keepPushing(cluster, job, replicas, stop.signal),
      keepAdmitting(cluster, stop.signal),
    ]);
    try {
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
    } finally {
      stop.abort();
    }
    const [pushed, admitted] = await load;
    assert.ok(pushed.pushes > 20 && admitted.admitted > 5, "there was load");
    assert.equal(pushed.lost, 0);
    assert.deepEqual(admitted.refused, []);
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
