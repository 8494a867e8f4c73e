/** Tests of the shipped manifests on a real API server: kustomize and Helm install the same objects. */
import assert from "node:assert/strict";
import { relative } from "node:path";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { readConfiguration } from "../../app/configuration/configuration.ts";
import { flagOf } from "../../app/configuration/setting_entries.ts";
import { SETTINGS } from "../../app/configuration/settings.ts";
import { managerRbac } from "../../app/manager/manager_roles.ts";
import { type ManagerPart, partsOf } from "../../app/manager/rights.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER, POLICY_SECRETS, RESTARTS, UI } from "../../crds/names.ts";
import { V1_KIND_LIST, v1CrdName } from "../../crds/v1/kinds.ts";
import {
  V1_ELASTIC_PART,
  V1_GANGS_PART,
  V1_JOBS_PART,
  V1_MPI_PART,
  V1_RUN_BY,
  V1_RUN_BY_ANNOTATION,
} from "../../crds/v1/names.ts";
import { RENAMED } from "../../deploy/kustomize.ts";
import { run } from "../support/command.ts";
import { until } from "../support/until.ts";
import { type ControlPlane, withControlPlane } from "./control_plane/control_plane.ts";
import { programs } from "./control_plane/programs.ts";
import { kubectl, tryKubectl } from "./support/installation.ts";

const deploy = new URL("../../deploy/", import.meta.url).pathname;
const chart = `${deploy}helm/milepost`;

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    annotations: z.record(z.string(), z.string()).optional(),
  }),
});
type Rendered = z.infer<typeof objectSchema>;

/** The objects of a YAML stream by what names them, without what Helm alone wants to know. */
function objectsOf(yaml: string): Map<string, Rendered> {
  const found = new Map<string, Rendered>();
  for (const document of parseAllDocuments(yaml)) {
    const value: unknown = "toJS" in document ? document.toJS() : undefined;
    if (value === null || value === undefined) continue;
    const object = objectSchema.parse(value);
    const { annotations = {}, ...metadata } = object.metadata;
    const { "helm.sh/resource-policy": _, ...kept } = annotations;
    const key = `${object.apiVersion} ${object.kind} ${metadata.namespace ?? ""}/${metadata.name}`;
    assert.ok(!found.has(key), `${key} is there twice`);
    found.set(key, {
      ...object,
      metadata: Object.keys(kept).length > 0 ? { ...metadata, annotations: kept } : metadata,
    });
  }
  return found;
}

async function mustRun(program: string, args: string[], env: Record<string, string> = {}) {
  const { code, stdout, stderr } = await run(program, { args, env, timeoutMs: 120_000 });
  assert.equal(code, 0, `${program} ${args.join(" ")}: ${stderr}`);
  return stdout;
}

/** Each overlay, with the values of the chart that stand for it. */
const overlays: Record<string, { path: string; namespace?: string; values?: string[] }> = {
  "the base": { path: "base" },
  "standalone-jobset": { path: "overlays/standalone-jobset", values: ["crds.jobset=true"] },
  "no-policy": { path: "overlays/no-policy", values: ["admissionPolicy.enabled=false"] },
  "monitoring": { path: "overlays/monitoring", values: ["monitoring.enabled=true"] },
  "renamed": {
    path: "overlays/renamed",
    namespace: RENAMED.namespace,
    values: [
      `name=${RENAMED.name}`,
      `image.repository=${RENAMED.image.replace(/:[^:]*$/, "")}`,
      `image.tag=${RENAMED.image.replace(/^.*:/, "")}`,
    ],
  },
};

for (
  const [sentence, { path, namespace = MANAGER.namespace, values = [] }] of Object.entries(overlays)
) {
  Deno.test(`kustomize and Helm render the same objects: ${sentence}`, async () => {
    const { kubectl = "" } = await programs("kubernetes", ["kubectl"]);
    const { helm = "" } = await programs("helm");
    const kustomized = objectsOf(
      await mustRun(kubectl, ["kustomize", `${deploy}kustomize/${path}`]),
    );
    const set = ["createNamespace=true", ...values].flatMap((it) => ["--set", it]);
    const args = [
      "template",
      "milepost",
      chart,
      "--namespace",
      namespace,
      "--kube-version",
      "1.36",
    ];
    const templated = objectsOf(await mustRun(helm, [...args, ...set]));
    assert.deepEqual([...templated.keys()].toSorted(), [...kustomized.keys()].toSorted());
    for (const [key, object] of kustomized) assert.deepEqual(templated.get(key), object, key);
  });
}

