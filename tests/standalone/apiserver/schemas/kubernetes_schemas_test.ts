/** Tests of the built-in kinds' schemas: defaults, and rules beyond OpenAPI. */
import assert from "node:assert/strict";
import { at, type JsonObject } from "../../../../platform/base/json.ts";
import { kubernetesKindSchema } from "../../../../standalone/apiserver/schemas/kubernetes_schemas.ts";
import { causeText } from "../../../../crds/status_cause.ts";

function schemaOf(apiVersion: string, kind: string) {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const schema = kubernetesKindSchema(group, version, kind);
  assert.ok(schema, `${apiVersion} ${kind} has no schema`);
  return schema;
}

/** The texts of what is wrong, after defaults. */
function problems(apiVersion: string, kind: string, object: unknown, old?: unknown): string[] {
  const schema = schemaOf(apiVersion, kind);
  const ready = (value: unknown) => schema.applyDefaults(schema.prune(value));
  return schema.validate(ready(object), old === undefined ? undefined : ready(old)).map(causeText);
}

const CONTAINER = { name: "node", image: "x" };

function pod(spec: JsonObject = {}, metadata: JsonObject = {}) {
  return { metadata: { name: "p", ...metadata }, spec: { containers: [CONTAINER], ...spec } };
}

const UID = { "batch.kubernetes.io/controller-uid": "u" };

function job(spec: JsonObject = {}, template: JsonObject = {}, status: JsonObject = {}) {
  return {
    metadata: { name: "j" },
    spec: {
      selector: { matchLabels: UID },
      template: {
        metadata: { labels: UID },
        spec: { restartPolicy: "Never", containers: [CONTAINER], ...template },
      },
      ...spec,
    },
    status,
  };
}

function service(spec: JsonObject = {}, name = "s") {
  return { metadata: { name }, spec: { clusterIP: "None", ...spec } };
}

/** Object (and old object) of a kind, and the beginning of each text that is expected. */
type Cases = Record<string, { object: unknown; old?: unknown; want: string[] }>;

