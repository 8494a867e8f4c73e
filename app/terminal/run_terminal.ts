/** Commands of the terminal: `top`, `get`, `logs`, `stop` and `restart`, from their settings to their last line. */
import type { z } from "zod";
import type { JobRef } from "../../crds/job_kind.ts";
import { unlessAborted } from "../../platform/base/aborted.ts";
import { systemClock as clock } from "../../platform/base/clock.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import type {
  getSettings,
  logsSettings,
  restartSettings,
  stopSettings,
  topSettings,
} from "../configuration/terminal_settings.ts";
import { printLogs } from "../../terminal/followed_logs.ts";
import { findJob, readJob, SearchTyped, typedJob } from "../../terminal/job_reading.ts";
import { jobReport } from "../../terminal/job_report.ts";
import { jobTable } from "../../terminal/job_rows.ts";
import { listedJobs, withWaitsRead } from "../../terminal/listed_jobs.ts";
import { openCluster, type OpenedCluster } from "./open_cluster.ts";
import { toldMessage } from "../../terminal/readings.ts";
import { printChanges } from "../../terminal/printed_changes.ts";
import { lookOfProcess, processTerminal } from "../../terminal/process_terminal.ts";
import { runTop } from "../../terminal/run_top.ts";
import { searchReport, searchTable } from "../../terminal/search_report.ts";
import type { KindNames } from "../../terminal/terminal_cluster.ts";
import { cut, safeJson } from "../../terminal/shown_text.ts";
import { restartJobByHand, stopJobByHand } from "../../terminal/stopped_job.ts";
import { ellipsisOf } from "../../terminal/styles.ts";
import { CURVE_LIMITS } from "../../crds/wire/view_limits.ts";

/** How a command talks to its reader. */
export interface CommandIo {
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
  /** Ends the command. */
  readonly signal: AbortSignal;
}

/** Lines of one curve, and events, of a report that is printed. */
const REPORT = { plotRows: 8, events: 10 } as const;

/** The one namespace of a job. */
function namespaceOf({ namespaces }: OpenedCluster): string {
  const [first, ...others] = namespaces;
  if (first === undefined || others.length > 0) {
    throw new ConfigurationError("--namespace: name one namespace, that of the job");
  }
  return first;
}

async function findTyped(cluster: OpenedCluster, argument: string, signal: AbortSignal) {
  return await findJob(cluster, typedJob(argument), namespaceOf(cluster), signal);
}

/** `milepost top`: a whole screen at a terminal, else lines. */
export async function runTopCommand(
  settings: z.infer<typeof topSettings>,
  { print, warn, signal }: CommandIo,
): Promise<void> {
  await using cluster = await openCluster(settings, signal);
  const look = lookOfProcess(settings);
  if (settings.json || !Deno.stdin.isTerminal() || !Deno.stdout.isTerminal()) {
    return await printChanges({ cluster, json: settings.json, print, warn, clock, signal });
  }
  await runTop({ cluster, terminal: processTerminal, look, clock, signal });
}

/** Lists searches for those who look at jobs; where that fails, why. What may not be read is no news to them. */
async function foundSearches({ searches }: OpenedCluster, signal: AbortSignal) {
  try {
    return { searches: (await searches.list(signal)).searches, missing: [] };
  } catch (error) {
    signal.throwIfAborted();
    return { searches: [], missing: [`searches: ${messageOf(error)}`] };
  }
}

/** `milepost get` without a name. */
export async function runListCommand(
  settings: z.infer<typeof getSettings>,
  { print, warn, signal }: CommandIo,
): Promise<void> {
  await using cluster = await openCluster(settings, signal, ["jobs", "manager"]);
  const { kinds, namespaces } = cluster;
  const [jobs, found] = await Promise.all([
    listedJobs(cluster, kinds.all, signal).then((it) => withWaitsRead(cluster, it, signal)),
    foundSearches(cluster, signal),
  ]);
  const { rows } = jobs;
  const { searches } = found;
  const missing = [...jobs.missing, ...found.missing];
  if (settings.json) return print(`${safeJson({ jobs: rows, searches, missing })}\n`);
  for (const it of missing) warn(`not shown: ${it}`);
  if (rows.length === 0) {
    const where = namespaces.length === 0 ? "any namespace" : namespaces.join(", ");
    const all = namespaces.length === 0 ? "" : "; -A lists all namespaces";
    warn(`no jobs in ${where}${all}; \`milepost example trainjob\` prints one to copy`);
  }
  const { columns } = Deno.stdout.isTerminal() ? processTerminal.size() : { columns: Infinity };
  const look = { ...lookOfProcess(settings), columns, nowMs: clock.now() };
  const namespaced = namespaces.length !== 1;
  const lines = [
    ...(rows.length === 0 ? [] : jobTable(rows, { ...look, namespaced })),
    ...(rows.length === 0 || searches.length === 0 ? [] : [""]),
    ...(searches.length === 0 ? [] : searchTable(searches, { ...look, namespaced })),
  ];
  print(lines.map((line) => `${cut(line, columns, ellipsisOf(look))}\n`).join(""));
}

