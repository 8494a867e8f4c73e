/**
 * Tests of authentication against Kubernetes' own API server, controllers and tokens, by default and with
 * `--authentication review`: callers that are refused, and how soon after their identity is deleted.
 */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { Pod } from "../../platform/kube/kubernetes.ts";
import { jobAudience } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { PUSH_AUDIENCE } from "../../crds/names.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import { refusedOnceMadeAnew, refusedWithinASecond } from "../support/revocation.ts";
import { requestToken, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { podLog } from "../support/pod_log.ts";
import { until } from "../support/until.ts";
import { type Attack, createAttack, NAMESPACE, podOfJob } from "./support/attacker.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { metricOf } from "./support/way.ts";

const withSharedCluster = shareCluster();

/** What a pod prints once it ignores SIGTERM. */
const STUBBORN = "stubborn";

/** A runtime whose pods end when they have to, and have a service account of their own. */
function stubbornRuntime(account: string): ClusterTrainingRuntime {
  const runtime = shellRuntime(
    account,
    `trap "" TERM; echo ${STUBBORN}; while :; do sleep 1; done`,
  );
  const [job] = runtime.spec?.template.spec?.replicatedJobs ?? [];
  const pod = job?.template.spec?.template.spec;
  assert(pod);
  pod.serviceAccountName = account;
  pod.terminationGracePeriodSeconds = 60;
  return runtime;
}

/** A TrainJob whose service account has its name, and its pod, which runs and ignores SIGTERM. */
async function running({ client }: Attack, name: string): Promise<Pod> {
  await client.create(KINDS.serviceAccount, { metadata: { name, namespace: NAMESPACE } });
  await client.create(KINDS.clusterTrainingRuntime, stubbornRuntime(name));
  await client.create(KINDS.trainJob, trainJob(name, name));
  await trainJobThat(client, name, "runs", ({ status }) => status?.state === "Running");
  const pod = await podOfJob(client, `${name}-node-0`);
  await until(
    "it ignores SIGTERM",
    async () => (await podLog(client, pod.metadata?.name ?? ""))?.includes(STUBBORN),
  );
  return pod;
}

function tokenOf({ client }: Attack, pod: Pod, audience = PUSH_AUDIENCE): Promise<string> {
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: NAMESPACE, name: pod.spec?.serviceAccountName ?? "" };
  return requestToken(client, account, { audience, pod: { name, uid } });
}

for (const authentication of ["local+review", "review"]) {
  Deno.test(`--authentication ${authentication} follows a real API server's deletions within a second`, (t) =>
    withSharedCluster(async (cluster) => {
      const attack = await createAttack(cluster, { policy: false });
      const { client, push } = attack;
      const [pod, other] = await Promise.all([running(attack, "job"), running(attack, "other")]);
      const [token, otherToken] = [await tokenOf(attack, pod), await tokenOf(attack, other)];
      const key = { namespace: NAMESPACE, name: pod.metadata?.name ?? "" };

      await t.step("its own pod's push is accepted, another's is not", async () => {
        assert.equal(await push("job", token), 200);
        assert.equal(await push("job", otherToken), 403);
        const forged = `${token.slice(0, token.lastIndexOf("."))}.AAAA`;
        assert.equal(await push("job", forged), 401);
      });
      await t.step("upstream's audience is accepted for its own job", async () => {
        const wrong = await tokenOf(attack, pod, jobAudience(TRAINJOB, NAMESPACE, "other"));
        assert.equal(await push("job", wrong), 401);
        const own = await tokenOf(attack, pod, jobAudience(TRAINJOB, NAMESPACE, "job"));
        assert.equal(await push("job", own), 200);
        const unbound = await requestToken(client, { namespace: NAMESPACE, name: "job" }, {
          audience: PUSH_AUDIENCE,
        });
        assert.equal(await push("job", unbound), 403);
      });
      await t.step("its tokens are reviewed", async () => {
        const reviewed = (result: string) =>
          metricOf(cluster.manager, `milepost_token_reviews_total{result="${result}"}`);
        await until("reviews", async () => await reviewed("authenticated") >= 2);
        assert.equal(await reviewed("refused"), authentication === "review" ? 1 : 0);
      });
      await t.step("a pod that is only terminating still reports", async () => {
        await client.delete(KINDS.pod, key);
        const { metadata } = await client.get(KINDS.pod, key);
        assert.notEqual(metadata?.deletionTimestamp, undefined);
        assert.equal(await push("job", token), 200);
        // Also by a token that nobody has seen before.
        assert.equal(await push("job", await tokenOf(attack, pod)), 200);
      });
      await t.step("once it is deleted its token is refused", async () => {
        await refusedWithinASecond({
          client,
          kind: KINDS.pod,
          object: pod,
          remove: () => client.delete(KINDS.pod, key, { gracePeriodSeconds: 0 }),
          push: () => push("job", token),
        });
      });
      await t.step("a service account is deleted, and created again", async () => {
        const account = { namespace: NAMESPACE, name: "other" };
        await refusedOnceMadeAnew(client, account, () => push("other", otherToken));
      });
    }, { inProcess: true, flags: { authentication } }));
}
