/** Tests of `controller/runtime/policies/flux`: rendering, children, keys. */
import { deepEqual, equal, match, notEqual, throws } from "node:assert/strict";
import type { ChildContent } from "../../../../controller/runtime/child.ts";
import { NO_PROGRESS } from "../../../support/no_progress.ts";
import {
  curveCertificate,
  encodeZ85,
  generateCurveKeys,
} from "../../../../controller/runtime/policies/flux/curve.ts";
import { POLICIES } from "../../../../controller/runtime/policies/table.ts";
import { policyRules } from "../../../../controller/runtime/policy.ts";
import type { Container } from "../../../../platform/kube/kubernetes.ts";
import type { Trainer, TrainJob } from "../../../../crds/trainjob.ts";
import type { ClusterTrainingRuntime, MlPolicy } from "../../../../crds/training_runtime.ts";
import { nodeJob, replicatedJob, runtime, trainJob } from "../../builders.ts";
import { containerOf, podOf, problemsOf, render, rendered, runtimeOf } from "./rendering.ts";

const FLUX = { numNodes: 1, flux: {} };
const ENTRYPOINT = ["/bin/bash", "/etc/flux-config/entrypoint.sh"];
const PAIR = { publicKey: new Uint8Array(32).fill(1), secretKey: new Uint8Array(32).fill(2) };

function childrenOf(from: ClusterTrainingRuntime, job: TrainJob = trainJob()) {
  const result = render(from, job);
  if (!("jobSet" in result)) throw new Error(JSON.stringify(result));
  return result.children(NO_PROGRESS);
}

/** The scripts of a job. */
function scriptsOf(from: ClusterTrainingRuntime, job?: TrainJob): Record<string, string> {
  const child = childrenOf(from, job).find(({ kind }) => kind.kind === "ConfigMap");
  if (child === undefined || child.mode === "once") throw new Error("no ConfigMap");
  return Object.fromEntries(
    Object.entries(child.content.data ?? {}).map(([key, text]) => [key, String(text)]),
  );
}

Deno.test("flux renders init container, volumes and mounts as a whole", () => {
  const jobSet = rendered(runtimeOf(FLUX), trainJob({ trainer: { command: ["lmp", "-v", "x"] } }));
  const scripts = { name: "tj-flux-entrypoint", mountPath: "/etc/flux-config", readOnly: true };
  const install = { name: "flux-install", mountPath: "/mnt/flux" };
  deepEqual(podOf(jobSet), {
    initContainers: [{
      name: "flux-installer",
      image: "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy",
      command: ["/bin/bash", "/etc/flux-config/init.sh"],
      volumeMounts: [install, scripts],
    }],
    containers: [{
      name: "node",
      image: "acme/base:1",
      command: [...ENTRYPOINT, "lmp -v x"],
      volumeMounts: [
        install,
        { name: "spack-install", mountPath: "/opt/software" },
        scripts,
        { name: "flux-curve", mountPath: "/curve", readOnly: true },
        { name: "shared-memory", mountPath: "/dev/shm" },
      ],
    }],
    volumes: [
      { name: "spack-install", emptyDir: {} },
      { name: "flux-install", emptyDir: {} },
      {
        name: "tj-flux-entrypoint",
        configMap: { name: "tj-flux-entrypoint", defaultMode: 0o755 },
      },
      { name: "shared-memory", emptyDir: { medium: "Memory" } },
      { name: "flux-curve", secret: { secretName: "tj-flux-curve", defaultMode: 0o400 } },
    ],
  });
});

const COMMANDS: Record<
  string,
  { trainer?: Trainer; node?: Partial<Container>; want: string; args?: string[] }
> = {
  "the TrainJob's command and args": {
    trainer: { command: ["lmp", "-v"], args: ["x", "2"] },
    want: "lmp -v x 2",
  },
  "the runtime's command, whose args stay where they are": {
    node: { command: ["lmp"], args: ["-in", "in.reaxc"] },
    want: "lmp",
    args: ["-in", "in.reaxc"],
  },
  "the runtime's command with the TrainJob's args, and the runtime's args as upstream": {
    trainer: { args: ["-nocite"] },
    node: { command: ["lmp"], args: ["-in", "in.reaxc"] },
    want: "lmp -nocite",
    args: ["-in", "in.reaxc"],
  },
  "no program": { want: "" },
  "a whole line in one word": { trainer: { command: ["lmp  -v x 2"] }, want: "lmp -v x 2" },
  "words that a shell would split": {
    trainer: { command: ["bash", "-c", "python train.py && echo 'it''s'"] },
    want: `bash -c 'python train.py && echo '\\''it'\\'''\\''s'\\'''`,
  },
  "an empty word": { trainer: { command: ["echo", "", "a"] }, want: "echo '' a" },
};

