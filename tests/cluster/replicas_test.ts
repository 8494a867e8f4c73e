/** Tests of two replicas behind a Service on a real control plane, one of which dies. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { freePort } from "../support/free_port.ts";
import { assertConserved, assertCreatedOnce } from "./support/conserved.ts";
import { type Installation, type TestManager } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { type Reporter, reporterOf, statusOf } from "./support/pushing.ts";
import { startService } from "./support/service.ts";
import { metricOf } from "./support/way.ts";

const withSharedCluster = shareCluster();

/** The default of `--lease-duration`, and what finding out may take beyond it. */
const FOLLOWED_WITHIN_MS = 15_000 + 2_000;
const RELEASED_WITHIN_MS = 4_000;
const STOPPED_WITHIN_MS = 10_000;

const leads = (manager: TestManager) => metricOf(manager, "milepost_leader");

/** Reports ten times a second, each time on a new connection's answer. */
function keepReporting(reporter: Reporter, url: string) {
  const stop = new AbortController();
  const answers: { code: number | undefined; percent: number; retryAfter: string | null }[] = [];
  const done = (async () => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      const percent = turn % 100;
      const code = await reporter.send(url, statusOf(percent));
      answers.push({ code, percent, retryAfter: reporter.retryAfter });
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  })();
  return {
    answers,
    async stop() {
      stop.abort();
      await done;
    },
  };
}

/** Two replicas that are ready, of which `leader` leads. */
async function startReplicas(
  installation: Installation,
  flags: Record<string, string>,
  ports: readonly { webhookPort: string; statusPort: string }[],
) {
  const managers = await Promise.all(
    ports.map((own) => installation.startManager({ flags: { ...flags, ...own } })),
  );
  const [one, two] = managers;
  assert.ok(one !== undefined && two !== undefined);
  const states = await until("one of both to lead", async () => {
    const each = [await leads(one), await leads(two)];
    return each[0] !== each[1] ? each : undefined;
  });
  return states[0] === 1 ? { leader: one, follower: two } : { leader: two, follower: one };
}

Deno.test("a killed leader is replaced within the lease duration and 2 s, a stopped one at once", () =>
  withSharedCluster(async ({ plane, installation, manager: first }) => {
    const { client } = plane;
    // The replicas of this test are its own, behind Services.
    await first.kill();
    await using cleanup = new AsyncDisposableStack();
    const [webhooks, statuses] = [startService(), startService()];
    cleanup.defer(() => webhooks.close());
    cleanup.defer(() => statuses.close());
    const ports = [0, 1].map(() => ({ webhookPort: freePort(), statusPort: freePort() }));
    for (const { webhookPort, statusPort } of ports) {
      webhooks.add(webhookPort);
      statuses.add(statusPort);
    }
    const { leader, follower } = await startReplicas(
      installation,
      {
        webhookBaseUrl: webhooks.url,
        statusBaseUrl: statuses.url,
      },
      ports.map((own) => ({
        webhookPort: String(own.webhookPort),
        statusPort: String(own.statusPort),
      })),
    );
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("long", "sleep 600"));
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("quick", "true"));
    await client.create(KINDS.trainJob, trainJob("reports", "long"));
    await trainJobThat(client, "reports", "runs", ({ status }) => status?.state === "Running");
    using reporter = await reporterOf(client, { trainJob: "reports" });
    const reporting = keepReporting(reporter, statuses.url);
    cleanup.defer(() => reporting.stop());
    await until("pushes to be taken", () => reporting.answers.at(-1)?.code === 200);

    // Killed while it works for these.
    const names = Array.from({ length: 20 }, (_, index) => `followed-${index}`);
    const creating = names.map((name) =>
      until(`TrainJob ${name} to be admitted by a replica`, async () => {
        await client.create(KINDS.trainJob, trainJob(name, "quick")).catch((error) => {
          if (error.reason !== "AlreadyExists") throw error;
        });
        return true;
      })
    );
    await until(
      "the first JobSet",
      async () => (await client.list(KINDS.jobSet, { namespace: "default" })).items.length > 1,
    );
    const killedAt = performance.now();
    await leader.kill("SIGKILL");
    await Promise.all(creating);
    await until("the other to lead", async () => await leads(follower) === 1, {
      timeoutMs: FOLLOWED_WITHIN_MS,
      everyMs: 50,
    });
    const followedMs = performance.now() - killedAt;
    assert.ok(followedMs <= FOLLOWED_WITHIN_MS, `followed after ${followedMs} ms`);
    for (const name of names) {
      await trainJobThat(client, name, "is complete", ({ status }) => status?.state === "Complete");
    }

    // A stopped leader releases the Lease.
    await leader.restart();
    const stoppedAt = performance.now();
    await follower.kill("SIGTERM");
    const tookMs = performance.now() - stoppedAt;
    assert.ok(tookMs <= STOPPED_WITHIN_MS, `it stopped within ${tookMs} ms`);
    await until("the first to lead again", async () => await leads(leader) === 1, {
      timeoutMs: RELEASED_WITHIN_MS,
      everyMs: 50,
    });
    const taken = reporting.answers.length;
    await until(
      "pushes to be taken again",
      () => reporting.answers.slice(taken).some(({ code }) => code === 200),
    );
    await reporting.stop();

    const last = reporting.answers.at(-1);
    assert.equal(last?.code, 200);
    await trainJobThat(
      client,
      "reports",
      "has what was reported last",
      ({ status }) => status?.trainerStatus?.progressPercentage === last?.percent,
    );
    const other = reporting.answers.filter(({ code }) => code !== 200 && code !== 503);
    // What was under way when a replica was killed has no answer: its sender tries again.
    assert.ok(other.length <= 2 && other.every(({ code }) => code === undefined), `${other}`);
    const held = reporting.answers.filter(({ code }) => code === 503);
    assert.ok(held.every(({ retryAfter }) => Number(retryAfter) >= 1), "503 has Retry-After");
    await assertConserved(plane, ["reports", ...names], { pods: 1 });
    await assertCreatedOnce(plane, ["reports", ...names]);
    const lease = await client.read(
      `/apis/coordination.k8s.io/v1/namespaces/${MANAGER.namespace}/leases/${MANAGER.lease}`,
    );
    assert.match(lease.text, /"holderIdentity":"[^"]+_[^"]+"/);
  }));
