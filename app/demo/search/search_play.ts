/** Play of the demo's search: an OptimizationJob over the digits, followed until it ends. */
import { parse as parseYaml } from "yaml";
import { observationPath } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { OptimizationJob } from "../../../crds/optimization_job.ts";
import type { ShownSearch } from "../../../crds/wire/searches.ts";
import { systemClock as clock } from "../../../platform/base/clock.ts";
import { OPTIMIZATION_SEARCHES } from "../../../page/trials/optimization_search.ts";
import { shownSearch } from "../../../page/trials/shown_search.ts";
import { followSearch } from "../../../terminal/followed_search.ts";
import { lookOfProcess, processTerminal } from "../../../terminal/process_terminal.ts";
import { safeJson } from "../../../terminal/shown_text.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import type { Standalone } from "../../standalone/standalone.ts";
import type { DemoOptions, Stage } from "../demo_stage.ts";
import { exampleRuntime, TRAIN_SECONDS, trainingProgram } from "../examples.ts";
import { type Seen, seenSchema, trialFacts, trialSummaries, type TrialSummary } from "./results.ts";
import digits from "./digits_search.yaml" with { type: "text" };

const NAMESPACE = "default";
/** Longest page of an observation: more than a trial reports. */
const PAGE = 5000;
const READ_MS = 10_000;

/** Returns the search, each of whose trials trains for its part of so many seconds at least. */
export function digitsSearch(seconds: number): OptimizationJob {
  const search = KINDS.optimizationJob.parse(parseYaml(digits));
  const { numTrials = 1, parallelTrials = 1, trainJobTemplate: { spec } } = search.spec;
  const each = String(seconds * parallelTrials / numTrials);
  spec.trainer = {
    ...spec.trainer,
    env: [...spec.trainer?.env ?? [], { name: TRAIN_SECONDS, value: each }],
  };
  return search;
}

/** Returns the steps of a trial that nothing stops. */
export function stepsOf({ spec: { trainJobTemplate } }: OptimizationJob): number {
  return Number(trainJobTemplate.spec.trainer?.env?.find(({ name }) => name === "EPOCHS")?.value);
}

/** Reads the observations of the trials. */
async function observe({ manager }: Standalone, { trials }: ShownSearch) {
  const seen = new Map<string, Seen>();
  for (const { name, job } of trials) {
    if (job === undefined) continue;
    const path = `${observationPath(TRAINJOB, NAMESPACE, job.name)}?limit=${PAGE}`;
    const { text } = await manager.read(path, { deadlineMs: READ_MS });
    seen.set(name, seenSchema.parse(JSON.parse(text)));
  }
  return seen;
}

/** Runs the search, writes how it changes until it has ended or `signal` aborts, and returns the results. */
export async function playSearch(
  { standalone, display, seconds, signal }: Stage,
  { json, write }: Pick<DemoOptions, "json" | "write">,
): Promise<readonly TrialSummary[]> {
  const { client } = standalone;
  await client.create(KINDS.configMap, trainingProgram(NAMESPACE));
  await client.create(KINDS.clusterTrainingRuntime, exampleRuntime());
  const search = await client.create(KINDS.optimizationJob, digitsSearch(seconds));
  const key = { namespace: NAMESPACE, name: search.metadata.name ?? "" };
  try {
    const ended = await followSearch({
      async read(signal) {
        const reader = { ...boundedReads(client, signal), kinds: JOB_KINDS, viewer: "the demo" };
        const found = await OPTIMIZATION_SEARCHES.read(reader, key);
        return found && shownSearch(found);
      },
      kind: KINDS.optimizationJob.kind,
      print: write,
      warn: (text) => display.note(text),
      look: lookOfProcess(),
      size: Deno.stdout.isTerminal() && !json ? processTerminal.size : undefined,
      ...(json && { lineOf: (search, trial) => safeJson(trialFacts(search, trial)) }),
      clock,
      signal,
    });
    return trialSummaries(ended, await observe(standalone, ended), stepsOf(search));
  } catch (error) {
    if (signal.aborted) return [];
    throw error;
  }
}
