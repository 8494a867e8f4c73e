/**
 * Test of a Katib Trial over a batch Job on a real control plane, with the shipped admission policy: the manager says
 * which right it lacks, follows the Job once it is granted, and stops it.
 */
import assert from "node:assert/strict";
import { MANAGER_PARTS } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import { trialResourceKind } from "../../crds/trial_resource.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { parts } from "../../deploy/parts.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { getOrUndefined } from "../../platform/kube/upsert.ts";
import { createResourceTrial, pushUntilStopped } from "../support/trial_resources.ts";
import { installTrials } from "../support/trials.ts";
import { until } from "../support/until.ts";
import { apply, serviceAccountToken } from "./support/installation.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

const RESOURCE = { kind: "Job", version: "v1", group: "batch" };
const JOB = trialResourceKind(RESOURCE, "jobs");
const KATIB = { namespace: "kubeflow", name: "katib-controller" };

const role = (name: string, rules: object[], subject: { namespace: string; name: string }) => [
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules,
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name },
    subjects: [{ kind: "ServiceAccount", ...subject }],
  },
];
const ofJobs = (verbs: string[]) => [{ apiGroups: ["batch"], resources: ["jobs"], verbs }];

Deno.test("a Trial over a batch Job is followed once the right is granted, and stopped", () =>
  withSharedCluster(async ({ plane, manager }) => {
    const { client } = plane;
    await installTrials(client);
    await apply(plane, [
      ...parts({ ...DEFAULTS, trialResources: ["Job.v1.batch"] }).admission_policy,
      { apiVersion: "v1", kind: "Namespace", metadata: { name: KATIB.namespace } },
      { apiVersion: "v1", kind: "ServiceAccount", metadata: KATIB },
      // What Katib's own role has, to make children with blockOwnerDeletion.
      ...role("katib", [
        ...ofJobs(["*"]),
        { apiGroups: ["kubeflow.org"], resources: ["trials/finalizers"], verbs: ["update"] },
      ], KATIB),
    ]);
    await until(
      "the manager says which right it lacks",
      async () =>
        /grant .* the verbs .*delete on jobs\.batch/.test(
          await manager.log(),
        ),
      {
        timeoutMs: 60_000,
      },
    );
    const account = { namespace: MANAGER.namespace, name: MANAGER.name };
    await apply(
      plane,
      role("milepost-jobs", ofJobs(["patch", "delete"]), account),
    );
    const token = await serviceAccountToken(client, KATIB);
    const katib = createClient({
      connection: loadKubeconfig(await plane.kubeconfigFor("katib", { token })),
    });
    try {
      // The policy trusts Katib with the label of a Trial's pods, and nobody else.
      await until("the policy is enforced", () =>
        createResourceTrial(client, JOB, "forged").then(
          () => client.delete(JOB, { namespace: "default", name: "forged" }).then(() => false),
          (error) => String(error).includes(MANAGER.admissionPolicy),
        ).finally(() =>
          client.delete(KINDS.trial, { namespace: "default", name: "forged" }).catch(() => {})
        ), { timeoutMs: 60_000, everyMs: 500 });
      await createResourceTrial(client, JOB, "tried", {}, katib);
      await pushUntilStopped(client, "tried");
      await until(
        "the Job is gone",
        async () =>
          await getOrUndefined(client, JOB, { namespace: "default", name: "tried" }) === undefined,
        {
          timeoutMs: 60_000,
        },
      );
    } finally {
      katib.close();
    }
    assert.doesNotMatch(await manager.log(), /"level":"ERROR"/i);
  }, {
    flags: { trialResource: "Job.v1.batch", jobset: "external", observationSink: "memory" },
    parts: MANAGER_PARTS.filter((it) => it !== "executor" && it !== "restarts"),
  }));