const PODS: Cases = {
  "takes an empty protocol for none": {
    object: pod({
      containers: [{ ...CONTAINER, ports: [{ containerPort: 1, protocol: "" }] }],
    }),
    want: [],
  },
  "takes a plain pod": { object: pod(), want: [] },
  "refuses a name with capitals": {
    object: pod({}, { name: "Pod" }),
    want: ['metadata.name: Invalid value: "Pod": a lowercase RFC 1123 subdomain'],
  },
  "refuses a label key and a label value of wrong form": {
    object: pod({}, { labels: { "-a": "b", c: "d e" } }),
    want: [
      'metadata.labels: Invalid value: "-a": name part',
      'metadata.labels: Invalid value: "d e": a valid label',
    ],
  },
  "refuses two controllers": {
    object: pod({}, {
      ownerReferences: ["a", "b"].map((name) => ({
        apiVersion: "v1",
        kind: "X",
        name,
        uid: name,
        controller: true,
      })),
    }),
    want: [
      'metadata.ownerReferences: Invalid value: ["a","b"]: Only one reference can have Controller',
    ],
  },
  "refuses a pod without containers": {
    object: pod({ containers: [] }),
    want: ["spec.containers: Required value"],
  },
  "refuses a container without image": {
    object: pod({ containers: [{ name: "a" }] }),
    want: ["spec.containers[0].image: Required value"],
  },
  "refuses containers of one name, also among init containers": {
    object: pod({ initContainers: [CONTAINER] }),
    want: ['spec.initContainers[0].name: Duplicate value: "node"'],
  },
  "refuses a variable without name, and one with = in it": {
    object: pod({ containers: [{ ...CONTAINER, env: [{ name: "" }, { name: "A=B" }] }] }),
    want: [
      "spec.containers[0].env[0].name: Required value",
      'spec.containers[0].env[1].name: Invalid value: "A=B"',
    ],
  },
  "refuses a variable with a value and a source": {
    object: pod({
      containers: [{
        ...CONTAINER,
        env: [{ name: "A", value: "b", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      }],
    }),
    want: [
      'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value`',
    ],
  },
  "refuses ports of one name": {
    object: pod({
      containers: [{
        ...CONTAINER,
        ports: [{ containerPort: 1, name: "a" }, { containerPort: 2, name: "a" }],
      }],
    }),
    want: ['spec.containers[0].ports[1].name: Duplicate value: "a"'],
  },
  "refuses a port out of range": {
    object: pod({ containers: [{ ...CONTAINER, ports: [{ containerPort: 70000 }] }] }),
    want: [
      "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535",
    ],
  },
  "refuses a mount of a volume that is not there": {
    object: pod({ containers: [{ ...CONTAINER, volumeMounts: [{ name: "v", mountPath: "/v" }] }] }),
    want: ['spec.containers[0].volumeMounts[0].name: Not found: "v"'],
  },
  "refuses two mounts at one path, and a path that climbs": {
    object: pod({
      volumes: [{ name: "v", emptyDir: {} }],
      containers: [{
        ...CONTAINER,
        volumeMounts: [
          { name: "v", mountPath: "/v" },
          { name: "v", mountPath: "/v" },
          { name: "v", mountPath: "/w", subPath: "../x" },
        ],
      }],
    }),
    want: [
      'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/v": must be unique',
      "spec.containers[0].volumeMounts[2].subPath: Invalid value: \"../x\": must not contain '..'",
    ],
  },
  "refuses volumes of one name, and one with two sources": {
    object: pod({
      volumes: [{ name: "v", emptyDir: {} }, {
        name: "v",
        secret: { secretName: "s" },
        emptyDir: {},
      }],
    }),
    want: [
      'spec.volumes[1].name: Duplicate value: "v"',
      "spec.volumes[1].emptyDir: Forbidden: may not specify more than 1",
    ],
  },
  "refuses a volume of a ConfigMap without its name": {
    object: pod({ volumes: [{ name: "v", configMap: {} }] }),
    want: ["spec.volumes[0].configMap.name: Required value"],
  },
  "refuses a projected token that lives under ten minutes": {
    object: pod({
      volumes: [{
        name: "v",
        projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 60 } }] },
      }],
    }),
    want: [
      "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60",
    ],
  },
  "refuses an invalid quantity": {
    object: pod({ containers: [{ ...CONTAINER, resources: { requests: { cpu: "1 core" } } }] }),
    want: [
      'spec.containers[0].resources.requests[cpu]: Invalid value: "1 core": quantities must match',
    ],
  },
  "refuses a probe with two handlers": {
    object: pod({
      containers: [{
        ...CONTAINER,
        livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 1 } },
      }],
    }),
    want: [
      "spec.containers[0].livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    ],
  },
  "refuses a changed command": {
    object: pod({ containers: [{ ...CONTAINER, command: ["b"] }] }),
    old: pod({ containers: [{ ...CONTAINER, command: ["a"] }] }),
    want: ["spec: Forbidden: pod updates may not change fields other than"],
  },
  "takes a changed image, and the node that a pod is bound to": {
    object: pod({
      containers: [{ ...CONTAINER, image: "y", imagePullPolicy: "Always" }],
      nodeName: "n",
    }),
    old: pod(),
    want: [],
  },
  "refuses another node": {
    object: pod({ nodeName: "n" }),
    old: pod({ nodeName: "m" }),
    want: ["spec: Forbidden: pod updates"],
  },
};

