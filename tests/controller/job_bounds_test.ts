/** Tests of the bounds of a job: how many pods it may have, and how long the texts may be that name them. */
import { deepEqual, equal, match, ok } from "node:assert/strict";
import {
  type PodCount,
  podCountProblem,
  podListProblem,
  variableBytes,
} from "../../controller/job_bounds.ts";
import { decide } from "../../controller/jobset/decide.ts";
import { resolveSpec } from "../../controller/jobset/defaults.ts";
import { renderJob } from "../../controller/jobset/render.ts";
import { runOf } from "../../controller/jobs/defaults.ts";
import { DEFAULT_V1_SETTINGS } from "../../controller/jobs/v1_settings.ts";
import { KIND_RULES } from "../../controller/jobs/rules_by_kind.ts";
import { v1JobProblems } from "../../controller/jobs/validation.ts";
import { renderJobSet } from "../../controller/runtime/render.ts";
import { causeOf, type FieldProblem } from "../../crds/field_problem.ts";
import { JOB_LIMITS } from "../../crds/job_limits.ts";
import type { ReplicatedJob } from "../../crds/jobset.ts";
import type { MlPolicy } from "../../crds/training_runtime.ts";
import { V1_KINDS, type V1KindName } from "../../crds/v1/kinds.ts";
import { NO_PROGRESS } from "../support/no_progress.ts";
import { jobSet as jobSetOf, replicated } from "./jobset/world.ts";
import { jobSetOf as rendered, nodeJob, replicatedJob, runtime, trainJob } from "./builders.ts";
import { v1Job } from "./jobs/v1_jobs.ts";

const bytesOf = (text: string) => new TextEncoder().encode(text).length;
const textOf = (problem: FieldProblem | undefined) => problem && causeOf(problem);

const counts = (...pods: number[]) =>
  pods.map((it, index): PodCount => ({ field: `f[${index}]`, value: it, pods: it }));

for (
  const [what, pods, max, want] of [
    ["a job of no parts", [], 0, undefined],
    ["as many as are allowed", [1, 2], 3, undefined],
    ["one more, at the largest part", [1, 3], 3, "f[1]"],
    ["the first one of two that are as large", [2, 2], 3, "f[0]"],
    ["a negative number beside a large one", [-(2 ** 31), 2 ** 31 - 1], 10_000, "f[1]"],
    ["more than a number can hold", [Number.MAX_VALUE, Number.MAX_VALUE], 10_000, "f[0]"],
    ["what is no number", [NaN], 10_000, "f[0]"],
    ["none of a job that may have none", [0, 0], 0, undefined],
  ] as const
) {
  Deno.test(`podCountProblem() of ${what}`, () => {
    equal(podCountProblem(counts(...pods), max)?.field, want);
  });
}

Deno.test("podCountProblem() says the number, the sum and what may be done", () => {
  const [part] = counts(9);
  const problem = podCountProblem([{ ...part!, of: "job ps of the runtime" }, ...counts(2)], 10);
  deepEqual(textOf(problem), {
    reason: "FieldValueInvalid",
    field: "f[0]",
    message:
      "Invalid value: 9: job ps of the runtime makes 11 pods of the job, at most 10 are allowed: " +
      "ask for fewer, or have --max-pods-per-job of the manager raised",
  });
});

Deno.test("podListProblem() counts bytes, to the last one", () => {
  const list = { field: "f", value: 1, name: "LIST", maxBytes: 6 };
  equal(podListProblem({ ...list, pieces: ["ab", "é", "cd"] }), undefined);
  match(
    podListProblem({ ...list, pieces: ["ab", "é", "cde"] })?.message ?? "",
    /^makes LIST longer than 6 bytes/,
  );
});

Deno.test("podListProblem() reads no further than the bound", () => {
  let read = 0;
  function* forever() {
    for (;;) {
      read++;
      yield "four";
    }
  }
  ok(podListProblem({ field: "f", value: 1, name: "LIST", maxBytes: 40, pieces: forever() }));
  equal(read, 11);
});

Deno.test("variableBytes() leaves a variable what the kernel takes, and all copies what etcd takes", () => {
  equal(variableBytes("NAME", 0) + "NAME=".length, JOB_LIMITS.variableBytes);
  equal(variableBytes("NAME", 1), variableBytes("NAME", 0));
  equal(variableBytes("NAME", 1024) * 1024, JOB_LIMITS.variablesBytes);
});

