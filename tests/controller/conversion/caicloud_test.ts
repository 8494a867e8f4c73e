/** Tests of the conversion of the TFJob of 2018: what its programs are told, when it ends, and what is refused. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { convertCaicloud } from "../../../controller/conversion/caicloud.ts";
import { renderJobSet } from "../../../controller/runtime/render.ts";
import { type CaicloudTfJob, caicloudTfJobSchema } from "../../../crds/caicloud_tfjob.ts";
import { jobSetOf } from "../builders.ts";

type Fields = Readonly<Record<string, unknown>>;

const IMAGE = "cargo.caicloud.io/clever-base/tensorflow:v1.4.0";
const container = (more: Fields = {}): Fields => ({
  name: "tensorflow",
  image: IMAGE,
  command: ["python", "/workdir/mnist_replica.py"],
  ports: [{ containerPort: 2222 }],
  ...more,
});

const replicas = (type: string, count: number, pod: Fields = {}, more: Fields = {}): Fields => ({
  replicas: count,
  tfReplicaType: type,
  template: { spec: { containers: [container()], restartPolicy: "OnFailure", ...pod } },
  ...more,
});

function job(tfReplicaSpec: readonly Fields[], more: Fields = {}): CaicloudTfJob {
  return caicloudTfJobSchema.parse({
    apiVersion: "kubeflow.caicloud.io/v1alpha1",
    kind: "TFJob",
    metadata: { name: "dist", namespace: "team" },
    spec: { tfReplicaSpec, ...more },
  });
}

const DISTRIBUTED = [replicas("PS", 2), replicas("Worker", 4)];

function converted(from: CaicloudTfJob) {
  const conversion = convertCaicloud(from);
  ok("trainJob" in conversion, JSON.stringify(conversion));
  return conversion;
}

/** The jobs of the JobSet, with what each of their pods sees. */
function jobsOf(from: CaicloudTfJob) {
  const { trainJob, runtime } = converted(from);
  const jobSet = jobSetOf(renderJobSet({ trainJob, runtime, executor: "external" }));
  const jobs = (jobSet.spec?.replicatedJobs ?? []).map(({ name, template: { spec } }) => {
    const pod = spec?.template.spec;
    const [first] = pod?.containers ?? [];
    const seen = Array.from({ length: spec?.parallelism ?? 1 }, (_, index) => {
      const values: Record<string, string> = {};
      const filled = (text: string) =>
        text.replace(/\$\(([A-Z_]+)\)/g, (_all, other: string) => values[other] ?? "");
      for (const one of first?.env ?? []) {
        values[one.name] = filled(one.value ?? (one.valueFrom?.fieldRef ? String(index) : ""));
      }
      return { args: first?.args?.map(filled), config: values.TF_CONFIG };
    });
    return { name, spec, pod, labels: spec?.template.metadata?.labels, seen };
  });
  return { jobs, success: jobSet.spec?.successPolicy };
}

const hosts = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `dist-${name}-0-${index}.dist:2222`);

for (const [says, ps, workers] of [["many", 2, 4], ["one of each", 1, 1]] as const) {
  Deno.test(`each pod is told the cluster and its place by arguments, and TF_CONFIG is the same: ${says}`, () => {
    const { jobs, success } = jobsOf(job([replicas("PS", ps), replicas("Worker", workers)]));
    deepEqual(jobs.map(({ name, seen }) => [name, seen.length]), [["ps", ps], ["node", workers]]);
    for (const { name, seen } of jobs) {
      const type = name === "ps" ? "ps" : "worker";
      for (const [index, { args, config }] of seen.entries()) {
        deepEqual(args, [
          `--worker_hosts=${hosts("node", workers)}`,
          `--ps_hosts=${hosts("ps", ps)}`,
          `--job_name=${type}`,
          `--task_index=${index}`,
        ]);
        deepEqual(JSON.parse(config ?? ""), {
          cluster: { ps: hosts("ps", ps), worker: hosts("node", workers) },
          task: { type, index },
          environment: "cloud",
        });
      }
    }
    deepEqual(success, { operator: "All", targetReplicatedJobs: ["node"] });
  });
}

Deno.test("a Local keeps its arguments, is one pod, and has no TF_CONFIG", () => {
  const own = replicas("Local", 1, { containers: [container({ args: ["--steps=3"] })] });
  const { jobs: [only, ...more] } = jobsOf(job([own]));
  equal(more.length, 0);
  deepEqual(only?.seen, [{ args: ["--steps=3"], config: undefined }]);
  equal(only?.spec?.backoffLimit, 2_147_483_647);
});

