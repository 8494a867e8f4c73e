/** Test of `--jobset auto` beside upstream's JobSet controller: each leaves the other's JobSets alone. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../crds/jobset_names.ts";
import { ownJobSet } from "../support/own_jobset.ts";
import { shellRuntime, trainJob } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import type { AuditEvent } from "./control_plane/audit.ts";
import { type Cluster } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { startUpstreamJobSet, UPSTREAM_ACCOUNT } from "./support/upstream_jobset.ts";

const withSharedCluster = shareCluster();

const account = ({ namespace, name }: { namespace: string; name: string }) =>
  `system:serviceaccount:${namespace}:${name}`;
const MILEPOST = account(MANAGER);
const UPSTREAM = account(UPSTREAM_ACCOUNT);

/** Who wrote Jobs, Services and JobSets that belong to a JobSet, and what. */
function writers(events: readonly AuditEvent[], jobSet: string): string[] {
  const found = events.filter(({ verb, objectRef, requestURI, user }) =>
    ["create", "update", "patch", "delete"].includes(verb) &&
    ["jobs", "services", "jobsets"].includes(objectRef?.resource ?? "") &&
    [MILEPOST, UPSTREAM].includes(user.username) && !requestURI.includes("dryRun") &&
    (objectRef?.name === jobSet || objectRef?.name === `${jobSet}-node-0`)
  );
  const told = found.map(({ user, objectRef }) => {
    const part = objectRef?.subresource ? `/${objectRef.subresource}` : "";
    return `${user.username === MILEPOST ? "milepost" : "upstream"} ${objectRef?.resource}${part}`;
  });
  return [...new Set(told)].sort();
}

/** Waits until a JobSet is complete, and answers who made it so. */
async function completed({ plane }: Cluster, name: string) {
  return await until(`JobSet ${name} is complete`, async () => {
    const jobSet = await plane.client.get(KINDS.jobSet, { namespace: "default", name });
    return jobSet.status?.terminalState === "Completed" && jobSet;
  }, { timeoutMs: 60_000 });
}

Deno.test("`--jobset auto` leaves JobSets to upstream's controller as soon as that is installed", async (t) => {
  await withSharedCluster(async (cluster) => {
    const { plane, kubectl } = cluster;
    const { client } = plane;
    const complete = (name: string) =>
      kubectl(["wait", "--for=condition=Complete", `trainjob/${name}`, "--timeout=90s"]);
    const create = (name: string) => client.create(KINDS.trainJob, trainJob(name, "brief"));
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("brief", "true"));

    await t.step("without upstream Milepost executes the JobSet", async () => {
      await create("before");
      await complete("before");
      const jobSet = await completed(cluster, "before");
      assert.equal(jobSet.spec?.managedBy, MILEPOST_JOBSET_CONTROLLER);
    });

    const upstream = await startUpstreamJobSet(plane);
    try {
      await t.step("with upstream its controller does", async () => {
        await until("the manager has seen upstream's webhook configuration", async () => {
          const name = `probe-${crypto.randomUUID().slice(0, 8)}`;
          await create(name);
          const jobSet = await until(
            `JobSet ${name}`,
            () => client.get(KINDS.jobSet, { namespace: "default", name }),
          );
          return jobSet.spec?.managedBy === undefined;
        });
        await create("after");
        await complete("after");
        const jobSet = await completed(cluster, "after");
        assert.equal(jobSet.spec?.managedBy, undefined);
      });

      await t.step("a user's JobSet is executed by the controller that it names", async () => {
        await client.create(KINDS.jobSet, ownJobSet("theirs"));
        await client.create(
          KINDS.jobSet,
          ownJobSet("ours", { managedBy: MILEPOST_JOBSET_CONTROLLER }),
        );
        await completed(cluster, "theirs");
        await completed(cluster, "ours");
      });

      await t.step(
        "an earlier job is suspended and deleted by the controller that started it",
        async () => {
          await kubectl(["delete", "trainjob", "before", "--cascade=foreground", "--timeout=60s"]);
        },
      );

      await t.step("neither controller has written to the other's JobSets", async () => {
        const audited = await plane.auditLog();
        const own = ["milepost jobs", "milepost jobsets", "milepost jobsets/status"];
        assert.deepEqual(
          writers(audited, "before").filter((one) => one !== "milepost services"),
          own,
        );
        assert.deepEqual(
          writers(audited, "after").filter((one) => !one.startsWith("upstream ")),
          ["milepost jobsets"],
        );
        assert.ok(writers(audited, "after").includes("upstream jobsets/status"));
        assert.ok(writers(audited, "ours").every((one) => one.startsWith("milepost ")));
        assert.ok(writers(audited, "theirs").every((one) => one.startsWith("upstream ")));
        assert.ok(writers(audited, "ours").length > 0 && writers(audited, "theirs").length > 0);
      });
    } finally {
      await upstream.stop();
    }
  });
});