/** Choices of a chart or an overlay by which a manager runs fewer or more parts. */
const PART_CHOICES: readonly (readonly string[])[] = [
  [],
  ["crds.jobset=true"],
  ["jobset=auto"],
  ["jobset=external", "crds.jobset=true"],
  ["featureGates="],
  ["featureGates=TrainJobStatus=true", "jobset=builtin"],
  ["featureGates=TrainJobProgress=false"],
  ["optimizationJobs=false"],
  ["v1Jobs=true"],
  ["crds.v1=true"],
  ["v1Jobs=true", "v1Mpi=true", "v1Elastic=true"],
];

/** Values that grant the rights to run the v1 kinds: no setting of the manager says that it does. */
const V1_CHOICES: Partial<Record<ManagerPart, readonly string[]>> = {
  [V1_JOBS_PART]: ["v1Jobs=true", "crds.v1=true"],
  [V1_MPI_PART]: ["v1Mpi=true"],
  [V1_ELASTIC_PART]: ["v1Elastic=true"],
  [V1_GANGS_PART]: ["v1Gangs=true"],
};

const argumentsSchema = z.object({
  template: z.object({
    spec: z.object({ containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]) }),
  }),
});

/** The parts that the manager of a Deployment runs by its arguments. */
function partsRun(deployment: Rendered | undefined): ManagerPart[] {
  const [container] = argumentsSchema.parse(deployment?.spec).template.spec.containers;
  const flags = Object.fromEntries(
    container.args.slice(1).map((arg) => {
      const at = arg.indexOf("=");
      return [SETTINGS.find((it) => flagOf(it) === arg.slice(0, at)) ?? arg, arg.slice(at + 1)];
    }),
  );
  return [...partsOf(readConfiguration({ flags, environment: {} }))];
}

for (const values of PART_CHOICES) {
  const sentence = values.join(", ") || "the defaults";
  Deno.test(`Helm grants the rights of those parts that the manager runs: ${sentence}`, async () => {
    const { helm = "" } = await programs("helm");
    const set = values.flatMap((it) => ["--set", it]);
    const args = ["template", "milepost", chart, "--kube-version", "1.36", ...set];
    const rendered = [...objectsOf(await mustRun(helm, args)).values()];
    const bound = rendered.filter(({ kind }) => kind === "ClusterRoleBinding");
    const run = partsRun(rendered.find(({ kind }) => kind === "Deployment"))
      .filter((part) => V1_CHOICES[part]?.some((it) => values.includes(it)) ?? true);
    const wanted = managerRbac({ namespace: "default", serviceAccount: MANAGER.name }, {}, run)
      .filter(({ kind }) => kind === "ClusterRoleBinding");
    const names = (objects: readonly { metadata: { name: string } }[]) =>
      objects.map(({ metadata: { name } }) => name).toSorted();
    assert.deepEqual(names(bound), names(wanted));
  });
}

