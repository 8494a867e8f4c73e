/** `deno task bench list`: the list of 10,000 jobs of a real manager, at its page and at that of `milepost ui`. */
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { PUSH_LIMITS } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { createClient } from "../../platform/kube/connection/connected_client.ts";
import { loadKubeconfig } from "../../platform/kube/connection/kubeconfig.ts";
import { ROW_LIMITS } from "../../views/list/job_row.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";
import { milepostCommand, type StandaloneProcess } from "../../tests/support/milepost_process.ts";
import { openSession, type PageSession } from "../../tests/support/page_client.ts";
import { trainJob } from "../../tests/support/standalone.ts";
import { until } from "../../tests/support/until.ts";
import { rssMb } from "../process_stats.ts";
import { type Benchmark, type Measure, quantile } from "../result.ts";
import { inFolder, withStandaloneIn } from "../standalone_folder.ts";

const [JOBS, AT_ONCE, LOADS] = [10_000, 16, 20];
const PATH = `/view/v1/jobs?sort=name&order=descending&limit=${LIST_LIMITS.rows}`;
/** The longest metrics that a pod may push, and as many as a row has. */
const METRICS = Array.from({ length: ROW_LIMITS.metrics }, (_, index) => ({
  name: `${index}`.padEnd(PUSH_LIMITS.metricNameLength, "m"),
  value: "0.".padEnd(PUSH_LIMITS.metricValueLength, "7"),
}));
/** Jobs that another controller runs: only the list of them is measured. */
const spec = { managedBy: "kueue.x-k8s.io/multikueue" } as const;

const nameOf = (index: number) => `job-${String(index).padStart(5, "0")}-${"n".repeat(24)}`;

async function makeJobs(client: KubeClient): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: AT_ONCE }, async () => {
    for (let index = next++; index < JOBS; index = next++) {
      await client.create(KINDS.trainJob, trainJob(nameOf(index), "plain", { spec }));
    }
  }));
  // The last ones by name are shown.
  for (let index = JOBS - LIST_LIMITS.rows; index < JOBS; index++) {
    const lastUpdatedTime = new Date().toISOString();
    const trainerStatus = { progressPercentage: 50, lastUpdatedTime, metrics: METRICS };
    const key = { namespace: "default", name: nameOf(index) };
    const body = { status: { trainerStatus } };
    await client.patch(KINDS.trainJob, key, { type: "merge", body }, { subresource: "status" });
  }
}

const listSchema = z.object({
  total: z.number(),
  rows: z.array(z.object({ metrics: z.array(z.unknown()).optional() })),
});

/** Reads the first window: how long that took each time, in milliseconds, and its size in bytes. */
async function read(session: PageSession) {
  await until("all jobs are in the list", async () => {
    const { total, rows } = listSchema.parse(JSON.parse((await session.get(PATH)).text));
    return total === JOBS && rows.every(({ metrics }) => metrics?.length === METRICS.length);
  }, { timeoutMs: 120_000 });
  const times: number[] = [];
  let bytes = 0;
  for (let load = 0; load < LOADS; load++) {
    const began = performance.now();
    const { text } = await session.get(PATH);
    times.push(performance.now() - began);
    bytes = Math.max(bytes, new TextEncoder().encode(text).length);
  }
  return { times, bytes };
}

/** Starts `milepost ui`. Returns its page, how long it took until that had all jobs, and its memory. */
async function readOfUser(kubeconfig: string) {
  const began = performance.now();
  const child = new Deno.Command("sh", {
    args: ["-c", `exec ${milepostCommand("ui", "--json")}`],
    env: { KUBECONFIG: kubeconfig, NO_COLOR: "1" },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  try {
    let line = "";
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      line += part;
      if (line.includes("\n")) break;
    }
    const { ui } = z.object({ ui: z.string() }).parse(JSON.parse(line));
    const session = await openSession(ui);
    await until("the list is whole", async () => {
      const { total } = listSchema.parse(JSON.parse((await session.get(PATH)).text));
      return total === JOBS;
    }, { timeoutMs: 120_000 });
    const startedMs = performance.now() - began;
    return { ...await read(session), startedMs, memory: await rssMb(child.pid) };
  } finally {
    child.kill("SIGTERM");
    await child.status;
  }
}

function measuresOf(where: string, { times, bytes }: Awaited<ReturnType<typeof read>>): Measure[] {
  return [
    {
      name: `${where}: first ${LIST_LIMITS.rows} rows of ${JOBS}, p95 of ${LOADS} reads`,
      value: quantile(times, 0.95),
      unit: "ms",
      goal: { is: "at most", limit: 500 },
    },
    {
      name: `${where}: largest answer`,
      value: bytes / 1024,
      unit: "KiB",
      goal: { is: "at most", limit: 1024 },
    },
  ];
}

async function measure({ ready }: StandaloneProcess, say: (text: string) => void) {
  const client = createClient({ connection: loadKubeconfig(ready.kubeconfig) });
  try {
    say(`making ${JOBS} jobs`);
    await makeJobs(client);
    say("reading them");
    const own = await read(await openSession(ready.ui ?? ""));
    const user = await readOfUser(ready.kubeconfig);
    return [
      ...measuresOf("the manager's page", own),
      ...measuresOf("milepost ui", user),
      { name: "milepost ui: from its start to the whole list", value: user.startedMs, unit: "ms" },
      { name: "milepost ui: memory", value: user.memory, unit: "MB" },
    ];
  } finally {
    client.close();
  }
}

export const list: Benchmark = {
  about: "10,000 jobs of a real manager: the first rows, and the largest answer",
  run: (say) =>
    inFolder((folder) =>
      withStandaloneIn(`${folder}/data`, (standalone) => measure(standalone, say))
    ),
};
