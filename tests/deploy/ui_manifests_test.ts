/** Tests of the shipped manifests of the page: its account changes nothing, its flags exist, its pods have no privilege. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { settingEntries } from "../../app/configuration/setting_entries.ts";
import { readSettings } from "../../app/configuration/setting_sources.ts";
import { settings as managerSettings } from "../../app/configuration/settings.ts";
import { uiSettings } from "../../app/configuration/ui_settings.ts";
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import { MANAGER, UI } from "../../crds/names.ts";
import { generatedFiles } from "../../deploy/generate.ts";
import { DEFAULTS } from "../../deploy/installation_settings.ts";
import { ui, uiManagerPatch, uiNetworkPolicy } from "../../deploy/ui_manifests.ts";

const objects = ui(DEFAULTS, JOB_KINDS);

function find(kind: string) {
  const found = objects.find((it) => it.kind === kind);
  assert.ok(found, `there is no ${kind}`);
  return found;
}

const rulesSchema = z.array(z.strictObject({
  apiGroups: z.array(z.string()),
  resources: z.array(z.string()),
  verbs: z.array(z.string()),
}));

Deno.test("the account of the page reads jobs and asks for reviews, and has no other right", () => {
  const roles = objects.filter(({ kind }) => /Role$/.test(kind));
  assert.deepEqual(roles.map(({ kind }) => kind), ["ClusterRole"]);
  const bindings = objects.filter(({ kind }) => /RoleBinding$/.test(kind));
  assert.equal(bindings.length, 1);
  assert.partialDeepStrictEqual(bindings[0], {
    roleRef: { kind: "ClusterRole", name: roles[0]?.metadata.name },
    subjects: [{ kind: "ServiceAccount", name: UI.name, namespace: MANAGER.namespace }],
  });
  const asked: string[] = [];
  const jobs = new Set(JOB_KINDS.all.map(({ id }) => id));
  for (const { apiGroups, resources, verbs } of rulesSchema.parse(roles[0]?.["rules"])) {
    for (const resource of resources) {
      const names = apiGroups.map((group) => `${resource}.${group}`);
      if (names.every((it) => jobs.has(it))) assert.deepEqual(verbs, ["get", "list", "watch"]);
      else asked.push(`${verbs} ${names}`);
    }
  }
  assert.deepEqual(asked, [
    "create tokenreviews.authentication.k8s.io",
    "create subjectaccessreviews.authorization.k8s.io",
  ]);
});

const podSchema = z.object({
  template: z.object({
    spec: z.looseObject({
      containers: z.tuple([z.looseObject({ args: z.array(z.string()) })]),
      volumes: z.array(z.looseObject({ name: z.string() })),
    }),
  }),
});
const pod = podSchema.parse(find("Deployment").spec).template.spec;

Deno.test("the page is started with settings that it has", () => {
  const [command, ...args] = pod.containers[0].args;
  assert.equal(command, "ui");
  const entries = settingEntries(uiSettings, "ui");
  const flags = Object.fromEntries(args.map((arg) => {
    const [flag = "", value = "true"] = arg.split("=");
    const at = entries.findIndex((it) => it.flag === flag);
    assert.equal(
      entries[at]?.usage.includes(" "),
      arg.includes("="),
      `${arg} is a switch or has a value`,
    );
    return [Object.keys(uiSettings.shape)[at], value];
  }));
  // Kubernetes puts the namespace in.
  const managerUrl = flags["managerUrl"]?.replace("$(MILEPOST_UI_MANAGER_NAMESPACE)", "there");
  const settings = readSettings(uiSettings, {
    command: "ui",
    flags: { ...flags, managerUrl },
    environment: { MILEPOST_UI_MANAGER_NAMESPACE: "there" },
  });
  assert.equal(settings.inCluster, true);
  assert.equal(settings.managerUrl, `https://${MANAGER.name}.there.svc:8082`);
  assert.equal(settings.managerNamespace, "there");
});

Deno.test("the page's pods have no privilege, no key of a CA, and a token for reading curves alone", () => {
  assert.partialDeepStrictEqual(pod, {
    securityContext: { runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } },
    containers: [{
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      },
    }],
  });
  const volume = (name: string) => JSON.stringify(pod.volumes.find((it) => it.name === name));
  assert.deepEqual(volume("manager-ca").match(/"key":"[^"]+"/g), [
    '"key":"ca.crt"',
    '"key":"ca-next.crt"',
  ]);
  assert.match(volume("manager-token"), /"audience":"observation\.trainer\.kubeflow\.org"/);
});

Deno.test("the page talks to the API server, the manager and name servers alone", () => {
  const { egress } = z.looseObject({
    egress: z.array(z.looseObject({ ports: z.array(z.object({ port: z.number() })) })),
  })
    .parse(uiNetworkPolicy(DEFAULTS)["spec"]);
  assert.deepEqual(egress.map(({ ports }) => ports.map(({ port }) => port)), [
    [53, 53],
    [443, 6443, 8443],
    [8082],
  ]);
});

Deno.test("the component makes the manager take tokens of viewers, and any overlay can use it", () => {
  const { patch } = uiManagerPatch(DEFAULTS);
  const [{ value }] = z.tuple([z.object({ value: z.string() })]).parse(parseYaml(patch));
  const entry = settingEntries(managerSettings).find(({ name }) => name === "readWithApiTokens");
  assert.equal(value, entry?.usage, "it is a switch");
  const text = generatedFiles()["kustomize/components/ui/kustomization.yaml"] ?? "";
  assert.partialDeepStrictEqual(parseYaml(text), {
    kind: "Component",
    resources: ["ui.yaml", "ui_network_policy.yaml"],
  });
});
