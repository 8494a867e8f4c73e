/**
 * `deno task bench katib`: trials of Katib's own trial controller and DB manager, whose pods push to Milepost
 * until a rule stops them; with real processes on a real control plane.
 */
import assert from "node:assert/strict";
import { isDeepStrictEqual, parseArgs } from "node:util";
import { KINDS } from "../../crds/kinds.ts";
import { V1_KIND_LIST, v1CrdName } from "../../crds/v1/kinds.ts";
import { v1CrdManifests } from "../../crds/v1/manifests.ts";
import { createDbManagerClient } from "../../katib/log/db_manager_client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { TRIAL_CONDITIONS } from "../../crds/katib_names.ts";
import type { TrialMetric } from "../../crds/trial.ts";
import {
  type ControlPlane,
  startControlPlane,
} from "../../tests/cluster/control_plane/control_plane.ts";
import {
  apply,
  crdsServed,
  install,
  type Installation,
} from "../../tests/cluster/support/installation.ts";
import { startTestNode } from "../../tests/cluster/support/node.ts";
import { shellRuntime } from "../../tests/support/standalone.ts";
import { until } from "../../tests/support/until.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { installKatibCrds, type KatibParts, startKatib } from "./installation.ts";
import { katibManifests, katibProgram } from "./programs.ts";
import { type Ended, followEnds } from "./trial_ends.ts";
import { NAMESPACE, PUSH, STEP, trialOf } from "./trial_object.ts";
import { tryV1Trial } from "./v1_trial.ts";
import { tryDefects } from "./upstream_defects.ts";

const RUNTIME = "pusher";
/** Trials that run at the same time. */
const AT_ONCE = 6;
const GOAL_MS = 1000;
/** Longest life of a process after its Trial says EarlyStopped, in milliseconds. */
const END_MS = 500;

/**
 * The training program: pushes until it is ended, and writes down when it began each push. It does
 * not look at the answers.
 */
const SCRIPT = (folder: string) =>
  `echo $$ > ${folder}/$HOSTNAME.pid
trap 'exit 0' TERM
step=0
while true; do
  step=$((step + 1))
  date +%s%3N >> ${folder}/$HOSTNAME.pushes
  ${PUSH}
  sleep 0.3 & wait $!
done
`;
/** The same, four pushes long. */
const SHORT_SCRIPT = `for step in 1 2 3 4; do
  ${PUSH}
  sleep 0.3
done
`;

/** What is known of a trial that was stopped. */
interface Outcome extends Ended {
  readonly name: string;
  /** From the beginning of the deciding push to the condition on the Trial, in milliseconds. */
  readonly stoppedMs: number;
  /** From that condition to the end of the process, in milliseconds. */
  readonly processMs: number;
}

const isAlive = (pid: number) => Deno.stat(`/proc/${pid}`).then(() => true, () => false);

/** The lines of the one file of the trial's pod that ends with `suffix`. */
async function linesOf(folder: string, name: string, suffix: string): Promise<string[]> {
  for await (const entry of Deno.readDir(folder)) {
    if (entry.name.startsWith(`${name}-`) && entry.name.endsWith(suffix)) {
      return (await Deno.readTextFile(`${folder}/${entry.name}`)).trim().split("\n");
    }
  }
  return [];
}

/** Runs one trial to its end. */
async function runTrial(
  plane: ControlPlane,
  ended: (name: string) => Promise<Ended>,
  folder: string,
  name: string,
): Promise<Outcome> {
  const spec = { runtimeRef: { name: RUNTIME } };
  await plane.client.create(KINDS.trial, trialOf(name, { spec }));
  const end = await ended(name);
  const [pid = ""] = await linesOf(folder, name, ".pid");
  await until(`the end of ${name}'s process`, async () => !await isAlive(Number(pid)));
  const goneAt = Date.now();
  const deciding = Number((await linesOf(folder, name, ".pushes"))[STEP - 1]);
  assert.ok(Number.isFinite(deciding), `${name} pushed less than ${STEP} times`);
  return { ...end, name, stoppedMs: end.atMs - deciding, processMs: goneAt - end.atMs };
}

/** Katib's formula over the values of one metric. */
function summaryOf(values: readonly string[]): TrialMetric {
  const numbers = values.map(Number);
  return {
    name: "loss",
    min: String(Math.min(...numbers)),
    max: String(Math.max(...numbers)),
    latest: values.at(-1),
  };
}

/**
 * The log must hold what was pushed until the stop, in order and once each, and the observation is that of the log:
 * the last words of a process that ends are written nowhere. Returns the problem.
 */
function problemOf({ name, trial }: Outcome, rows: readonly string[]): string | undefined {
  const metrics = trial.status?.observation?.metrics;
  const isPushed = rows.every((value, index) => value === `0.${989 - index}`);
  const isObserved = rows.length >= STEP && isDeepStrictEqual(metrics, [summaryOf(rows)]);
  return isPushed && isObserved ? undefined : `${name}: ${JSON.stringify({ metrics, rows })}`;
}