Deno.test("the first container gets the arguments, whatever its name, and also beside one named tensorflow", () => {
  const containers = [
    container({ name: "main", args: ["--lost"] }),
    container({ name: "tensorflow", args: ["--kept"] }),
  ];
  const specs = [replicas("PS", 1, { containers }), replicas("Worker", 1, { containers })];
  const { jobs } = jobsOf(job(specs));
  for (const { pod } of jobs) {
    deepEqual(pod?.containers.map(({ name }) => name), ["node", "tensorflow"]);
    equal(pod?.containers[0]?.args?.length, 4);
    deepEqual(pod?.containers[1]?.args, ["--kept"]);
  }
  const { notes } = converted(job(specs));
  for (const type of ["PS", "Worker"]) {
    ok(notes.some((it) => it.startsWith(`The arguments of ${type} are left out`)), type);
  }
});

Deno.test("what fails is made again for ever, also pods that are never restarted", () => {
  const { jobs } = jobsOf(
    job([replicas("PS", 1), replicas("Worker", 1, { restartPolicy: "Never" })]),
  );
  deepEqual(
    jobs.map(({ spec, pod }) => [spec?.backoffLimit, pod?.restartPolicy]),
    [[2_147_483_647, "OnFailure"], [2_147_483_647, "Never"]],
  );
});

Deno.test("a PS that says nothing of restarts is restarted when it fails, and a note says so", () => {
  const { notes, runtime } = converted(
    job([replicas("PS", 1, { restartPolicy: undefined }), replicas("Worker", 1)]),
  );
  const [ps] = runtime.spec?.template.spec?.replicatedJobs ?? [];
  equal(ps?.template.spec?.template.spec?.restartPolicy, "OnFailure");
  ok(notes.some((it) => it.startsWith("restartPolicy of PS is OnFailure")));
});

Deno.test("of a job as kubectl printed it, what its controller had written is left out", () => {
  const template = (type: string, index: number) => ({
    metadata: {
      labels: {
        index: String(index),
        job_type: type,
        "kubeflow.caicloud.io": "true",
        runtime_id: "nbbbg",
        tf_job_name: "dist",
        mine: "kept",
      },
    },
    spec: {
      containers: [container({
        args: [
          "--worker_hosts=dist-worker-0-d88wg:2222",
          "--ps_hosts=dist-ps-0-nlfdp:2222",
          `--job_name=${type.toLowerCase()}`,
          `--task_index=${index}`,
        ],
      })],
      restartPolicy: "OnFailure",
    },
  });
  const from = job([
    { replicas: 1, tfReplicaType: "PS", template: template("PS", 0) },
    { replicas: 1, tfReplicaType: "Worker", template: template("Worker", 0) },
  ], {
    runtimeID: "nbbbg",
    modelDir: "/model",
    dataDir: "",
    logDir: "/logs",
    exportDir: "/export",
  });
  const { jobs } = jobsOf(from);
  for (const { labels, seen } of jobs) {
    equal(labels?.mine, "kept");
    deepEqual(Object.keys(labels ?? {}).filter((it) => !it.includes("/") && it !== "mine"), []);
    ok(seen[0]?.args?.includes("--task_index=0"));
    ok(!seen[0]?.args?.some((it) => it.includes("d88wg")));
  }
  const { notes } = converted(from);
  const lost = notes.filter((it) => / is lost; /.test(it)).map((it) => it.split(" is lost; ")[0]);
  deepEqual(lost, ["runtimeID: nbbbg", "modelDir: /model", "logDir: /logs", "exportDir: /export"]);
  ok(!notes.some((it) => it.includes("are left out")), notes.join("\n"));
});

Deno.test("the later name of the list is read, and a terminationPolicy is noted", () => {
  const policy = { terminationPolicy: { chief: { tfReplicaName: "Worker", tfReplicaIndex: 0 } } };
  const specs = [replicas("PS", 1), replicas("Worker", 2, {}, policy)];
  const later = caicloudTfJobSchema.parse({ ...job([]), spec: { tfReplicaSpecs: specs } });
  deepEqual(converted(later), converted(job(specs)));
  ok(converted(later).notes.some((it) => it.startsWith("terminationPolicy of Worker is lost")));
});

Deno.test("replicas that say no number are one", () => {
  const { jobs } = jobsOf(
    job([replicas("PS", 1), { ...replicas("Worker", 1), replicas: undefined }]),
  );
  deepEqual(jobs.map(({ seen }) => seen.length), [1, 1]);
});

