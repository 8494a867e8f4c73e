/**
 * Tests of least privilege: managers of several settings do everything under the roles of the parts that they
 * run, with both admission policies and the audit log on. Nothing is forbidden, and no privilege is unused: so
 * each part needs exactly its own rights. The roles of policies are used one after the other, each by its own scene.
 */
import assert from "node:assert/strict";
import { clusterRulesOf, type ManagerPart, namespaceRulesOf } from "../../app/manager/rights.ts";
import { POLICIES } from "../../controller/runtime/policies/table.ts";
import { policyRules } from "../../controller/runtime/policy.ts";
import { OPTIMIZATION, POLICY_SECRETS, RESTARTS } from "../../crds/names.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts as manifests } from "../../deploy/parts.ts";
import { MANAGER_USER } from "./support/conserved.ts";
import { until } from "../support/until.ts";
import { installPodGroupCrds } from "./parity/pod_group_crds.ts";
import { apply } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";
import { POLICY_SCENES } from "./support/policy_scenes.ts";
import { createRuntimes, scenesOf } from "./support/privilege_scenes.ts";
import { allows, privilegesOf, textOf, useOf } from "./support/privileges.ts";
import { startUpstreamJobSet } from "./support/upstream_jobset.ts";

const withSharedCluster = shareCluster("enforcing");

/** Privileges that no request shows, each with why it is needed all the same. */
const NEVER_SEEN: Readonly<Record<string, string>> = {
  "update trainjobs/finalizers.trainer.kubeflow.org":
    "asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test",
  "update optimizationjobs/finalizers.trainer.kubeflow.org":
    "asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test",
  "update jobsets/finalizers.jobset.x-k8s.io":
    "asked for by the plugin OwnerReferencesPermissionEnforcement, which is on in this test",
};

/** A manager, with the rights that it is given. */
interface Run {
  readonly flags: Readonly<Record<string, string>>;
  readonly parts: readonly ManagerPart[];
  /** Whether upstream's controller executes the JobSets. */
  readonly upstream?: boolean;
}

const OFF = "TrainJobProgress=false";
const OTHERS_SEARCH = { optimizationJobs: "false" };

const RUNS: Readonly<Record<string, Run>> = {
  "with every part": {
    // Where Trials are, the log is Katib's unless somebody says otherwise; there is no Katib here.
    flags: { observationSink: "memory" },
    parts: [
      "controller",
      "executor",
      "volume-claims",
      "progress",
      "trials",
      OPTIMIZATION.role,
      "election",
    ],
  },
  "beside upstream's JobSet": {
    flags: { jobset: "external", observationSink: "memory", ...OTHERS_SEARCH },
    parts: ["controller", "progress", "trials", "election"],
    upstream: true,
  },
  "beside upstream's JobSet, without progress": {
    flags: { jobset: "external", featureGates: OFF, ...OTHERS_SEARCH },
    parts: ["controller", "election"],
    upstream: true,
  },
  "without progress and without leader election": {
    flags: { featureGates: OFF, leaderElect: "false", ...OTHERS_SEARCH },
    parts: ["controller", "executor", "volume-claims"],
  },
};

for (const [sentence, { flags, parts, upstream = false }] of Object.entries(RUNS)) {
  Deno.test(`the manager needs exactly the rights of its roles: ${sentence}`, async (t) => {
    await using controllers = new AsyncDisposableStack();
    await withSharedCluster(async (cluster) => {
      // Before the control plane ends.
      await using _ = controllers.move();
      const { plane, manager } = cluster;
      await createRuntimes(cluster);
      for (const [name, run] of scenesOf(parts)) {
        // The node and its connections live longer than a step; the whole test looks after them.
        const open = { sanitizeOps: false, sanitizeResources: false };
        await t.step({ name, ...open, fn: () => run(cluster) });
      }
      await manager.kill();
      const events = (await plane.auditLog()).filter(({ user }) => user.username === MANAGER_USER);
      const uses = events.map(useOf);
      await t.step("nothing is forbidden", () => {
        const refused = events.filter(({ responseStatus }) => responseStatus?.code === 403);
        assert.deepEqual(refused.map((event) => `${event.verb} ${event.requestURI}`), []);
      });
      await t.step("every privilege is used", () => {
        const rules = parts.flatMap((part) => [...clusterRulesOf(part), ...namespaceRulesOf(part)]);
        const granted = rules.flatMap(privilegesOf);
        const unused = granted.filter((it) => !uses.some((use) => allows(it, use))).map(textOf);
        assert.deepEqual(unused, granted.map(textOf).filter((it) => it in NEVER_SEEN));
      });
    }, {
      flags,
      parts,
      async beforeManager({ plane }) {
        await apply(plane, manifests(DEFAULTS).admission_policy);
        if (!upstream) return;
        const controller = await startUpstreamJobSet(plane);
        controllers.defer(() => controller.stop());
      },
    });
  });
}

/** The roles of policies, and that of restarts, by their names. */
const POLICY_ROLES = {
  [POLICY_SECRETS.role]: clusterRulesOf(POLICY_SECRETS.role),
  [RESTARTS.role]: clusterRulesOf(RESTARTS.role),
  ...policyRules(POLICIES),
};

Deno.test("the manager needs exactly the rights of the roles of policies", async (t) => {
  assert.deepEqual(
    Object.keys(POLICY_SCENES).toSorted(),
    Object.keys(POLICY_ROLES).toSorted(),
    "every role has its scene",
  );
  await withSharedCluster(async (cluster) => {
    const { plane, manager } = cluster;
    const ofManager = async () =>
      (await plane.auditLog()).filter(({ user }) => user.username === MANAGER_USER);
    await installPodGroupCrds(plane);
    for (const [role, rules] of Object.entries(POLICY_ROLES)) {
      await t.step(`every privilege of ${role} is used by its scene`, async () => {
        const { length } = await ofManager();
        await POLICY_SCENES[role]?.(cluster);
        let unused: string[] = [];
        const isUsed = async () => {
          const uses = (await ofManager()).slice(length).map(useOf);
          unused = rules.flatMap(privilegesOf)
            .filter((privilege) => !uses.some((use) => allows(privilege, use))).map(textOf);
          return unused.length === 0;
        };
        // A change is seen before it is in the log.
        await until("the log to have it", isUsed, { timeoutMs: 10_000 })
          .catch(() => assert.deepEqual(unused, []));
      });
    }
    await manager.kill();
    await t.step("nothing is forbidden", async () => {
      const refused = (await ofManager()).filter(({ responseStatus }) =>
        responseStatus?.code === 403
      );
      assert.deepEqual(refused.map((event) => `${event.verb} ${event.requestURI}`), []);
    });
  }, {
    node: false,
    flags: { jobset: "external", featureGates: OFF, leaderElect: "false", ...OTHERS_SEARCH },
    parts: ["controller", POLICY_SECRETS.role, RESTARTS.role],
    beforeManager: ({ plane }) => apply(plane, manifests(DEFAULTS).admission_policy),
  });
});
