/** Tables of what the v1 kinds default to, in what the pods of a type differ, and which pods a Service selects. */
import { deepEqual, equal, ok } from "node:assert/strict";
import { runOf } from "../../../controller/jobs/defaults.ts";
import { podOf } from "../../../controller/jobs/replica_pod.ts";
import { serviceOf } from "../../../controller/jobs/replica_service.ts";
import { KIND_RULES } from "../../../controller/jobs/rules_by_kind.ts";
import { replicaName, type Run } from "../../../controller/jobs/run.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { V1_KINDS, type V1KindName } from "../../../crds/v1/kinds.ts";
import { KIND_NAMES, TYPES } from "./every_kind.ts";
import { replicaOf, v1Job, v1Run } from "./v1_jobs.ts";

interface Defaults {
  readonly restartPolicy: string;
  /** Name and number of the port that is added; undefined: none is. */
  readonly port: readonly [name: string, number: number] | undefined;
  /** Replicas of each type that says nothing. */
  readonly counts: Readonly<Record<string, number>>;
  /** Fields of the spec that the kind fills in. */
  readonly spec?: Readonly<Record<string, unknown>>;
}

const DEFAULTS: Readonly<Record<V1KindName, Defaults>> = {
  TFJob: {
    restartPolicy: "Never",
    port: ["tfjob-port", 2222],
    counts: { Chief: 1, Evaluator: 1, PS: 1, Worker: 1 },
  },
  PyTorchJob: {
    restartPolicy: "OnFailure",
    port: ["pytorchjob-port", 23456],
    counts: { Master: 1, Worker: 1 },
    spec: { nprocPerNode: "auto" },
  },
  XGBoostJob: {
    restartPolicy: "Never",
    port: ["xgboostjob-port", 9999],
    counts: { Master: 1, Worker: 1 },
  },
  MXJob: {
    restartPolicy: "Never",
    port: ["mxjob-port", 9091],
    counts: { Scheduler: 1, Server: 1, Worker: 1, TunerTracker: 1, TunerServer: 1, Tuner: 1 },
  },
  MPIJob: {
    restartPolicy: "Never",
    port: undefined,
    counts: { Launcher: 1, Worker: 0 },
    spec: { slotsPerWorker: 1 },
  },
  PaddleJob: {
    restartPolicy: "OnFailure",
    port: ["master", 36543],
    counts: { Master: 1, Worker: 1 },
  },
  JAXJob: { restartPolicy: "Never", port: ["jaxjob-port", 6666], counts: { Worker: 1 } },
};

for (const [kind, { restartPolicy, port, counts, spec = {} }] of Object.entries(DEFAULTS)) {
  const name = V1_KINDS[kind as V1KindName].kind;
  Deno.test(`defaults of a ${kind}`, () => {
    const given = Object.fromEntries(Object.keys(counts).map((type) => [type, {}]));
    const job = v1Job(name, given, { runPolicy: undefined });
    const before = JSON.stringify(job);
    const run = runOf(V1_KINDS[name], job);
    deepEqual(Object.fromEntries(run.replicas.map((of) => [of.type, of.count])), counts);
    for (const { type, restartPolicy: policy, template } of run.replicas) {
      equal(policy, restartPolicy, type);
      deepEqual(
        template.spec?.containers[0]?.ports?.map((it) => [it.name, it.containerPort]),
        port && [port],
        type,
      );
    }
    deepEqual([run.cleanPodPolicy, run.suspended], ["None", false]);
    const { [V1_KINDS[name].specsKey]: _, runPolicy: _none, ...own } = run.spec;
    deepEqual(own, spec);
    equal(JSON.stringify(job), before, "nothing of it is stored");
  });

  Deno.test(`what a ${kind} says itself is no default`, () => {
    const [type = ""] = Object.keys(counts);
    const mine = { replicas: 3, restartPolicy: "Always" };
    const job = v1Job(name, { [type.toLowerCase()]: mine }, {
      runPolicy: { cleanPodPolicy: "Running", suspend: true },
      nprocPerNode: "2",
      slotsPerWorker: 4,
    });
    const { specsKey, container } = V1_KINDS[name];
    const ports = [{ name: "other", containerPort: 80 }, {
      name: port?.[0] ?? "none",
      containerPort: 7,
    }];
    const template = {
      spec: { containers: [{ name: "side", image: "i" }, { name: container, image: "i", ports }] },
    };
    const own = { ...job.spec, [specsKey]: { [type.toLowerCase()]: { ...mine, template } } };
    const run = runOf(V1_KINDS[name], { ...job, spec: own });
    deepEqual(
      run.replicas.map((of) => [of.type, of.count, of.restartPolicy]),
      [[type, 3, "Always"]],
    );
    deepEqual(run.replicas[0]?.template, template, "the port of that name is the user's");
    deepEqual([run.cleanPodPolicy, run.suspended], ["Running", true]);
    deepEqual([run.spec.nprocPerNode, run.spec.slotsPerWorker], ["2", 4]);
  });
}

