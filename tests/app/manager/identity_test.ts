/** Tests of the status endpoint in a whole Milepost: only a TrainJob's own pods may report for it. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { generateKeyPair, SignJWT } from "jose";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { jobAudience } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import {
  progress,
  push,
  requestToken,
  shellRuntime,
  trainJob,
  trainJobThat,
  withStandalone,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const DEFAULT = { namespace: "default", name: "default" };

/** The pod of a TrainJob, once it is there. Nothing runs it: these tests hold its token themselves. */
function podOf(standalone: Standalone, job: string, namespace = "default"): Promise<Pod> {
  return until(`a pod of ${job}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${job}`;
    const { items } = await standalone.client.list(KINDS.pod, { namespace, labelSelector });
    return items[0];
  });
}

async function tokenOf(
  standalone: Standalone,
  pod: Pod,
  audience = PUSH_AUDIENCE,
): Promise<string> {
  const { name = "", uid = "", namespace = "" } = pod.metadata ?? {};
  return await requestToken(standalone.client, { namespace, name: "default" }, {
    audience,
    pod: { name, uid },
  });
}

/** A token with parts of another. */
function reassembled(token: string, change: { header?: object; payload?: object }): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  const merge = (part: string, more?: object) =>
    more === undefined ? part : Buffer.from(JSON.stringify({
      ...JSON.parse(Buffer.from(part, "base64url").toString()),
      ...more,
    })).toString("base64url");
  return [merge(header, change.header), merge(payload, change.payload), signature].join(".");
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

Deno.test("the status endpoint accepts pushes of a job's own pods only", async (t) => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await client.create(KINDS.namespace, { metadata: { name: "other" } });
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    await client.create(KINDS.trainJob, trainJob("a", "idle"));
    await client.create(KINDS.trainJob, trainJob("b", "idle"));
    await client.create(KINDS.trainJob, trainJob("a", "idle", { namespace: "other" }));
    const [podA, podB] = [await podOf(standalone, "a"), await podOf(standalone, "b")];
    const tokenA = await tokenOf(standalone, podA);
    const tokenB = await tokenOf(standalone, podB);

    await t.step("its own pod's push shows on the TrainJob", async () => {
      const answer = await push(standalone, { name: "a" }, tokenA, progress(10, { loss: "0.5" }));
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      await trainJobThat(
        client,
        "a",
        "shows 10 %",
        (job) => job.status?.trainerStatus?.progressPercentage === 10,
      );
    });

    await t.step("upstream's audience is accepted for that job only", async () => {
      const own = await tokenOf(standalone, podB, jobAudience(TRAINJOB, "default", "b"));
      assert.equal((await push(standalone, { name: "b" }, own, progress(5))).status, 200);
      const wrong = await tokenOf(standalone, podB, jobAudience(TRAINJOB, "default", "a"));
      assert.equal((await push(standalone, { name: "b" }, wrong, progress(6))).status, 401);
    });

    const foreign = await podOf(standalone, "a", "other");
    const stranger = await client.create(KINDS.pod, {
      metadata: { name: "stranger", namespace: "default", labels: { [LABELS.trainJobName]: "a" } },
      spec: { containers: [{ name: "c", image: "none", command: ["sleep", "60"] }] },
    });
    const { privateKey } = await generateKeyPair("RS256");
    const claims = claimsOf(tokenA);
    const forgedByOther = await new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "x" })
      .sign(privateKey);
    const secret = new TextEncoder().encode("a secret that is long enough for it");
    const header = JSON.parse(Buffer.from(tokenA.split(".")[0] ?? "", "base64url").toString());
    const forgedHs256 = await new SignJWT(claims)
      .setProtectedHeader({ alg: "HS256", kid: String(header.kid) }).sign(secret);
    const unsigned = `${reassembled(tokenA, { header: { alg: "none" } }).split(".", 2).join(".")}.`;

    const refused: Record<string, { token: string | undefined; want: number }> = {
      "the pod of another job": { token: tokenB, want: 403 },
      "a pod of another namespace": { token: await tokenOf(standalone, foreign), want: 403 },
      "a pod that only carries the label": {
        token: await tokenOf(standalone, stranger),
        want: 403,
      },
      "a token that is bound to no pod": {
        token: await requestToken(client, DEFAULT, { audience: PUSH_AUDIENCE }),
        want: 403,
      },
      "a token for another audience": {
        token: await tokenOf(standalone, podA, "https://kubernetes.default.svc"),
        want: 401,
      },
      "a token whose claims were changed": {
        token: reassembled(tokenB, { payload: { "kubernetes.io": claims["kubernetes.io"] } }),
        want: 401,
      },
      "an expired token, as far as its claims say": {
        token: reassembled(tokenA, { payload: { exp: 1_700_000_000 } }),
        want: 401,
      },
      "a token signed by somebody else": { token: forgedByOther, want: 401 },
      "an unsigned token": { token: unsigned, want: 401 },
      "a token forged with HS256": { token: forgedHs256, want: 401 },
      "no token at all": { token: undefined, want: 401 },
      "something that is no token": { token: "let-me-in", want: 401 },
    };
    for (const [sentence, { token, want }] of Object.entries(refused)) {
      await t.step(`it refuses ${sentence} with ${want}`, async () => {
        const answer = await push(standalone, { name: "a" }, token, progress(99));
        assert.equal(answer.status, want, JSON.stringify(answer.body));
        assert.partialDeepStrictEqual(answer.body, {
          kind: "Status",
          status: "Failure",
          code: want,
        });
        if (want === 401) assert.match(answer.headers.get("www-authenticate") ?? "", /^Bearer/);
      });
    }

    await t.step("a job that is not there is 404 for a token of its namespace", async () => {
      assert.equal((await push(standalone, { name: "c" }, tokenA, progress(1))).status, 404);
    });

    await t.step("a forged token causes no request to the API server", async () => {
      const seen: string[] = [];
      const stop = standalone.onManagerRequest((it) => {
        if (["create", "get"].includes(it.verb)) seen.push(`${it.verb} ${it.resource}`);
      });
      for (const token of [forgedByOther, unsigned, forgedHs256, "let-me-in"]) {
        for (let i = 0; i < 5; i++) await push(standalone, { name: "a" }, token, progress(99));
      }
      stop();
      const own = seen.filter((it) =>
        /tokenreviews|pods|jobs|jobsets|trainjobs|serviceacc/.test(it)
      );
      assert.deepEqual(own, []);
    });

    await t.step("a deleted pod's token is refused, although it has not expired", async () => {
      const { name = "", namespace = "" } = podB.metadata ?? {};
      await client.delete(KINDS.pod, { namespace, name }, { gracePeriodSeconds: 0 });
      await until("the refusal of a deleted pod", async () => {
        const answer = await push(standalone, { name: "b" }, tokenB, progress(98));
        // 401 where the token's review came after the deletion: the API server itself refused it then.
        if (answer.status === 403 || answer.status === 401) return true;
        throw new Error(`it is ${answer.status}: ${JSON.stringify(answer.body)}`);
      }, { everyMs: 100 });
    });

    await t.step("none of these pushes has changed the job", async () => {
      const job = await client.get(KINDS.trainJob, { namespace: "default", name: "a" });
      assert.equal(job.status?.trainerStatus?.progressPercentage, 10);
    });
  }, { kubelet: false });
});
