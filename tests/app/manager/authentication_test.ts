/** Tests of the three modes of `--authentication` in a whole Milepost. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { jobAudience, statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { ControlPlane } from "../../../app/standalone/control_plane.ts";
import type { ClusterTrainingRuntime } from "../../../crds/training_runtime.ts";
import { refusedOnceMadeAnew, refusedWithinASecond } from "../../support/revocation.ts";
import { progress, requestToken, shellRuntime, trainJob } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { type Replica, withReplicas } from "./replicas.ts";

const MODES = {
  "local+review": { jwks: true, reviews: true },
  review: { jwks: false, reviews: true },
  local: { jwks: true, reviews: false },
} as const;

/** A runtime whose pods have a service account of their own. */
function runtimeAs(account: string): ClusterTrainingRuntime {
  const runtime = shellRuntime(account, "sleep 600");
  const [job] = runtime.spec?.template.spec?.replicatedJobs ?? [];
  assert(job?.template.spec?.template.spec);
  job.template.spec.template.spec.serviceAccountName = account;
  return runtime;
}

async function podOfNew({ client }: ControlPlane, name: string, account: string): Promise<Pod> {
  await client.create(KINDS.serviceAccount, { metadata: { name: account, namespace: "default" } });
  await client.create(KINDS.clusterTrainingRuntime, runtimeAs(account));
  await client.create(KINDS.trainJob, trainJob(name, account));
  return await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items[0];
  });
}

function tokenOf({ client }: ControlPlane, pod: Pod, audience = PUSH_AUDIENCE): Promise<string> {
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace: "default", name: pod.spec?.serviceAccountName ?? "" };
  return requestToken(client, account, { audience, pod: { name, uid } });
}

async function push(replica: Replica, name: string, token: string): Promise<number> {
  using client = Deno.createHttpClient({ caCerts: [replica.manager.caBundle()] });
  const answer = await fetch(`${replica.status}${statusPath(TRAINJOB, "default", name)}`, {
    method: "POST",
    client,
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify(progress(7)),
    signal: AbortSignal.timeout(10_000),
  });
  await answer.body?.cancel();
  return answer.status;
}

const key = (object: { metadata?: { name?: string } }) => ({
  namespace: "default",
  name: object.metadata?.name ?? "",
});
const finalizers = (...names: string[]) => ({
  type: "merge" as const,
  body: { metadata: { finalizers: names } },
});

for (const [authentication, { jwks, reviews }] of Object.entries(MODES)) {
  Deno.test(`--authentication ${authentication} accepts a job's pods, and refuses revoked tokens within a second`, async (t) => {
    await withReplicas(async ({ plane, start }) => {
      const { client } = plane;
      const replica = await start("a", { flags: { authentication } });
      const pod = await podOfNew(plane, "job", "trainer");
      const token = await tokenOf(plane, pod);
      const other = await tokenOf(plane, await podOfNew(plane, "other", "another"));
      await until("the replica leads", () => replica.manager.leading());

      await t.step("its own pod's push is accepted, another's is not", async () => {
        assert.equal(await push(replica, "job", token), 200);
        assert.equal(await push(replica, "job", other), 403);
        const forged = `${token.slice(0, token.lastIndexOf("."))}.AAAA`;
        assert.equal(await push(replica, "job", forged), 401);
      });
      await t.step("upstream's audience is accepted for its own job", async () => {
        const wrong = await tokenOf(plane, pod, jobAudience(TRAINJOB, "default", "other"));
        assert.equal(await push(replica, "job", wrong), 401);
        const own = await tokenOf(plane, pod, jobAudience(TRAINJOB, "default", "job"));
        assert.equal(await push(replica, "job", own), 200);
      });
      await t.step("it makes only the reviews that the mode needs", async () => {
        const reviewed = () => replica.metric("token_reviews_total", '{result="authenticated"}');
        if (reviews) await until("a review", async () => await reviewed() > 0);
        else assert.equal(await reviewed(), 0);
        const refused = await replica.metric("token_reviews_total", '{result="refused"}');
        assert.equal(refused, authentication === "review" ? 1 : 0, "who judges what is forged");
        const read = await replica.metric("jwks_refreshes_total", '{result="ok"}');
        assert.equal(read > 0, jwks);
      });
      await t.step("a pod that is only terminating still reports", async () => {
        await client.patch(KINDS.pod, key(pod), finalizers("example.com/stay"));
        await client.delete(KINDS.pod, key(pod), { gracePeriodSeconds: 0 });
        const { metadata } = await client.get(KINDS.pod, key(pod));
        assert.notEqual(metadata?.deletionTimestamp, undefined);
        // Also by a token that nobody has seen before.
        assert.equal(await push(replica, "job", await tokenOf(plane, pod)), 200);
      });
      await t.step(
        "once it is deleted its token is refused, also when a pod of the same name exists",
        async () => {
          const remove = () => client.patch(KINDS.pod, key(pod), finalizers());
          const object = pod;
          await refusedWithinASecond({
            client,
            kind: KINDS.pod,
            object,
            remove,
            push: () => push(replica, "job", token),
          });
          await client.create(KINDS.pod, {
            metadata: key(pod),
            spec: { containers: [{ name: "c", image: "none" }] },
          });
          assert.notEqual(await push(replica, "job", token), 200);
        },
      );
      await t.step("a service account is deleted, and created again", async () => {
        const account = { namespace: "default", name: "another" };
        await refusedOnceMadeAnew(client, account, () => push(replica, "other", other));
      });
    });
  });
}

Deno.test("a trial's push waits for the review of its token, a plain job's does not", async () => {
  await withReplicas(async ({ plane, start }) => {
    const { client } = plane;
    const replica = await start("a", { flags: { leaderElect: "false" } });
    const trial = await podOfNew(plane, "trial", "trainer");
    const plain = await podOfNew(plane, "plain", "another");
    await client.patch(KINDS.pod, key(trial), {
      type: "merge",
      body: { metadata: { labels: { [LABELS.trial]: "trial" } } },
    });
    assert.equal(await push(replica, "trial", await tokenOf(plane, trial)), 200);
    assert.equal(await push(replica, "plain", await tokenOf(plane, plain)), 200);
    const [ofTrial, ofPlain] = [await tokenOf(plane, trial), await tokenOf(plane, plain)];
    // From now on nobody answers a TokenReview.
    replica.cutOff();
    await until(
      "the trial's push to be told to wait",
      async () => await push(replica, "trial", ofTrial) === 503,
    );
    assert.equal(await push(replica, "plain", ofPlain), 200);
  });
});