/** Each place at which two values differ, with both. */
function differences(a: unknown, b: unknown, path = ""): string[] {
  const isBranch = (value: unknown) => typeof value === "object" && value !== null;
  if (!isBranch(a) || !isBranch(b)) {
    if (typeof a === "string" && typeof b === "string" && a !== b && a.startsWith("{")) {
      return differences(JSON.parse(a), JSON.parse(b), `${path}~`);
    }
    return a === b ? [] : [`${path}: ${a} ${b}`];
  }
  const [left, right] = [new Map(Object.entries(Object(a))), new Map(Object.entries(Object(b)))];
  return [...new Set([...left.keys(), ...right.keys()])].flatMap((key) => {
    const named = left.get(key) ?? right.get(key);
    const isVariable = path.endsWith(".env") && isBranch(named);
    const step = isVariable ? Object(named).name : key;
    return differences(left.get(key), right.get(key), `${path}.${step}`);
  });
}

const SLOT = [
  "metadata.labels.replica-index: 2 3",
  "metadata.labels.training.kubeflow.org/replica-index: 2 3",
];
const variable = (name: string, pair = "2 3") => `spec.containers.0.env.${name}.value${pair}`;

/** In what else the replicas 2 and 3 of a type differ, besides their names and labels. */
const DIFFERENT: Readonly<Record<V1KindName, Readonly<Record<string, readonly string[]>>>> = {
  TFJob: {
    Worker: [variable("TF_CONFIG", "~.task.index: 2 3")],
    PS: [variable("TF_CONFIG", "~.task.index: 2 3")],
    Evaluator: [variable("TF_CONFIG", "~.task.index: 2 3")],
  },
  PyTorchJob: { Worker: [variable("RANK", ": 3 4"), variable("PET_NODE_RANK", ": 3 4")] },
  XGBoostJob: { Worker: [variable("RANK", ": 3 4")] },
  MXJob: {
    Server: [variable("MX_CONFIG", "~.task.index: 2 3")],
    Worker: [variable("MX_CONFIG", "~.task.index: 2 3"), variable("DMLC_WORKER_ID", ": 2 3")],
  },
  MPIJob: { Worker: [] },
  PaddleJob: { Worker: [] },
  JAXJob: { Worker: [variable("PROCESS_ID", ": 2 3")] },
};

for (const [kind, types] of Object.entries(DIFFERENT)) {
  for (const [type, own] of Object.entries(types)) {
    Deno.test(`two replicas ${type} of a ${kind} differ in their index alone`, () => {
      const name = V1_KINDS[kind as V1KindName].kind;
      const run = v1Run(name, { ...TYPES[name], [type]: 4 });
      const pod = (index: number) => podOf(run, KIND_RULES[name], replicaOf(run, type, index));
      const base = `metadata.name: j-${type.toLowerCase()}-`;
      deepEqual(
        differences(pod(2), pod(3)).map((it) => it.slice(1)).sort(),
        [`${base}2 j-${type.toLowerCase()}-3`, ...SLOT, ...own].sort(),
      );
    });
  }
}

/** Jobs of every kind: two of the same names in each, one whose name begins with the other's, one in another namespace. */
const RUNS: readonly Run[] = KIND_NAMES.flatMap((kind) => {
  const run = v1Run(kind, { ...TYPES[kind], Worker: 12 });
  return [
    run,
    { ...run, name: "k" },
    { ...run, name: "j-worker" },
    { ...run, namespace: "other" },
  ];
});

function podsOf(run: Run): Pod[] {
  return run.replicas.flatMap((of) =>
    Array.from(
      { length: of.count },
      (_, index) => podOf(run, KIND_RULES[run.kind.kind], { of, index }),
    )
  );
}

const ALL = RUNS.flatMap(podsOf);

for (const run of RUNS.filter(({ kind }) => kind.port !== undefined)) {
  Deno.test(`each Service of the ${run.kind.kind} ${run.namespace}/${run.name} selects its pod of all`, () => {
    for (const of of run.replicas) {
      for (let index = 0; index < of.count; index++) {
        const { metadata, spec } = serviceOf(run, { of, index });
        const selector = Object.entries(spec?.selector ?? {});
        ok(selector.length > 0, "an empty selector selects nothing");
        const found = ALL.filter((pod) =>
          pod.metadata?.namespace === metadata?.namespace &&
          selector.every(([key, value]) => pod.metadata?.labels?.[key] === value)
        );
        const name = replicaName(run, { of, index });
        deepEqual(found.map((it) => it.metadata?.name), [name]);
        const owner = found[0]?.metadata?.ownerReferences?.[0];
        deepEqual([owner?.kind, owner?.name], [run.kind.kind, run.name]);
        equal(metadata?.name, name);
      }
    }
  });
}