const JOBS: Cases = {
  "takes a job": { object: job(), want: [] },
  "refuses a restart policy Always": {
    object: job({}, { restartPolicy: undefined }),
    want: [
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
  },
  "refuses negative numbers": {
    object: job({ backoffLimit: -1, parallelism: -2 }),
    want: ["spec.parallelism: Invalid value: -2", "spec.backoffLimit: Invalid value: -1"],
  },
  "refuses an Indexed job without completions": {
    object: job({ completionMode: "Indexed", parallelism: 2 }),
    want: ["spec.completions: Required value: when completion mode is Indexed"],
  },
  "refuses an Indexed job whose pods' hostnames are too long": {
    object: {
      ...job({ completionMode: "Indexed", completions: 10 }),
      metadata: { name: "a".repeat(62) },
    },
    want: ["metadata.name: Invalid value:"],
  },
  "refuses a selector that its own template does not fit": {
    object: job({ selector: { matchLabels: { a: "b" } } }),
    want: ["spec.template.metadata.labels: Invalid value:"],
  },
  "refuses a changed template": {
    object: job({}, { containers: [{ ...CONTAINER, image: "other:1" }] }),
    old: job(),
    want: ["spec.template: Invalid value:"],
  },
  "takes scheduling directives and resources of a suspended job that never started": {
    object: job({ suspend: true }, {
      nodeSelector: { a: "b" },
      tolerations: [{ operator: "Exists" }],
      containers: [{ ...CONTAINER, resources: { requests: { cpu: "1" } } }],
    }),
    old: job({ suspend: true }),
    want: [],
  },
  "refuses scheduling directives once the job has started": {
    object: job({ suspend: true }, { nodeSelector: { a: "b" } }),
    old: job({ suspend: true }, {}, { startTime: "2026-01-01T00:00:00Z" }),
    want: ["spec.template: Invalid value:"],
  },
  "refuses changed completions and another selector": {
    object: job({ completions: 3, selector: { matchLabels: { a: "b" } } }),
    old: job({ completions: 2 }),
    want: [
      "spec.selector: Invalid value:",
      "spec.completions: Invalid value: 3: field is immutable",
    ],
  },
  "takes completions of an Indexed job together with parallelism": {
    object: job({ completionMode: "Indexed", completions: 3, parallelism: 3 }),
    old: job({ completionMode: "Indexed", completions: 2, parallelism: 2 }),
    want: [],
  },
  "takes another parallelism, suspension and deadline": {
    object: job({ completions: 1, parallelism: 5, suspend: true, activeDeadlineSeconds: 3 }),
    old: job({ completions: 1, parallelism: 1 }),
    want: [],
  },
};

const SERVICES: Cases = {
  "takes a headless Service without ports": { object: service(), want: [] },
  "refuses a name that starts with a digit": {
    object: service({}, "1s"),
    want: ['metadata.name: Invalid value: "1s": a DNS-1035 label'],
  },
  "refuses an invalid address": {
    object: service({ clusterIP: "here", ports: [{ port: 1 }] }),
    want: ['spec.clusterIPs[0]: Invalid value: "here": must be a valid IP address'],
  },
  "refuses nameless and doubled ports": {
    object: service({ ports: [{ port: 1 }, { port: 1, name: "a" }] }),
    want: ["spec.ports[0].name: Required value", "spec.ports[1]: Duplicate value:"],
  },
  "refuses another address": {
    object: service({ clusterIP: "10.0.0.1", ports: [{ port: 1 }] }),
    old: service({ ports: [{ port: 1 }] }),
    want: ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": may not change once set'],
  },
};

const DATA: Cases = {
  "takes keys of the usual form": {
    object: { metadata: { name: "c" }, data: { "a.b_c-D": "x" } },
    want: [],
  },
  "refuses a key with a slash, and one of dots": {
    object: { metadata: { name: "c" }, data: { "a/b": "x", "..": "y" } },
    want: [
      'data[a/b]: Invalid value: "a/b": a valid config key',
      'data[..]: Invalid value: "..": a valid config key',
    ],
  },
  "refuses values that are no text": {
    object: { metadata: { name: "c" }, data: { a: 1 } },
    want: ["data.a: Invalid value"],
  },
  "refuses more than a mebibyte": {
    object: { metadata: { name: "c" }, data: { a: "x".repeat(1024 * 1024 + 1) } },
    want: ["data: Too long: may not be more than 1048576 bytes"],
  },
  "refuses changed data when immutable": {
    object: { metadata: { name: "c" }, immutable: true, data: { a: "y" } },
    old: { metadata: { name: "c" }, immutable: true, data: { a: "x" } },
    want: ["data: Forbidden: field is immutable when `immutable` is set"],
  },
  "refuses to become mutable again": {
    object: { metadata: { name: "c" }, data: { a: "x" } },
    old: { metadata: { name: "c" }, immutable: true, data: { a: "x" } },
    want: ["immutable: Forbidden: field is immutable when `immutable` is set"],
  },
};

const ROLE_REF = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };

const BINDINGS: Cases = {
  "takes a name with colons": {
    object: { metadata: { name: "system:a:b" }, roleRef: ROLE_REF, subjects: [] },
    want: [],
  },
  "refuses a name with a slash": {
    object: { metadata: { name: "a/b" }, roleRef: ROLE_REF },
    want: ["metadata.name: Invalid value: \"a/b\": may not contain '/'"],
  },
  "refuses another role": {
    object: { metadata: { name: "a" }, roleRef: { ...ROLE_REF, name: "edit" } },
    old: { metadata: { name: "a" }, roleRef: ROLE_REF },
    want: ["roleRef: Invalid value:"],
  },
};

