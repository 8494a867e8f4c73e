/** Tests of the limits of pushes in a whole Milepost: by pod, by service account and by peer, with their flags. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { readConfiguration } from "../../../app/configuration/configuration.ts";
import { type Manager, startManager } from "../../../app/manager/manager.ts";
import { startControlPlane } from "../../../app/standalone/control_plane.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import type { KubeClient, RequestReport } from "../../../platform/kube/client.ts";
import { TEST_FLAGS } from "../../support/manager_flags.ts";
import {
  progress,
  requestToken,
  shellRuntime,
  trainJob,
  trainJobThat,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";
import { SIGNING_KEY } from "../../support/signing_key.ts";

/** Next to nothing comes back while a test runs, however slow the machine: what counts is the burst. */
const HARDLY = "0.001";
const POD_BURST = 5;
const SUBJECT_BURST = 14;
/** As many as a peer may fail at once (docs/guides/operate.md, limits). */
const PEER_BURST = 200;

interface World {
  readonly client: KubeClient;
  readonly requests: readonly RequestReport[];
  /** Connections of their own, from a loopback address. */
  connectFrom(localAddress: string): Deno.HttpClient;
  /** Creates a job. Returns the function by which its pod pushes. */
  job(name: string, namespace?: string): Promise<Pusher>;
}

interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly message: string | undefined;
}

/** Pushes a percentage, by default with the job's own token. Rejects where the connection is refused. */
type Pusher = (percentage: number, token?: string, http?: Deno.HttpClient) => Promise<Answer>;

async function tokenOfPod(client: KubeClient, namespace: string, job: string): Promise<string> {
  const labelSelector = `${LABELS.trainJobName}=${job}`;
  const pod = await until(`a pod of ${job}`, async () => {
    const { items } = await client.list(KINDS.pod, { namespace, labelSelector });
    return items[0];
  });
  const { name = "", uid = "" } = pod.metadata ?? {};
  const account = { namespace, name: "default" };
  return await requestToken(client, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
}

async function pusher(
  manager: Manager,
  http: Deno.HttpClient,
  [kube, namespace, job]: Parameters<typeof tokenOfPod>,
): Promise<Pusher> {
  const own = await tokenOfPod(kube, namespace, job);
  const url = `https://127.0.0.1:${manager.ports.status}${statusPath(TRAINJOB, namespace, job)}`;
  return async (percentage, token = own, client = http) => {
    const answer = await fetch(url, {
      method: "POST",
      client,
      headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(progress(percentage)),
      signal: AbortSignal.timeout(60_000),
    });
    const { message } = await answer.json();
    return { status: answer.status, retryAfter: answer.headers.get("retry-after"), message };
  };
}

/** Runs `work` with a manager whose limits by pod and by subject are small, over an embedded API server. */
async function withLimits(work: (world: World) => Promise<void>): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const requests: RequestReport[] = [];
  const plane = await startControlPlane({
    port: 0,
    signingKey: SIGNING_KEY,
    kubelet: false,
    onManagerRequest: (report) => requests.push(report),
  });
  cleanup.defer(() => plane.stop());
  const manager = await startManager(
    readConfiguration({
      environment: {},
      flags: {
        ...TEST_FLAGS,
        pushQpsPerPod: HARDLY,
        pushBurstPerPod: String(POD_BURST),
        pushQpsPerSubject: HARDLY,
        pushBurstPerSubject: String(SUBJECT_BURST),
      },
    }),
    { client: plane.managerClient, host: "127.0.0.1" },
  );
  cleanup.defer(() => manager.stop());
  await manager.whenReady();
  const { client } = plane;
  await client.create(KINDS.namespace, { metadata: { name: "other" } });
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
  using http = Deno.createHttpClient({ caCerts: [manager.caBundle()] });
  await work({
    client,
    requests,
    connectFrom: (localAddress) =>
      Deno.createHttpClient({ caCerts: [manager.caBundle()], localAddress }),
    async job(name, namespace = "default") {
      await client.create(KINDS.trainJob, trainJob(name, "idle", { namespace }));
      return await pusher(manager, http, [client, namespace, name]);
    },
  });
}

/** Counts answers by code. */
function codes(answers: readonly Answer[]): Record<number, number> {
  const found: Record<number, number> = {};
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1;
  return found;
}

/** A token of the right shape with other claims; nobody has signed it. */
function forged(token: string, number: number): string {
  const [header, , signature] = token.split(".");
  const payload = Buffer.from(JSON.stringify({ jti: number })).toString("base64url");
  return `${header}.${payload}.${signature}`;
}