/** Prints a search with its trials. */
async function printSearch(
  cluster: OpenedCluster,
  kind: KindNames,
  name: string,
  settings: z.infer<typeof getSettings>,
  { print, signal }: CommandIo,
): Promise<void> {
  await unlessAborted(cluster.managerSearched, signal);
  const namespace = namespaceOf(cluster);
  const search = await cluster.searches.read(kind, { namespace, name }, signal);
  if (search === undefined) {
    throw new ConfigurationError(`there is no ${kind.kind.toLowerCase()} ${name} in ${namespace}`);
  }
  if (settings.json) return print(`${safeJson(search)}\n`);
  const look = lookOfProcess(settings);
  const { columns } = processTerminal.size();
  const cutAt = Deno.stdout.isTerminal() ? columns : Infinity;
  const lines = searchReport(kind.kind, search, { ...look, columns, nowMs: clock.now() });
  print(lines.map((line) => `${cut(line, cutAt, ellipsisOf(look))}\n`).join(""));
}

/** `milepost get [KIND/]NAME`. */
export async function runGetCommand(
  argument: string,
  settings: z.infer<typeof getSettings>,
  io: CommandIo,
): Promise<void> {
  const { print, signal } = io;
  await using cluster = await openCluster(settings, signal, ["jobs"]);
  const job = await findTyped(cluster, argument, signal).catch((error) => {
    if (error instanceof SearchTyped) return error;
    throw error;
  });
  if (job instanceof SearchTyped) {
    return await printSearch(cluster, job.search, typedJob(argument).name, settings, io);
  }
  await unlessAborted(cluster.managerSearched, signal);
  const [facts, answer] = await Promise.all([
    readJob(cluster, job, signal),
    cluster.ask({ jobs: [job.uid], points: CURVE_LIMITS.points }, signal, [job]),
  ]);
  const [curves] = "curves" in answer ? answer.curves : [];
  const outages = "curves" in answer ? [] : [answer.reason];
  const missing = [...new Set([...facts.missing, ...cluster.missing(), ...outages])];
  const all = { ...facts, ...(curves && { curves }), missing };
  // Its object is kubectl's to print.
  if (settings.json) return print(`${safeJson({ ...all, object: undefined })}\n`);
  const { columns } = processTerminal.size();
  const lines = jobReport(all, {
    ...lookOfProcess(settings),
    ...REPORT,
    columns,
    cutAt: Deno.stdout.isTerminal() ? columns : Infinity,
    nowMs: clock.now(),
  });
  print(`${lines.join("\n")}\n`);
}

/** `milepost logs [KIND/]NAME`. */
export async function runLogsCommand(
  argument: string,
  settings: z.infer<typeof logsSettings>,
  { print, warn, signal }: CommandIo,
): Promise<void> {
  const { rank, container, follow, previous, since: ageMs, tail } = settings;
  if (follow && previous) {
    throw new ConfigurationError("--previous and --follow exclude each other");
  }
  const since = ageMs === undefined ? undefined : new Date(clock.now() - ageMs).toISOString();
  await using cluster = await openCluster(settings, signal, ["jobs", "manager"]);
  const job = await findTyped(cluster, argument, signal);
  let isEmpty = true;
  const line = (text: string) => {
    isEmpty = false;
    print(`${text}\n`);
  };
  const { client, keptPods } = cluster;
  const parts = { client, keptPods, clock, signal, print: line, warn };
  const count = await printLogs(job, { rank, container, follow, previous, since, tail }, parts);
  if (!isEmpty || signal.aborted) return;
  const { wait, row } = await readJob(cluster, job, signal);
  const told = wait ?? toldMessage(row);
  const why = told === undefined ? "" : `: ${told}`;
  if (count > 0) return why === "" ? undefined : warn(`${argument} has printed nothing${why}`);
  const which = rank === undefined ? "pods" : `pod of rank ${rank}`;
  const missing = previous ? "whose containers have restarted" : "with a log";
  throw new ConfigurationError(`${argument} has no ${which} ${missing}${why}`);
}

/** Changes a job through the manager, and prints what was done. */
async function changeTyped(
  argument: string,
  settings: z.infer<typeof restartSettings>,
  { print, signal }: CommandIo,
  change: (cluster: OpenedCluster, job: JobRef) => Promise<string>,
): Promise<void> {
  await using cluster = await openCluster(settings, signal, ["jobs"]);
  const job = await findTyped(cluster, argument, signal);
  await unlessAborted(cluster.managerSearched, signal);
  const done = await change(cluster, job);
  print(`${job.kind.kind.toLowerCase()}/${job.name} ${done}\n`);
}

/** `milepost stop [KIND/]NAME`. */
export async function runStopCommand(
  argument: string,
  settings: z.infer<typeof stopSettings>,
  io: CommandIo,
): Promise<void> {
  const { reason, message, now, grace } = settings;
  if (now && grace !== undefined) {
    throw new ConfigurationError("--now and --grace: give one of them");
  }
  const stop = { reason, message, graceSeconds: now ? 0 : grace && Math.ceil(grace / 1000) };
  await changeTyped(
    argument,
    settings,
    io,
    (cluster, job) => stopJobByHand(cluster, job, stop, io.signal),
  );
}

/** `milepost restart [KIND/]NAME`. */
export async function runRestartCommand(
  argument: string,
  settings: z.infer<typeof restartSettings>,
  io: CommandIo,
): Promise<void> {
  await changeTyped(
    argument,
    settings,
    io,
    (cluster, job) => restartJobByHand(cluster, job, settings, io.signal),
  );
}