async function runAll(
  plane: ControlPlane,
  count: number,
  folder: string,
  say: (text: string) => void,
): Promise<Outcome[]> {
  await using ends = await followEnds(plane.client, NAMESPACE, TRIAL_CONDITIONS.earlyStopped);
  const names = Array.from({ length: count }, (_, index) => `trial-${index}`);
  const outcomes: Outcome[] = [];
  // Those that run together end together, as an Experiment's do: the garbage collector has the most to do then.
  while (names.length > 0) {
    const together = names.splice(0, AT_ONCE);
    outcomes.push(
      ...await Promise.all(together.map((name) => runTrial(plane, ends.of, folder, name))),
    );
    say(`${outcomes.length} of ${count} stopped`);
  }
  return outcomes;
}

/** The rows of a trial's objective, as Katib's DB manager gives them back. */
type ReadRows = (trial: string) => Promise<readonly string[]>;

async function measure(
  plane: ControlPlane,
  read: ReadRows,
  count: number,
  say: (text: string) => void,
): Promise<Measure[]> {
  const folder = `${plane.folder}/pushes`;
  await Deno.mkdir(folder);
  await plane.client.create(KINDS.namespace, {
    metadata: {
      name: NAMESPACE,
      labels: { "katib.kubeflow.org/metrics-collector-injection": "enabled" },
    },
  });
  const runtime = shellRuntime(RUNTIME, SCRIPT(folder));
  await plane.client.create(KINDS.clusterTrainingRuntime, runtime);
  say("a trial with an initializer, and one that is not retained");
  const defects = await tryDefects(plane, SHORT_SCRIPT);
  say("a trial over a PyTorchJob");
  const overV1 = await tryV1Trial(plane, SCRIPT(folder));
  const outcomes = await runAll(plane, count, folder, say);
  const problems: string[] = [];
  for (const outcome of outcomes) {
    const problem = problemOf(outcome, await read(outcome.name));
    if (problem !== undefined) problems.push(problem);
  }
  for (const problem of problems.slice(0, 10)) say(problem);
  const stopped = outcomes.map(({ stoppedMs }) => stoppedMs);
  const gone = outcomes.map(({ processMs }) => processMs);
  return [
    ...defects,
    ...overV1,
    { name: "trials stopped", value: outcomes.length, unit: "" },
    {
      name: "deciding push to EarlyStopped, p99",
      value: quantile(stopped, 0.99),
      unit: "ms",
      goal: { is: "below", limit: GOAL_MS },
      note: `median ${
        quantile(stopped, 0.5)
      } ms; from the start of the push until a watch shows it`,
    },
    {
      name: "EarlyStopped to the end of the process, p99",
      value: quantile(gone, 0.99),
      unit: "ms",
      goal: { is: "below", limit: END_MS },
      note: `median ${quantile(gone, 0.5)} ms`,
    },
    {
      name: "trials whose rows or observation are not what was pushed",
      value: problems.length,
      unit: "",
      goal: { is: "at most", limit: 0 },
    },
  ];
}

/** Options of the benchmark. */
interface Options {
  readonly parts: KatibParts;
  readonly trials: number;
}

/** Parses the command line. Rejects if an option is unknown, or a file of Katib's is missing. */
export async function readOptions(options: readonly string[]): Promise<Options> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      controller: { type: "string" },
      "db-manager": { type: "string" },
      manifests: { type: "string" },
      trials: { type: "string", default: "24" },
    },
  });
  const parts = {
    controller: await katibProgram("controller", values.controller),
    dbManager: await katibProgram("db-manager", values["db-manager"]),
    manifests: await katibManifests(values.manifests),
  };
  return { parts, trials: Number(values.trials) };
}

export const katib: Benchmark = {
  about: "trials of Katib's own controller that stop early; --controller FILE --db-manager FILE " +
    "--manifests FOLDER [--trials N], of Katib as you have built it",
  takesOptions: true,
  async run(say, options) {
    const { parts, trials } = await readOptions(options);
    await using cleanup = new AsyncDisposableStack();
    const installation: { ours?: Installation } = {};
    say("starting a control plane, Katib and Milepost");
    const plane = await startControlPlane({
      beforeControllers: async (plane) => {
        installation.ours = await install(plane);
        await apply(plane, v1CrdManifests());
        await crdsServed(plane, V1_KIND_LIST.map((kind) => `crd/${v1CrdName(kind)}`));
        await installKatibCrds(plane, parts.manifests);
      },
    });
    cleanup.defer(() => plane.stop());
    const { ours } = installation;
    assert.ok(ours);
    const katib = await startKatib(plane, parts);
    cleanup.defer(() => katib.stop());
    cleanup.defer(() => ours.stop());
    await ours.startManager({
      flags: { katibDbManager: katib.dbManager, observationSink: "katib" },
    });
    const node = await startTestNode(plane);
    cleanup.defer(() => node.stop());
    const client = createDbManagerClient({
      address: katib.dbManager,
      clock: systemClock,
      deadlineMs: 10_000,
    });
    cleanup.defer(() => client.close());
    const read = async (trialName: string) => {
      const rows = await client.get({ trialName, metricName: "loss", startTime: "", endTime: "" });
      return rows.map(({ metric }) => metric?.value ?? "");
    };
    return await measure(plane, read, trials, say);
  },
};