Deno.test("limits by pod and by service account apply to each of them alone", async (t) => {
  await withLimits(async ({ client, job }) => {
    const [flooding, quiet, third] = [
      await job("flooding"),
      await job("quiet"),
      await job("third"),
    ];
    const elsewhere = await job("elsewhere", "other");

    await t.step("a pod that floods gets its burst, then 429 with Retry-After", async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, at) => flooding(at)));
      assert.deepEqual(codes(answers), { 200: POD_BURST, 429: 60 - POD_BURST });
      for (const { status, retryAfter, message } of answers) {
        if (status === 200) continue;
        assert.ok(Number(retryAfter) > 60, `Retry-After: ${retryAfter}`);
        assert.match(message ?? "", /this pod pushes too often/);
      }
    });

    await t.step("another job's pod is not affected by the flood", async () => {
      const flood = Array.from({ length: 60 }, (_, at) => flooding(at));
      const answers = await Promise.all(Array.from({ length: POD_BURST }, () => quiet(77)));
      assert.deepEqual(codes(answers), { 200: POD_BURST });
      assert.deepEqual(codes(await Promise.all(flood)), { 429: 60 });
      await trainJobThat(
        client,
        "quiet",
        "shows its 77 %",
        (it) => it.status?.trainerStatus?.progressPercentage === 77,
      );
    });

    await t.step(
      "a pod's refused pushes are not counted against its service account",
      async () => {
        // Ten of the fourteen are taken; the 115 that were refused took none.
        const answers = await Promise.all(Array.from({ length: POD_BURST }, () => third(1)));
        assert.deepEqual(codes(answers), { 200: SUBJECT_BURST - 2 * POD_BURST, 429: 1 });
        const refused = answers.find(({ status }) => status === 429);
        assert.match(refused?.message ?? "", /pods of this service account push too often/);
        assert.ok(Number(refused?.retryAfter) > 60);
      },
    );

    await t.step("another service account is not affected", async () => {
      assert.equal((await elsewhere(5)).status, 200);
    });
  });
});

Deno.test("a flood of forged tokens causes no review, and pods at the same address can still push", async () => {
  await withLimits(async ({ client, requests, job }) => {
    const known = await job("known");
    const token = await tokenOfPod(client, "default", "known");
    assert.equal((await known(1, token)).status, 200);
    await until("its review", () => requests.some((it) => it.resource === "tokenreviews"));
    const before = requests.length;
    const answers: Answer[] = [];
    let number = 0;
    // The budget comes back at 20 a second meanwhile: how many are looked at is the machine's speed.
    while (!answers.some(({ status }) => status === 429) && number < 20 * PEER_BURST) {
      const tokens = Array.from({ length: 50 }, () => forged(token, number++));
      answers.push(...await Promise.all(tokens.map((it) => known(99, it))));
    }
    const found = codes(answers);
    assert.deepEqual(Object.keys(found), ["401", "429"]);
    assert.ok((found[401] ?? 0) >= PEER_BURST, JSON.stringify(found));
    const refused = answers.find(({ status }) => status === 429);
    assert.ok(Number(refused?.retryAfter) >= 1);
    assert.match(refused?.message ?? "", /too many failed authentications from this address/);
    const since = requests.slice(before).map(({ verb, resource }) => `${verb} ${resource}`);
    const caused = since.filter((it) => /tokenreviews|get (pods|serviceaccounts)/.test(it));
    assert.deepEqual(caused, []);
    // The same peer, over its budget: a token that was good before passes, over a new connection, too.
    assert.equal((await known(2, token)).status, 200);
    await trainJobThat(
      client,
      "known",
      "shows what its own pod said last",
      (it) => it.status?.trainerStatus?.progressPercentage === 2,
    );
  });
});

Deno.test("an attacker with an address of its own is refused connections; pods elsewhere are not", async () => {
  await withLimits(async ({ client, connectFrom, job }) => {
    const known = await job("known");
    const token = await tokenOfPod(client, "default", "known");
    assert.equal((await known(1, token)).status, 200);
    using attacker = connectFrom("127.0.0.66");
    const met: (number | "closed")[] = [];
    for (let number = 0; !met.includes("closed") && number < 20 * PEER_BURST;) {
      const tokens = Array.from({ length: 50 }, () => forged(token, number++));
      const tries = tokens.map((it) => known(99, it, attacker));
      met.push(
        ...await Promise.all(
          tries.map((it) => it.then(({ status }) => status, () => "closed" as const)),
        ),
      );
    }
    assert.ok(met.includes("closed"), JSON.stringify(met.slice(-50)));
    assert.ok(met.filter((it) => it === 401).length >= PEER_BURST);
    assert.ok(!met.includes(200));
    // New connections from elsewhere are taken, also with the attacker's kind of token.
    using elsewhere = connectFrom("127.0.0.67");
    assert.equal((await known(2, token, elsewhere)).status, 200);
    assert.equal((await known(99, forged(token, -1), elsewhere)).status, 401);
  });
});