/** The largest number up to `most` for which it holds; it holds for all smaller ones. */
function largest(most: number, holds: (count: number) => boolean): number {
  let [low, high] = [0, most + 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Bytes by which a text may be shorter than its bound where its length is told in advance. */
const SLACK = 200;

/** Asserts that the longest text that is admitted fits, and hardly more would. */
function fits(bytes: number, bound: number): void {
  ok(bytes <= bound && bytes > bound - SLACK, `${bytes} of ${bound} bytes`);
}

/** A rendering with that many nodes. */
function render(mlPolicy: MlPolicy, jobs: ReplicatedJob[], numNodes: number, name = "tj") {
  return renderJobSet({
    trainJob: trainJob({ trainer: { numNodes } }, { name }),
    runtime: runtime({ mlPolicy }, { replicatedJobs: jobs }),
    executor: "external",
    maxPods: 40_000,
  });
}

/** A job of parameter servers with that many containers. */
function servers(containers: number): ReplicatedJob[] {
  if (containers === 0) return [];
  const job = replicatedJob("ps", undefined);
  const names = Array.from({ length: containers }, (_, index) => ({ name: `c${index}` }));
  Object.assign(job.template.spec?.template.spec ?? {}, { containers: names });
  return [job];
}

for (const others of [0, 1, 31]) {
  Deno.test(`TF_CONFIG of a TrainJob fits a node and ${others} other containers, and is refused by name beyond`, () => {
    const of = (count: number) =>
      render({ tensorflow: {} }, [nodeJob(), ...servers(others)], count);
    const most = largest(20_000, (count) => "jobSet" in of(count));
    const values = (rendered(of(most)).spec?.replicatedJobs ?? [])
      .flatMap(({ template }) => template.spec?.template?.spec?.containers ?? [])
      .map(({ env }) => env?.find(({ name }) => name === "TF_CONFIG")?.value ?? "");
    equal(values.length, others + 1);
    const bound = Math.min(
      JOB_LIMITS.variableBytes,
      Math.floor(JOB_LIMITS.variablesBytes / (others + 1)) + "TF_CONFIG=".length,
    );
    fits(Math.max(...values.map((value) => bytesOf(`TF_CONFIG=${value}`))), bound);
    const refused = of(most + 1);
    ok("problems" in refused);
    deepEqual(refused.problems.map(({ field, value }) => [field, value]), [
      ["spec.trainer.numNodes", most + 1],
    ]);
    match(refused.problems[0]?.message ?? "", /^makes TF_CONFIG longer than \d+ bytes/);
  });
}

Deno.test("the hostfile of a TrainJob fits its ConfigMap, and is refused by name beyond", () => {
  const name = "a-name-of-forty-characters-for-a-trainjob";
  const jobs = [replicatedJob("node", undefined), replicatedJob("launcher", "trainer")];
  const of = (count: number) => render({ mpi: { runLauncherAsNode: true } }, jobs, count, name);
  const most = largest(20_000, (count) => "jobSet" in of(count));
  const found = of(most);
  ok("children" in found);
  const hostfile = found.children(NO_PROGRESS).find(({ kind }) => kind.kind === "ConfigMap");
  ok(hostfile?.mode === "equal");
  const text = Object.values(Object(hostfile.content.data)).join("");
  fits(bytesOf(text), JOB_LIMITS.configMapBytes);
  const refused = of(most + 1);
  ok("problems" in refused);
  equal(refused.problems[0]?.field, "spec.trainer.numNodes");
  match(refused.problems[0]?.message ?? "", /^makes the hostfile longer than 1048576 bytes/);
});

Deno.test("a TrainJob names the field that makes it too large: its own, or the job of its runtime", () => {
  const side = replicatedJob("side", undefined);
  const of = (numNodes: number, replicas: number) => {
    const found = render({}, [nodeJob(), { ...side, replicas }], numNodes);
    return "problems" in found ? found.problems.map(({ field, value }) => [field, value]) : [];
  };
  deepEqual(of(39_999, 1), []);
  deepEqual(of(40_000, 1), [["spec.trainer.numNodes", 40_000]]);
  deepEqual(of(1, 39_999), []);
  deepEqual(of(1, 40_000), [["spec.runtimeRef", "rt"]]);
});

/** A v1 job of these types whose template has that many containers. */
function jobOf(
  kind: V1KindName,
  types: Readonly<Record<string, number>>,
  { containers = 1, ...spec }: { readonly containers?: number; readonly [field: string]: unknown } =
    {},
) {
  const job = v1Job(kind, types, { ...spec, ...(kind === "MXJob" && { jobMode: "MXTrain" }) });
  const names = Array.from({ length: containers }, (_, index) => ({
    name: index === 0 ? V1_KINDS[kind].container : `c${index}`,
    image: "i",
  }));
  const { specsKey } = V1_KINDS[kind];
  const specs = Object.entries(Object(job.spec[specsKey])).map(([type, of]) => [type, {
    ...Object(of),
    template: { spec: { containers: names } },
  }]);
  return { ...job, spec: { ...job.spec, [specsKey]: Object.fromEntries(specs) } };
}

const SETTINGS = { ...DEFAULT_V1_SETTINGS, maxPodsPerJob: 40_000 };

for (
  const [what, kind, name, types, more] of [
    ["a TFJob", "TFJob", "TF_CONFIG", { Chief: 1 }, {}],
    ["a TFJob whose workers come and go", "TFJob", "TF_CONFIG", { PS: 3_000 }, {
      enableDynamicWorker: true,
    }],
    ["an MXJob", "MXJob", "MX_CONFIG", { Scheduler: 1 }, {}],
    ["an MXJob of many containers", "MXJob", "MX_CONFIG", { Scheduler: 1 }, { containers: 30 }],
    ["an XGBoostJob", "XGBoostJob", "WORKER_ADDRS", { Master: 1 }, { containers: 30 }],
  ] as const
) {
  Deno.test(`${name} of ${what} fits, and is refused by name beyond`, () => {
    const grown = "PS" in types ? "PS" : "Worker";
    const of = (count: number) => jobOf(kind, { ...types, Worker: 2, [grown]: count }, more);
    const problemsOf = (count: number) => v1JobProblems(V1_KINDS[kind], of(count), SETTINGS);
    const most = largest(20_000, (count) => problemsOf(Math.max(1, count)).length === 0);
    const run = runOf(V1_KINDS[kind], of(most), SETTINGS);
    const lengths = run.replicas.map((of) =>
      Math.max(
        ...KIND_RULES[kind].environment(run, { of, index: of.count - 1 })
          .map(({ name, value }) => bytesOf(`${name}=${value}`)),
      )
    );
    const containers = "containers" in more ? more.containers : 1;
    const copies = Math.floor(JOB_LIMITS.variablesBytes / containers) + `${name}=`.length;
    fits(Math.max(...lengths), Math.min(JOB_LIMITS.variableBytes, copies));
    const [problem, ...others] = problemsOf(most + 1);
    deepEqual(others, []);
    equal(problem?.field, `spec.${V1_KINDS[kind].specsKey}[${grown}].replicas`);
    match(problem?.message ?? "", new RegExp(`^makes ${name} longer than \\d+ bytes`));
  });
}

Deno.test("the ConfigMap of an MPIJob fits when every worker runs, and is refused by name beyond", () => {
  const kind = V1_KINDS.MPIJob;
  const of = (count: number) => jobOf("MPIJob", { Launcher: 1, Worker: count });
  const most = largest(
    40_000 - 1,
    (count) => v1JobProblems(kind, of(count), SETTINGS).length === 0,
  );
  const run = runOf(kind, of(most), SETTINGS);
  const podAt = (index: number) => ({
    metadata: { name: `j-worker-${index}` },
    status: { phase: "Running" },
  });
  const pods = () => Array.from({ length: most }, (_, index) => ({ index, pod: podAt(index) }));
  const none = new Map();
  const byType = {
    counts: none,
    completed: none,
    pods,
    pod: (_: string, index: number) => podAt(index),
  };
  const files = KIND_RULES.MPIJob.children?.(run, byType)
    .find(({ kind }) => kind.kind === "ConfigMap");
  const data = Object.values(Object(files?.object).data).join("");
  fits(bytesOf(data), JOB_LIMITS.configMapBytes);
  const [problem] = v1JobProblems(kind, of(most + 1), SETTINGS);
  equal(problem?.field, "spec.mpiReplicaSpecs[Worker].replicas");
  match(problem?.message ?? "", /^makes ConfigMap j-config longer than 1048576 bytes/);
});

Deno.test("a JobSet is refused by the pods that its Jobs have at a time", () => {
  const refusal = (spec: Record<string, unknown>, replicas: number) => {
    const job = replicated("a", { replicas });
    Object.assign(job.template.spec ?? {}, spec);
    const jobSet = jobSetOf({ replicatedJobs: [job] });
    const { status } = decide({ jobSet, jobs: [], hasService: false, maxPods: 6 }, 0);
    return status?.conditions?.find(({ type, status }) => type === "Refused" && status === "True")
      ?.message.split(":")[0];
  };
  equal(refusal({}, 6), undefined);
  equal(refusal({}, 7), "spec.replicatedJobs[0].replicas");
  equal(refusal({ parallelism: 3 }, 2), undefined);
  equal(refusal({ parallelism: 7 }, 1), "spec.replicatedJobs[0].template.spec.parallelism");
  // As many as are left to do run, whatever may.
  equal(refusal({ parallelism: 7, completions: 6 }, 1), undefined);
  // One after the other.
  equal(refusal({ parallelism: 1, completions: 7 }, 1), undefined);
  // A Job without pods is an object still.
  equal(refusal({ parallelism: 0 }, 7), "spec.replicatedJobs[0].replicas");
});

Deno.test("a pass over a JobSet looks at each Job a few times, however many replicated jobs there are", () => {
  const many = 300;
  const replicatedJobs = Array.from({ length: many }, (_, index) => replicated(`a${index}`));
  const jobSet = jobSetOf({ replicatedJobs });
  const spec = resolveSpec(jobSet);
  let looks = 0;
  const jobs = spec.replicatedJobs.map((replicatedJob) => {
    const job = renderJob({ jobSet, spec, replicatedJob, index: 0, status: {} });
    const { metadata } = job;
    return {
      ...job,
      get metadata() {
        looks++;
        return metadata;
      },
    };
  });
  const { status } = decide({ jobSet, jobs, hasService: true }, 0);
  equal(status?.replicatedJobsStatus?.length, many);
  ok(looks < 30 * many, `${looks} looks`);
});
