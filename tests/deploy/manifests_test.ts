/** Tests of the shipped manifests: current, complete, restricted, with the documented names. */
import assert from "node:assert/strict";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import {
  clusterRulesOf,
  MANAGER_PARTS,
  type ManagerPart,
  namespaceRulesOf,
} from "../../app/manager/rights.ts";
import { readConfiguration } from "../../app/configuration/configuration.ts";
import { flagOf } from "../../app/configuration/setting_entries.ts";
import { SETTINGS } from "../../app/configuration/settings.ts";
import { createMetrics } from "../../app/manager/metrics.ts";
import { MANAGER } from "../../crds/names.ts";
import { managerRoles } from "../../deploy/roles.ts";
import { dashboard } from "../../deploy/dashboard.ts";
import { generatedFiles, outdatedFiles } from "../../deploy/generate.ts";
import { parts } from "../../deploy/parts.ts";
import { DEFAULTS, type Manifest } from "../../deploy/installation_settings.ts";

const all = parts(DEFAULTS);
const objects: Manifest[] = Object.values(all).flat();

function find(kind: string, name: string = DEFAULTS.name): Manifest {
  const found = objects.find((it) => it.kind === kind && it.metadata.name === name);
  assert.ok(found, `there is no ${kind} ${name}`);
  return found;
}

Deno.test("outdatedFiles() finds that what is committed is what the builders make", async () => {
  assert.deepEqual(await outdatedFiles(), [], "run `deno task manifests`");
});

Deno.test("generatedFiles() are YAML, but for templates and the dashboard", () => {
  for (const [path, text] of Object.entries(generatedFiles())) {
    if (path.includes("/templates/") || path.endsWith(".json")) continue;
    for (const document of parseAllDocuments(text)) {
      assert.deepEqual("errors" in document ? document.errors : [], [], path);
    }
  }
});

Deno.test("parts() have no rule with an empty list of names, which would mean all", () => {
  const rules = objects.flatMap((it) => "rules" in it && Array.isArray(it.rules) ? it.rules : []);
  assert.ok(rules.length > 0);
  assert.deepEqual(rules.filter(({ resourceNames }) => resourceNames?.length === 0), []);
});

Deno.test("helmFiles() leave no placeholder behind, and no name of one cluster in a template", () => {
  for (const [path, text] of Object.entries(generatedFiles())) {
    if (!path.startsWith("helm/")) continue;
    assert.ok(!/[⟦⟧]/.test(text), path);
    if (path.includes("/templates/")) assert.ok(!text.includes(DEFAULTS.namespace), path);
  }
});

Deno.test("parts() run two replicas that need no privilege", () => {
  assert.partialDeepStrictEqual(find("Deployment").spec, {
    replicas: 2,
    template: {
      spec: {
        serviceAccountName: DEFAULTS.name,
        securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
        containers: [{
          securityContext: {
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"] },
          },
          livenessProbe: { httpGet: { path: "/healthz", port: "health" } },
          readinessProbe: { httpGet: { path: "/readyz", port: "health" } },
        }],
      },
    },
  });
  assert.equal(
    find("Namespace", DEFAULTS.namespace).metadata.labels?.["pod-security.kubernetes.io/enforce"],
    "restricted",
  );
});

Deno.test("parts() have no pod that the Service of a Training Operator in the same namespace selects", () => {
  assert.doesNotMatch(JSON.stringify(all), /kubeflow-training-operator/);
});

Deno.test("parts() have the Lease without a spec, so that no upgrade changes who leads", () => {
  const { metadata, ...rest } = find("Lease", MANAGER.lease);
  assert.deepEqual(rest, { apiVersion: "coordination.k8s.io/v1", kind: "Lease" });
  assert.equal(metadata.namespace, DEFAULTS.namespace);
});

Deno.test("parts() give the manager its name and namespace, in settings that it has", () => {
  const schema = z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([z.object({
          args: z.array(z.string()),
          env: z.array(z.looseObject({ name: z.string() })),
        })]),
      }),
    }),
  });
  const [container] = schema.parse(find("Deployment").spec).template.spec.containers;
  assert.deepEqual(container.env.map((it) => it.name).toSorted(), [
    "MILEPOST_NAMESPACE",
    "MILEPOST_SERVICE_NAME",
    "POD_IP",
    "POD_NAME",
    "POD_UID",
  ]);
  const [command, ...args] = container.args;
  assert.equal(command, "manager");
  const flags = Object.fromEntries(args.map((arg) => {
    const [, flag = "", value = ""] = /^(--[a-z-]+)=(.*)$/.exec(arg) ?? [];
    return [SETTINGS.find((it) => flagOf(it) === flag) ?? arg, value];
  }));
  const environment = { MILEPOST_NAMESPACE: "ns", MILEPOST_SERVICE_NAME: "service" };
  const read = readConfiguration({ flags, environment });
  assert.deepEqual(Object.keys(flags).filter((it) => !SETTINGS.includes(it)), []);
  assert.partialDeepStrictEqual(read, {
    namespace: "ns",
    serviceName: "service",
    featureGates: { trainJobProgress: true },
  });
});