for (const { role, helmValue } of [POLICY_SECRETS, RESTARTS]) {
  Deno.test(`without ${helmValue} the role stays, and nothing binds it: Helm and kustomize`, async () => {
    const { kubectl = "" } = await programs("kubernetes", ["kubectl"]);
    const { helm = "" } = await programs("helm");
    const name = `${MANAGER.name}-${role}`;
    const folder = await Deno.makeTempDir();
    // Kustomize takes folders by relative paths alone.
    const shipped = relative(await Deno.realPath(folder), `${deploy}kustomize`);
    try {
      const kustomization = {
        apiVersion: "kustomize.config.k8s.io/v1beta1",
        kind: "Kustomization",
        resources: [`${shipped}/overlays/standalone-jobset`],
        components: [`${shipped}/components/no-${role}`],
      };
      await Deno.writeTextFile(`${folder}/kustomization.yaml`, JSON.stringify(kustomization));
      const args = ["template", "milepost", chart, "--kube-version", "1.36"];
      const outputs = [
        await mustRun(kubectl, ["kustomize", folder]),
        await mustRun(helm, [...args, "--set", `${helmValue}=false`]),
      ];
      for (const output of outputs) {
        const rendered = [...objectsOf(output).values()];
        const kinds = rendered.filter(({ metadata }) => metadata.name === name);
        assert.deepEqual(kinds.map(({ kind }) => kind), ["ClusterRole"]);
        assert.ok(rendered.some(({ kind }) => kind === "ClusterRoleBinding"));
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("kustomize and Helm render the same objects: the component of the page", async () => {
  const { kubectl = "" } = await programs("kubernetes", ["kubectl"]);
  const { helm = "" } = await programs("helm");
  const folder = await Deno.makeTempDir();
  const shipped = relative(await Deno.realPath(folder), `${deploy}kustomize`);
  try {
    const kustomization = {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [`${shipped}/base`],
      components: [`${shipped}/components/${UI.component}`],
    };
    await Deno.writeTextFile(`${folder}/kustomization.yaml`, JSON.stringify(kustomization));
    const kustomized = objectsOf(await mustRun(kubectl, ["kustomize", folder]));
    const args = ["template", "milepost", chart, "--kube-version", "1.36"];
    const own = ["--namespace", MANAGER.namespace, "--set", "createNamespace=true"];
    const render = async (...values: string[]) =>
      objectsOf(await mustRun(helm, [...args, ...own, ...values.flatMap((it) => ["--set", it])]));
    const templated = await render("ui.enabled=true");
    assert.deepEqual([...templated.keys()].toSorted(), [...kustomized.keys()].toSorted());
    for (const [key, object] of kustomized) assert.deepEqual(templated.get(key), object, key);
    const chosen = JSON.stringify([...(await render(
      "ui.enabled=true",
      "ui.replicas=3",
      "ui.hosts={page.example,other.example}",
      "ui.tlsSecretName=page-tls",
      "ui.resources.limits.memory=1Gi",
    )).values()]);
    for (
      const part of [
        '"replicas":3',
        "--ui-hosts=page.example,other.example",
        '"secretName":"page-tls"',
        '"memory":"1Gi"',
      ]
    ) assert.ok(chosen.includes(part), part);
    assert.ok(!JSON.stringify([...(await render()).values()]).includes(UI.name), "off by default");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the components of the v1 kinds bring their rights and their annotated definitions", async () => {
  const { kubectl = "" } = await programs("kubernetes", ["kubectl"]);
  const folder = await Deno.makeTempDir();
  const shipped = relative(await Deno.realPath(folder), `${deploy}kustomize`);
  try {
    const kustomization = {
      apiVersion: "kustomize.config.k8s.io/v1beta1",
      kind: "Kustomization",
      resources: [`${shipped}/base`],
      components: [`${shipped}/components/v1-jobs`, `${shipped}/components/v1-crds`],
    };
    await Deno.writeTextFile(`${folder}/kustomization.yaml`, JSON.stringify(kustomization));
    const rendered = [...objectsOf(await mustRun(kubectl, ["kustomize", folder])).values()];
    const annotated = rendered.filter(({ metadata: { annotations } }) =>
      annotations?.[V1_RUN_BY_ANNOTATION] === V1_RUN_BY
    );
    assert.deepEqual(
      annotated.map(({ metadata }) => metadata.name).toSorted(),
      V1_KIND_LIST.map(v1CrdName).toSorted(),
    );
    const binding = `ClusterRoleBinding ${MANAGER.name}-${V1_JOBS_PART}`;
    assert.ok(rendered.some(({ kind, metadata }) => `${kind} ${metadata.name}` === binding));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** Values that the chart cannot use, and what Helm's message names. */
const WRONG_VALUES: Readonly<Record<string, RegExp>> = {
  "crds.jobsets=true": /jobsets/,
  "replica=3": /replica/,
  "jobset=atuo": /jobset/,
  "katib=no": /katib/,
  "policySecrets=no": /policySecrets/,
  "restarts=no": /restarts/,
  "networkPolicy.enabled=off": /enabled/,
  "image.tag=20260101": /tag/, // From a file Helm would render 2.0260101e+07.
  "admissionPolicy.jobControllers={it's}": /jobControllers/,
};
for (const [value, names] of Object.entries(WRONG_VALUES)) {
  Deno.test(`Helm refuses the value ${value}`, async () => {
    const { helm = "" } = await programs("helm");
    const args = ["template", "milepost", chart, "--kube-version", "1.36", "--set", value];
    const { code, stderr } = await run(helm, { args, timeoutMs: 120_000 });
    assert.notEqual(code, 0);
    assert.match(stderr, names);
  });
}

Deno.test("Helm finds nothing wrong with the chart", async () => {
  const { helm = "" } = await programs("helm");
  await mustRun(helm, ["lint", "--strict", chart, "--kube-version", "1.36"]);
});

/** As a user that has no right but to be logged in. */
const nobody = ["--as=nobody", "--as-group=system:authenticated"];

async function seesPublicConfiguration(plane: ControlPlane): Promise<void> {
  const get = (name: string) =>
    tryKubectl(plane, ["-n", MANAGER.namespace, "get", "configmap", name, "-o", "json", ...nobody]);
  const { code, stdout, stderr } = await get(MANAGER.publicConfigMap);
  assert.equal(code, 0, stderr);
  assert.partialDeepStrictEqual(JSON.parse(stdout), {
    data: { kubeflow_trainer_version: "v2.3.0" },
  });
  assert.match((await get("kube-root-ca.crt")).stderr, /Forbidden/);
}

async function mayEditTrainJobs(plane: ControlPlane): Promise<void> {
  const role = ["create", "rolebinding", "ann", "--clusterrole=edit", "--user=ann"];
  await kubectl(plane, ["-n", "default", ...role]);
  const can = async (...what: string[]) => {
    const { stdout } = await tryKubectl(plane, [
      "-n",
      "default",
      "auth",
      "can-i",
      ...what,
      "--as=ann",
    ]);
    return stdout.trim();
  };
  await until("the roles are aggregated", async () => await can("create", "trainjobs") === "yes");
  assert.equal(await can("create", "clustertrainingruntimes"), "no");
  assert.equal(await can("patch", "trainjobs", "--subresource=status"), "no");
}

async function isRunByItsDeployment(plane: ControlPlane): Promise<void> {
  await until("both replicas are admitted", async () => {
    const { items } = await plane.client.list(KINDS.pod, { namespace: MANAGER.namespace });
    return items.length === 2;
  });
  const warned = await kubectl(plane, [
    ...["label", "--dry-run=server", "--overwrite", "namespace", MANAGER.namespace],
    "pod-security.kubernetes.io/enforce=restricted",
  ]);
  assert.ok(!/warning/i.test(warned), warned);
}

const LEASE = { namespace: MANAGER.namespace, name: MANAGER.lease };

/** Takes the Lease as a manager does. Returns a function that asserts that it is still held. */
async function takeLease({ client }: ControlPlane): Promise<() => Promise<void>> {
  const lease = await client.get(KINDS.lease, LEASE);
  assert.equal(lease.spec?.holderIdentity, undefined);
  const spec = { holderIdentity: "a", leaseDurationSeconds: 15, leaseTransitions: 7 };
  await client.replace(KINDS.lease, { ...lease, spec });
  return async () => assert.deepEqual((await client.get(KINDS.lease, LEASE)).spec, spec);
}

Deno.test("kubectl apply -k installs Milepost, and again changes nothing", () =>
  withControlPlane(async (plane) => {
    const apply = (path: string) => kubectl(plane, ["apply", "-k", `${deploy}${path}`]);
    await apply("kustomize/overlays/standalone-jobset");
    // Not what `apply` prints: it says of every PodDisruptionBudget that it was configured.
    const diff = ["diff", "-k", `${deploy}kustomize/overlays/standalone-jobset`];
    const { code, stdout, stderr } = await tryKubectl(plane, diff);
    assert.equal(code, 0, stdout + stderr);
    const assertLeaseIsHeld = await takeLease(plane);
    const repeated = (await apply("kustomize/overlays/standalone-jobset")).trim().split("\n");
    assert.deepEqual(
      repeated.filter((line) => line.startsWith("customresource") && !line.endsWith(" unchanged")),
      [],
    );
    await assertLeaseIsHeld();
    await apply("runtimes");
    await isRunByItsDeployment(plane);
    await seesPublicConfiguration(plane);
    await mayEditTrainJobs(plane);
  }));

/** The page's Deployment makes pods, its account may list jobs and change nothing, and the manager takes viewers' tokens. */
async function hasThePage(plane: ControlPlane): Promise<void> {
  const namespaced = ["--namespace", MANAGER.namespace];
  await until("the page has a pod", async () => {
    const selector = `--selector=app.kubernetes.io/component=${UI.component}`;
    return await kubectl(plane, ["get", "pods", "-o", "name", selector, ...namespaced]) !== "";
  });
  const as = `--as=system:serviceaccount:${MANAGER.namespace}:${UI.name}`;
  const can = async (...action: string[]) =>
    (await tryKubectl(plane, ["auth", "can-i", ...action, as, "--all-namespaces"])).stdout.trim();
  assert.equal(await can("watch", "trainjobs.trainer.kubeflow.org"), "yes");
  for (const verb of ["create", "update", "patch", "delete"]) {
    assert.equal(await can(verb, "trainjobs.trainer.kubeflow.org"), "no", verb);
  }
  for (const verb of ["get", "list"]) assert.equal(await can(verb, "secrets"), "no", verb);
  const manager = await kubectl(plane, [
    "get",
    "deployment",
    MANAGER.name,
    "-o",
    "yaml",
    ...namespaced,
  ]);
  assert.match(manager, new RegExp(`- ${flagOf("readWithApiTokens")}\n`));
}

Deno.test("helm installs and upgrades Milepost; TrainJobs outlive its removal", () =>
  withControlPlane(async (plane) => {
    const { helm: program = "" } = await programs("helm");
    const env = { KUBECONFIG: plane.kubeconfig, HOME: plane.folder };
    const helm = (...args: string[]) =>
      mustRun(program, [...args, "--namespace", MANAGER.namespace], env);
    const values = ["--set", "crds.jobset=true"];
    // A manager that ran here before created the Lease; Helm leaves it alone.
    await kubectl(plane, ["create", "namespace", MANAGER.namespace]);
    await plane.client.create(KINDS.lease, { metadata: LEASE });
    const assertLeaseIsHeld = await takeLease(plane);
    await helm("install", "milepost", chart, "--create-namespace", ...values);
    await assertLeaseIsHeld();
    await isRunByItsDeployment(plane);
    await seesPublicConfiguration(plane);
    await helm("upgrade", "milepost", chart, ...values, "--set", "replicas=3");
    await until("the third replica is there", async () => {
      const { items } = await plane.client.list(KINDS.pod, { namespace: MANAGER.namespace });
      return items.length === 3;
    });
    await plane.client.delete(KINDS.lease, LEASE);
    await helm("upgrade", "milepost", chart, ...values);
    const assertOwnLeaseIsHeld = await takeLease(plane);
    await helm("upgrade", "milepost", chart, ...values, "--set", "logLevel=debug");
    await assertOwnLeaseIsHeld();
    await helm(
      "upgrade",
      "milepost",
      chart,
      "--reset-then-reuse-values",
      "--set",
      "ui.enabled=true",
    );
    await hasThePage(plane);
    await kubectl(plane, ["apply", "-k", `${deploy}runtimes`]);
    const runtimes = () => kubectl(plane, ["get", "clustertrainingruntimes", "-o", "name"]);
    const shipped = await runtimes();
    assert.match(shipped, /torch-distributed/);
    await helm("uninstall", "milepost");
    assert.equal(await runtimes(), shipped);
  }));