for (const [what, { trainer, node, want, args }] of Object.entries(COMMANDS)) {
  Deno.test(`flux runs ${what}`, () => {
    const job = trainJob(trainer && { trainer });
    const container = containerOf(rendered(runtimeOf(FLUX, [nodeJob(node)]), job));
    deepEqual([container?.command, container?.args], [[...ENTRYPOINT, want], args]);
  });
}

const FLAGS: Record<
  string,
  { trainer?: Trainer; policy?: MlPolicy["flux"]; want: [string, string] }
> = {
  "one node and one task without a trainer in the TrainJob (G2)": {
    want: ["flux run -N 1 -n 1 ", "--cores=0 "],
  },
  "the nodes of the TrainJob": {
    trainer: { numNodes: 4 },
    want: ["flux run -N 4 -n 4 ", "--cores=0 "],
  },
  "the tasks of the policy": {
    trainer: { numNodes: 2 },
    policy: { numProcPerNode: 3 },
    want: ["flux run -N 2 -n 6 ", "--cores=0-2 "],
  },
  "the tasks of the TrainJob": {
    trainer: { numNodes: 2, numProcPerNode: 2 },
    policy: { numProcPerNode: 3 },
    want: ["flux run -N 2 -n 4 ", "--cores=0-1 "],
  },
  "the GPUs of a node, shared by its tasks": {
    trainer: { numProcPerNode: 2, resourcesPerNode: { limits: { "nvidia.com/gpu": "4" } } },
    want: ["flux run -N 1 -n 2 -g 2 ", "--cores=0-1 --gpus=0-3 "],
  },
  "less GPUs than tasks": {
    trainer: { numProcPerNode: 2, resourcesPerNode: { limits: { "nvidia.com/gpu": "1" } } },
    want: ["flux run -N 1 -n 2 ", "--cores=0-1 --gpus=0 "],
  },
};

for (const [what, { trainer, policy = {}, want }] of Object.entries(FLAGS)) {
  Deno.test(`flux counts ${what}`, () => {
    const from = runtimeOf({ numNodes: 1, flux: policy });
    const text = scriptsOf(from, trainJob(trainer && { trainer }))["entrypoint.sh"] ?? "";
    for (const flags of want) equal(text.includes(flags), true, `${flags} is not in ${text}`);
  });
}

Deno.test("flux names hosts and domain by job, subdomain and namespace (G5)", () => {
  const from = runtime({ mlPolicy: { numNodes: 3, flux: {} } }, {
    replicatedJobs: [replicatedJob("broker", "trainer")],
    network: { subdomain: "sub" },
  });
  const text = scriptsOf(from)["init.sh"] ?? "";
  match(text, /^echo 'tj-broker-0-\[0-2\]' > /m);
  match(text, /^hosts = \[\{ host = "tj-broker-0-\[0-2\]" \}\]$/m);
  match(text, /^default_connect = "tcp:\/\/%h\.sub\.ml\.svc:%p"$/m);
});