const HOOK = {
  name: "a.b.c",
  clientConfig: { url: "https://x/" },
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

function hooks(...webhooks: JsonObject[]) {
  return { metadata: { name: "w" }, webhooks: webhooks.map((more) => ({ ...HOOK, ...more })) };
}

const WEBHOOKS: Cases = {
  "takes a webhook": { object: hooks({}), want: [] },
  "refuses a deadline over 30 seconds": {
    object: hooks({ timeoutSeconds: 31 }),
    want: ["webhooks[0].timeoutSeconds: Invalid value: 31"],
  },
  "refuses plain http": {
    object: hooks({ clientConfig: { url: "http://x/" } }),
    want: ["webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only"],
  },
  "refuses a webhook that is nowhere": {
    object: hooks({ clientConfig: {} }),
    want: ["webhooks[0].clientConfig: Required value: exactly one of url or service"],
  },
  "refuses names that are short or doubled": {
    object: hooks({}, {}, { name: "a" }),
    want: ['webhooks[1].name: Duplicate value: "a.b.c"', 'webhooks[2].name: Invalid value: "a"'],
  },
  "refuses a rule without operations, and a condition that does not compile": {
    object: hooks({
      rules: [{ apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: [] }],
      matchConditions: [{ name: "c", expression: "1 +" }],
    }),
    want: [
      "webhooks[0].rules[0].operations: Required value",
      'webhooks[0].matchConditions[0].expression: Invalid value: "1 +": compilation failed',
    ],
  },
};

const TABLES: [string, string, Cases][] = [
  ["v1", "Pod", PODS],
  ["batch/v1", "Job", JOBS],
  ["v1", "Service", SERVICES],
  ["v1", "ConfigMap", DATA],
  ["rbac.authorization.k8s.io/v1", "ClusterRoleBinding", BINDINGS],
  ["admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", WEBHOOKS],
];

for (const [apiVersion, kind, cases] of TABLES) {
  for (const [sentence, { object, old, want }] of Object.entries(cases)) {
    Deno.test(`\`kubernetesKindSchema()\` of ${kind} ${sentence}`, () => {
      const told = problems(apiVersion, kind, object, old);
      assert.equal(told.length, want.length, told.join("\n"));
      for (const text of want) assert.ok(told.some((it) => it.startsWith(text)), told.join("\n"));
    });
  }
}

const DEFAULTS: Record<
  string,
  { kind: [string, string]; object: unknown; path: string[]; want: unknown }
> = {
  "a pod's grace period": {
    kind: ["v1", "Pod"],
    object: pod(),
    path: ["spec", "terminationGracePeriodSeconds"],
    want: 30,
  },
  "an empty volume's source": {
    kind: ["v1", "Pod"],
    object: pod({ volumes: [{ name: "v" }] }),
    path: ["spec", "volumes"],
    want: [{ name: "v", emptyDir: {} }],
  },
  "the protocol of a Service's port that names an empty one": {
    kind: ["v1", "Service"],
    object: { metadata: { name: "s" }, spec: { ports: [{ port: 1, protocol: "" }] } },
    path: ["spec", "ports"],
    want: [{ port: 1, protocol: "TCP", targetPort: 1 }],
  },
  "a job's back-off limit": {
    kind: ["batch/v1", "Job"],
    object: job(),
    path: ["spec", "backoffLimit"],
    want: 6,
  },
  "a job's completions": {
    kind: ["batch/v1", "Job"],
    object: job(),
    path: ["spec", "completions"],
    want: 1,
  },
  "no completions if parallelism is given": {
    kind: ["batch/v1", "Job"],
    object: job({ parallelism: 2 }),
    path: ["spec", "completions"],
    want: undefined,
  },
  "a job's labels, from its template": {
    kind: ["batch/v1", "Job"],
    object: job(),
    path: ["metadata", "labels"],
    want: UID,
  },
  "a Secret's data, from its texts": {
    kind: ["v1", "Secret"],
    object: { metadata: { name: "s" }, stringData: { a: "ü" } },
    path: ["data"],
    want: { a: "w7w=" },
  },
};

for (const [sentence, { kind, object, path, want }] of Object.entries(DEFAULTS)) {
  Deno.test(`\`applyDefaults()\` gives ${sentence}`, () => {
    const schema = schemaOf(...kind);
    assert.deepEqual(at(schema.applyDefaults(schema.prune(object)), ...path), want);
  });
}

Deno.test("`applyDefaults()` changes nothing when it runs again", () => {
  const schema = schemaOf("batch/v1", "Job");
  const once = schema.applyDefaults(schema.prune(job()));
  assert.deepEqual(schema.applyDefaults(schema.prune(once)), once);
});

Deno.test("`prune()` writes a number of a quantity as text", () => {
  const object = pod({ containers: [{ ...CONTAINER, resources: { limits: { cpu: 1.5 } } }] });
  const text = JSON.stringify(schemaOf("v1", "Pod").prune(object));
  assert.ok(text.includes('"limits":{"cpu":"1.5"}'), text);
});

Deno.test("`kubernetesKindSchema()` knows no kind that Kubernetes does not have", () => {
  assert.equal(kubernetesKindSchema("trainer.kubeflow.org", "v1alpha1", "TrainJob"), undefined);
  assert.equal(kubernetesKindSchema("", "v1", "Pod"), kubernetesKindSchema("", "v1", "Pod"));
});