Deno.test("parts() have the documented Service", () => {
  assert.partialDeepStrictEqual(find("Service").spec, {
    ports: [
      { port: 443, targetPort: "webhook" },
      { port: 8082, targetPort: "status" },
      { port: 10443, targetPort: "status" },
      { port: 8080, targetPort: "metrics" },
    ],
  });
});

const POLICY_SECRETS = `${DEFAULTS.name}-policy-secrets`;
/** The manager's account, as a binding names it. */
const SUBJECT = { kind: "ServiceAccount", name: DEFAULTS.name, namespace: DEFAULTS.namespace };

Deno.test("parts() give each part of the manager the rights of app/manager/rights.ts", () => {
  assert.deepEqual(find("ClusterRole").rules, clusterRulesOf("controller"));
  const ofPart: Partial<Record<ManagerPart, readonly Manifest[]>> = {
    "policy-secrets": [find("ClusterRole", POLICY_SECRETS), ...all.policy_secrets_binding],
    restarts: [find("ClusterRole", `${DEFAULTS.name}-restarts`), ...all.restarts_binding],
    executor: all.executor_role,
    "volume-claims": all.volume_claims_role,
    progress: all.progress_role,
    trials: all.trials_role,
    "optimization-jobs": all.optimization_jobs_role,
    "v1-jobs": all.v1_jobs_role,
    "v1-mpi": all.v1_mpi_role,
    "v1-elastic": all.v1_elastic_role,
    "v1-gangs": all.v1_gangs_role,
  };
  for (const [part, [role, binding]] of Object.entries(ofPart)) {
    const name = `${DEFAULTS.name}-${part}`;
    const rules = MANAGER_PARTS.filter((it) => it === part).flatMap((it) => clusterRulesOf(it));
    assert.partialDeepStrictEqual(role, { kind: "ClusterRole", metadata: { name }, rules });
    assert.partialDeepStrictEqual(binding, { roleRef: { name }, subjects: [SUBJECT] });
  }
});

Deno.test("parts() bind no other rights to the manager's account", () => {
  const bound = objects.filter(({ subjects }) => JSON.stringify(subjects)?.includes(SUBJECT.name));
  assert.deepEqual(bound.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted(), [
    ...[
      "",
      "-executor",
      "-flux",
      "-gang-coscheduling",
      "-gang-volcano",
      "-mpi",
      "-optimization-jobs",
      "-policy-secrets",
      "-progress",
      "-restarts",
      "-trials",
      "-v1-elastic",
      "-v1-gangs",
      "-v1-jobs",
      "-v1-mpi",
      "-volume-claims",
    ].map((it) => `ClusterRoleBinding ${DEFAULTS.name}${it}`),
    `RoleBinding ${DEFAULTS.name}`,
  ]);
  assert.deepEqual(find("Role").rules, MANAGER_PARTS.flatMap(namespaceRulesOf));
  assert.deepEqual(find("RoleBinding").subjects, [SUBJECT]);
});

Deno.test("parts() grant Secrets outside of the manager's namespace by one role, without list and watch", () => {
  const rulesSchema = z.array(z.looseObject({
    resources: z.array(z.string()).default([]),
    verbs: z.array(z.string()),
  })).default([]);
  const granting = objects.filter(({ kind }) => kind === "ClusterRole").flatMap((role) =>
    rulesSchema.parse(role.rules)
      .filter(({ resources }) => resources.some((it) => it === "secrets" || it === "*"))
      .map(({ verbs }) => ({ name: role.metadata.name, verbs }))
  );
  assert.deepEqual(granting, [{ name: POLICY_SECRETS, verbs: ["get", "create"] }]);
});