Deno.test("flux takes its settings from the TrainJob, else from the runtime", () => {
  const env = (values: Record<string, string>) =>
    Object.entries(values).map(([name, value]) => ({ name, value }));
  const node = nodeJob({
    env: env({ FLUX_VIEW_IMAGE: "acme/view:1", FLUX_QUEUE_POLICY: 'a"b', FLUX_NETWORK_DEVICE: "" }),
  });
  const job = trainJob({ trainer: { env: env({ FLUX_VIEW_IMAGE: "acme/view:2" }) } });
  const from = runtimeOf(FLUX, [node]);
  equal(podOf(rendered(from, job))?.initContainers?.[0]?.image, "acme/view:2");
  equal(podOf(rendered(from))?.initContainers?.[0]?.image, "acme/view:1");
  const text = scriptsOf(from)["init.sh"] ?? "";
  match(text, /^queue-policy = "a\\"b"$/m);
  match(text, /^default_bind = "tcp:\/\/eth0:%p"$/m);
});

const withInstaller = nodeJob();
const pod = withInstaller.template.spec?.template.spec;
if (pod) pod.initContainers = [{ name: "flux-installer" }];
const PROBLEMS: Record<string, { from?: ClusterTrainingRuntime; job: TrainJob; want: string }> = {
  "an init container of its name, in upstream's words": {
    from: runtimeOf(FLUX, [withInstaller]),
    job: trainJob(),
    want: "spec.trainer.initContainers: InitContainer 'flux-installer' is reserved",
  },
  "less than one process, in upstream's words": {
    job: trainJob({ trainer: { numProcPerNode: 0 } }),
    want: "spec.trainer.numProcPerNode: must be greater than or equal to 1 for Flux TrainJob",
  },
  "no nodes": {
    job: trainJob({ trainer: { numNodes: 0 } }),
    want:
      "spec.trainer.numNodes: must be greater than or equal to 1 for Flux TrainJob, since node 0 leads",
  },
  "a setting that is known only in the pod": {
    job: trainJob({
      trainer: {
        env: [{
          name: "FLUX_VIEW_IMAGE",
          valueFrom: { configMapKeyRef: { name: "c", key: "k" } },
        }],
      },
    }),
    want: "spec.trainer.env[0].valueFrom: FLUX_VIEW_IMAGE must be given as a value",
  },
  "a name that is too long for a volume (G13)": {
    job: trainJob({}, { name: "a".repeat(48) }),
    want: `metadata.name: yields an invalid child: volume "${
      "a".repeat(48)
    }-flux-entrypoint" has 64 characters, at most 63 are allowed; shorten the TrainJob's name by 1`,
  },
  "a runtime without a trainer": {
    from: runtimeOf(FLUX, [replicatedJob("node", undefined)]),
    job: trainJob(),
    want: "spec.runtimeRef: must have a job with the label " +
      "trainer.kubeflow.org/trainjob-ancestor-step: trainer in the runtime, for the brokers of Flux",
  },
};

for (const [what, { from = runtimeOf(FLUX), job, want }] of Object.entries(PROBLEMS)) {
  Deno.test(`flux refuses ${what}`, () => equal(problemsOf(from, job), want));
}

Deno.test("flux takes the longest name that its volume fits", () => {
  equal(problemsOf(runtimeOf(FLUX), trainJob({}, { name: "a".repeat(47) })), "none");
});

Deno.test("flux makes a new certificate for each Secret, from nothing that is known (G17)", async () => {
  const makeOne = async (): Promise<ChildContent> => {
    const child = childrenOf(runtimeOf(FLUX)).find(({ kind }) => kind.kind === "Secret");
    if (child?.mode !== "once") throw new Error("the Secret must be created once");
    equal(child.name, "tj-flux-curve");
    return await child.make();
  };
  const contents = await Promise.all([makeOne(), makeOne()]);
  const texts = contents.map((content) => {
    const [key, ...more] = Object.entries(content.data ?? {});
    equal(more.length, 0);
    equal(key?.[0], "curve.cert");
    return new TextDecoder().decode(Uint8Array.fromBase64(String(key?.[1])));
  });
  for (const text of texts) {
    match(
      text,
      /\nmetadata\n {4}name = "tj"\ncurve\n {4}public-key = ".{40}"\n {4}secret-key = ".{40}"\n$/,
    );
  }
  notEqual(texts[0], texts[1]);
});

Deno.test("no policy has a rule of its own for Secrets, which have one role for all policies", () => {
  const rules = Object.values(policyRules(POLICIES)).flat();
  deepEqual(rules.filter(({ resources = [] }) => resources.includes("secrets")), []);
});

Deno.test("encodeZ85() encodes the example of ZeroMQ's RFC 32, and whole words only", () => {
  const bytes = Uint8Array.fromHex("864FD26FB559F75B");
  equal(encodeZ85(bytes), "HelloWorld");
  equal(encodeZ85(new Uint8Array(4).fill(255)), "%nSc0");
  throws(() => encodeZ85(new Uint8Array(5)), /multiple of 4 bytes, not 5/);
});

Deno.test("generateCurveKeys() makes a pair of X25519", async () => {
  const { publicKey, secretKey } = await generateCurveKeys();
  deepEqual([publicKey.length, secretKey.length], [32, 32]);
  // RFC 7748: the public key is the secret one times the base point, 9.
  const toBase64 = (bytes: Uint8Array) =>
    bytes.toBase64({ alphabet: "base64url", omitPadding: true });
  const base = new Uint8Array(32);
  base[0] = 9;
  const curve = { kty: "OKP", crv: "X25519" } as const;
  const secret = await crypto.subtle.importKey(
    "jwk",
    { ...curve, d: toBase64(secretKey), x: toBase64(publicKey) },
    { name: "X25519" },
    false,
    ["deriveBits"],
  );
  const point = await crypto.subtle.importKey("raw", base, { name: "X25519" }, false, []);
  const product = await crypto.subtle.deriveBits({ name: "X25519", public: point }, secret, 256);
  deepEqual(new Uint8Array(product), publicKey);
});

Deno.test("curveCertificate() has the format of `flux keygen`", () => {
  const key = (byte: number) => encodeZ85(new Uint8Array(32).fill(byte));
  equal(
    curveCertificate("tj", PAIR),
    `#  ZeroMQ CURVE Secret Certificate\n\nmetadata\n    name = "tj"\ncurve\n` +
      `    public-key = "${key(1)}"\n    secret-key = "${key(2)}"\n`,
  );
});