const affinity = parseYaml(`
podAntiAffinity:
  requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {tf_job_name: dist}}}
`);
const beside = (one: Fields) => [replicas("PS", 1), one];

const REFUSED: Readonly<Record<string, readonly [CaicloudTfJob, RegExp]>> = {
  "no replicas": [job([]), /^spec\.tfReplicaSpec: must be a Local alone, or a PS and a Worker$/],
  "workers alone": [job([replicas("Worker", 2)]), /^spec\.tfReplicaSpec: must be a Local alone/],
  "parameter servers alone": [job([replicas("PS", 2)]), /^spec\.tfReplicaSpec: must be a Local/],
  "a Local beside others": [job([replicas("Local", 1), ...DISTRIBUTED]), /must be a Local alone/],
  "a type twice": [
    job([...DISTRIBUTED, replicas("PS", 1)]),
    /^spec\.tfReplicaSpec\[PS\]: is there twice$/,
  ],
  "both names of the list": [
    job(DISTRIBUTED, { tfReplicaSpecs: DISTRIBUTED }),
    /^spec\.tfReplicaSpecs: is another name of tfReplicaSpec/,
  ],
  "more than one Local": [
    job([replicas("Local", 3)]),
    /^spec\.tfReplicaSpec\[Local\]\.replicas: a Local job had one/,
  ],
  "no worker": [
    job(beside(replicas("Worker", 0))),
    /^spec\.tfReplicaSpec\[Worker\]\.replicas: must be at least 1$/,
  ],
  "fewer than none": [
    job(beside(replicas("Worker", -1))),
    /\[Worker\]\.replicas: must be at least 1$/,
  ],
  "more than anybody has": [
    job(beside(replicas("Worker", 2_147_483_647))),
    /^spec\.tfReplicaSpec\[Worker\]\.replicas: .*: makes 2147483648 pods of the job, at most 10000/,
  ],
  "no template": [
    job(beside({ tfReplicaType: "Worker", template: { spec: { restartPolicy: "Never" } } })),
    /^spec\.tfReplicaSpec\[Worker\]\.template\.spec\.containers: must be specified$/,
  ],
  "no image": [
    job(beside(replicas("Worker", 1, { containers: [container({ image: "" })] }))),
    /\.template\.spec\.containers\[0\]\.image: must be required$/,
  ],
  "a worker that says nothing of restarts": [
    job(beside(replicas("Worker", 1, { restartPolicy: undefined }))),
    /^spec\.tfReplicaSpec\[Worker\]\.template\.spec\.restartPolicy: Always, which it is if nothing is said/,
  ],
  "a Local that is always started again": [
    job([replicas("Local", 1, { restartPolicy: "Always" })]),
    /^spec\.tfReplicaSpec\[Local\]\.template\.spec\.restartPolicy: Always/,
  ],
  "an unknown restart policy": [
    job(beside(replicas("Worker", 1, { restartPolicy: "ExitCode" }))),
    /restartPolicy: ExitCode is none of a pod$/,
  ],
  "a TF_CONFIG of its own": [
    job(beside(replicas("Worker", 1, {
      containers: [container({ env: [{ name: "TF_CONFIG", value: "{}" }] })],
    }))),
    /\.containers\[0\]\.env: TF_CONFIG is set by the policy tensorflow$/,
  ],
  "pods spread by a label of its pods": [
    job(beside(replicas("Worker", 1, { affinity }))),
    /matchLabels: names the label tf_job_name, which pods of TrainJobs have not$/,
  ],
  "a variable from a label of its pods": [
    job(beside(replicas("Worker", 1, {
      containers: [container({
        env: [{ name: "I", valueFrom: { fieldRef: { fieldPath: "metadata.labels['index']" } } }],
      })],
    }))),
    /fieldPath: names the label index/,
  ],
  "another container with the name of that which trains": [
    job(beside(replicas("Worker", 1, { containers: [container(), container({ name: "node" })] }))),
    /a container is named node/,
  ],
};

for (const [says, [from, why]] of Object.entries(REFUSED)) {
  Deno.test(`a TFJob of 2018 is refused: ${says}`, () => {
    const conversion = convertCaicloud(from);
    const refusals = "refusals" in conversion ? conversion.refusals : [];
    equal(refusals.length, 1, JSON.stringify(conversion));
    ok(why.test(refusals[0] ?? ""), String(refusals[0]));
  });
}
