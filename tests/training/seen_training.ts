/** Tests that a program trains: in `standalone`, as processes of this machine, to Complete at 100 percent. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import type { ConfigMap, EnvVar } from "../../platform/kube/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { ClusterTrainingRuntime } from "../../crds/training_runtime.ts";
import type { TrainJob, TrainJobSpec } from "../../crds/trainjob.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Environment } from "../support/python_environment.ts";
import { withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { podLog } from "../support/pod_log.ts";

const root = new URL("../../", import.meta.url);
const NAMESPACE = "default";
/** Where a machine's own programs are. */
export const SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin";
/** How long a job may take: a busy machine needs minutes to load the libraries. */
const TRAINING_MS = 480_000;

/** A TrainJob, and the files that its ConfigMap, of the same name, holds. */
export interface Program {
  /** Manifest of the job: a file, as its path from the root of the repository. */
  readonly job: string;
  readonly files: readonly string[];
}

/** What a job has to reach. */
export interface Goal {
  /** A line that the reporting node prints. */
  readonly prints: RegExp;
  /** Least value of the metric `accuracy`. */
  readonly accuracy: number;
}

/** A training run that is to be seen. */
export interface Training extends Goal {
  /** What the test says that it does. */
  readonly name: string;
  readonly environment: Environment;
  readonly program: Program;
  /** More variables of the trainer. */
  readonly env?: readonly EnvVar[];
  /** Changes the job. */
  readonly adapt?: (spec: TrainJobSpec) => TrainJobSpec;
  /** Makes of the job another one that runs at the same time. */
  readonly beside?: (spec: TrainJobSpec) => TrainJobSpec;
  /** Creates what the job needs beside its program. */
  readonly prepare?: (client: KubeClient) => Promise<unknown>;
}

/** The program of a folder of `examples/training/`, as its README has it made. */
export function example(name: string): Program {
  const folder = "examples/training";
  return {
    job: `${folder}/${name}/trainjob.yaml`,
    files: [`${folder}/${name}/train.py`, `${folder}/report.py`, `${folder}/digits.txt`],
  };
}

async function textOf(path: string): Promise<string> {
  return await Deno.readTextFile(new URL(path, root));
}

/** A runtime of `deploy/runtimes/`. */
export async function shippedRuntime(name: string): Promise<ClusterTrainingRuntime> {
  return KINDS.clusterTrainingRuntime.parse(
    parseYaml(await textOf(`deploy/runtimes/${name}.yaml`)),
  );
}

/** The texts of files by their names, without folders. */
export async function textsOf(files: readonly string[]): Promise<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const path of files) texts[path.replace(/^.*\//, "")] = await textOf(path);
  return texts;
}

async function configMapOf({ files }: Program, name: string): Promise<ConfigMap> {
  const data = await textsOf(files);
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: NAMESPACE }, data };
}

/** The job of a program, which finds the programs of the environment first. */
async function jobOf(
  { program, env: more = [], adapt = (spec) => spec }: Training,
  bin: string,
): Promise<TrainJob> {
  const job = KINDS.trainJob.parse(parseYaml(await textOf(program.job)));
  const searchPath = { name: "PATH", value: `${bin}:${SYSTEM_PATH}` };
  const env = [...job.spec.trainer?.env ?? [], searchPath, ...more];
  const metadata = { ...job.metadata, namespace: NAMESPACE };
  return { ...job, metadata, spec: adapt({ ...job.spec, trainer: { ...job.spec.trainer, env } }) };
}

/** The logs of the job's pods. */
async function logsOf(client: KubeClient, job: string): Promise<string> {
  const pods = await client.list(KINDS.pod, { namespace: NAMESPACE });
  const own = pods.items.filter(({ metadata }) => metadata?.name?.startsWith(`${job}-`));
  const parts = await Promise.all(own.map(async ({ metadata, status }) => {
    const name = metadata?.name ?? "";
    const log = await podLog(client, name, NAMESPACE).catch(String);
    return `--- ${name} ${status?.phase} ${status?.message ?? ""}\n${log}`;
  }));
  return parts.join("\n");
}

/** Waits until a job has ended. Throws with the logs of its pods if that was not Complete at 100. */
async function completes(client: KubeClient, name: string): Promise<TrainJob> {
  let last: TrainJob | undefined;
  let logs = "";
  try {
    const ended = await until(`TrainJob ${name} has ended`, async () => {
      last = await client.get(KINDS.trainJob, { namespace: NAMESPACE, name });
      const isOver = last.status?.state === "Complete" || last.status?.state === "Failed";
      // Pods of a Job that has failed are deleted: their logs are read while they are there.
      if (!isOver) logs = await logsOf(client, name) || logs;
      const isAtEnd = last.status?.trainerStatus?.progressPercentage === 100;
      return last.status?.state === "Failed" || (isOver && isAtEnd) ? last : undefined;
    }, { timeoutMs: TRAINING_MS, everyMs: 500 });
    assert.equal(ended.status?.state, "Complete");
    return ended;
  } catch (error) {
    throw new Error(`${error}\n${JSON.stringify(last?.status, undefined, 1)}\n${logs}`);
  }
}

/** Waits until a job has reached its goal. */
export async function trains(client: KubeClient, name: string, goal: Goal): Promise<void> {
  const { prints } = goal;
  const { status } = await completes(client, name);
  const accuracy = status?.trainerStatus?.metrics?.find((it) => it.name === "accuracy");
  assert.ok(Number(accuracy?.value) > goal.accuracy, JSON.stringify(status));
  const logs = await logsOf(client, name);
  const line = logs.split("\n").find((it) => prints.test(it));
  assert.ok(line !== undefined, logs);
  // deno-lint-ignore no-console -- what the program printed, for whoever runs the tests
  console.log(line);
}

/** Creates the job and what it needs, and sees it train. */
async function train(client: KubeClient, training: Training, bin: string): Promise<void> {
  const { program, prepare, beside } = training;
  const job = await jobOf(training, bin);
  const { name = "" } = job.metadata;
  await client.create(KINDS.configMap, await configMapOf(program, name));
  await prepare?.(client);
  const other = { ...job.metadata, name: `second-${name}` };
  const jobs = [job, ...beside ? [{ ...job, metadata: other, spec: beside(job.spec) }] : []];
  for (const one of jobs) await client.create(KINDS.trainJob, one);
  await Promise.all(jobs.map(({ metadata }) => trains(client, metadata.name ?? "", training)));
}

/** Registers a test that needs an environment: without it, it is skipped, with the reason in its name. */
export function testWith(
  environment: Environment,
  name: string,
  test: (bin: string) => Promise<void>,
): void {
  const missing = "missing" in environment ? environment.missing : undefined;
  const bin = "bin" in environment ? environment.bin : "";
  Deno.test({
    name: `${name}${missing === undefined ? "" : ` (skipped: ${missing})`}`,
    ignore: missing !== undefined,
    fn: () => test(bin),
  });
}

/** Registers a test that trains. */
export function seeTraining(training: Training): void {
  const { environment, name } = training;
  testWith(
    environment,
    name,
    (bin) => withStandalone(({ client }) => train(client, training, bin)),
  );
}