Deno.test("managerRoles() give each policy with children a ClusterRole of its own", () => {
  const rules = [{ apiGroups: [""], resources: ["secrets"], verbs: ["create", "get"] }];
  const groups = [{ apiGroups: ["acme.io"], resources: ["troupes"], verbs: ["create"] }];
  const policies = {
    plain: {},
    ml: { rings: { rules }, silent: {} },
    gangs: { troupe: { rules: groups } },
  };
  const settings = { ...DEFAULTS, name: "other" };
  const own = managerRoles(settings, { policies: { plain: {}, ml: {}, gangs: {} } });
  const all = managerRoles(settings, { policies });
  assert.deepEqual(all.slice(0, own.length), own, "the manager's own roles stay as they are");
  const added = all.slice(own.length);
  assert.deepEqual(added.map(({ kind, metadata }) => `${kind} ${metadata.name}`), [
    "ClusterRole other-rings",
    "ClusterRoleBinding other-rings",
    "ClusterRole other-gang-troupe",
    "ClusterRoleBinding other-gang-troupe",
  ]);
  assert.deepEqual(added.flatMap((role) => role.rules ?? []), [...rules, ...groups]);
  assert.partialDeepStrictEqual(added[1], {
    roleRef: { kind: "ClusterRole", name: "other-rings" },
    subjects: [{ kind: "ServiceAccount", name: "other", namespace: DEFAULTS.namespace }],
  });
});

Deno.test("parts() let the manager reach Katib's DB manager", () => {
  assert.partialDeepStrictEqual(find("NetworkPolicy").spec, {
    egress: [{ ports: [{ protocol: "TCP", port: 6789 }] }],
  });
});

Deno.test("parts() can have other names everywhere", () => {
  const names = { name: "trains", namespace: "elsewhere", image: "other/image:9" };
  const text = JSON.stringify(parts({ ...DEFAULTS, ...names }));
  for (const name of [DEFAULTS.name, DEFAULTS.namespace, DEFAULTS.image]) {
    const at = text.indexOf(name);
    assert.equal(at, -1, text.slice(Math.max(0, at - 100), at + 100));
  }
});

Deno.test("parts() fit into the annotation that client-side apply keeps", () => {
  for (const object of objects) {
    const { length } = JSON.stringify(object);
    assert.ok(length < 262_144, `${object.kind} ${object.metadata.name} has ${length} bytes`);
  }
});

/** Names of metrics in PromQL. */
const metricsIn = (text: string) => new Set(text.match(/\bmilepost_[a-z_]+/g) ?? []);

Deno.test("dashboard() and the alerts query metrics that the manager has", async () => {
  const known = new Set((await createMetrics().registry.getMetricsAsJSON()).map((it) => it.name));
  const asked = metricsIn(JSON.stringify([dashboard(), find("PrometheusRule")]));
  assert.ok(asked.size > 10);
  for (const metric of asked) {
    assert.ok(known.has(metric.replace(/_bucket$/, "")), `there is no metric ${metric}`);
  }
});

Deno.test("the manager finds the file of its sinks where the Secret is mounted, and starts without one", () => {
  const files = generatedFiles();
  const file = "/etc/milepost/notifications/notifications.yaml";
  const text = files["kustomize/components/notifications/kustomization.yaml"] ?? "";
  const flag = /value: (--notifications=\S+)/.exec(text)?.[1];
  assert.equal(flag, `--notifications=${file}`);
  assert.equal((files["kustomize/base/manager.yaml"] ?? "").includes("--notifications"), false);
  for (const path of ["kustomize/base/manager.yaml", "helm/milepost/templates/manager.yaml"]) {
    assert.match(files[path] ?? "", /mountPath: \/etc\/milepost\/notifications\n/, path);
    assert.match(
      files[path] ?? "",
      /secretName: .*milepost-notifications.*\n *defaultMode: .*\n *optional: true/,
      path,
    );
  }
  const chart = files["helm/milepost/templates/manager.yaml"] ?? "";
  assert.ok(
    chart.includes(`{{- if .Values.notifications }}\n            - ${flag}\n{{- end }}`),
    chart,
  );
});

Deno.test("the files have the flag by which another controller runs OptimizationJobs, and no rights then", () => {
  const files = generatedFiles();
  const component = files["kustomize/components/no-optimization-jobs/kustomization.yaml"] ?? "";
  assert.match(component, /value: --optimization-jobs=false/);
  for (const kind of ["ClusterRole", "ClusterRoleBinding"]) {
    assert.match(component, new RegExp(`\\$patch: delete\\n[^$]*kind: ${kind}\\n`), kind);
  }
  assert.equal((files["kustomize/base/manager.yaml"] ?? "").includes("--optimization-jobs"), false);
  const chart = files["helm/milepost/templates/manager.yaml"] ?? "";
  const flag = "            - --optimization-jobs=false\n";
  assert.ok(chart.includes(`{{- if not .Values.optimizationJobs }}\n${flag}{{- end }}`));
  const role = files["helm/milepost/templates/optimization_jobs_role.yaml"] ?? "";
  assert.match(role, /^#.*\n\{\{- if \.Values\.optimizationJobs \}\}\n/);
});
