/** One turn of the status benchmark: one load on one side, and its results. */
import { statusPath } from "../../crds/job_kind.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { runLoad } from "../generator/generator.ts";
import type { Load, LoadPlan, LoadTarget } from "../generator/plan.ts";
import {
  type Account,
  accountFor,
  askedIn,
  more,
  type Named,
  statusWrites,
  sumOf,
} from "./accounting.ts";
import type { RowName, Sizes } from "./options.ts";
import { profiled } from "./profile.ts";
import type { Ground, Side } from "./sides.ts";
import type { Pusher } from "./world.ts";

/** Longer than between two writes of a job's progress. */
const REST_MS = 1_500;

/** Result of a load, and its cost. */
export interface Turn {
  readonly load: Load;
  /** Processor seconds and requests, the generator's among them as `generator`. */
  readonly account: Account;
  /** What the managers asked the API server for meanwhile, by verb, resource and answer. */
  readonly asked: Named;
  /** Pushes that the managers say they have accepted meanwhile. */
  readonly accepted: number;
}

/** Addresses that pods have: connections are limited by address, and a cluster's pods are many. */
export function addresses(count: number): string[] {
  return Array.from({ length: count }, (_, number) => `127.0.2.${number + 1}`);
}

/** Where the pods of these jobs push. */
export function targetsOf(url: string, pushers: readonly Pusher[]): LoadTarget[] {
  return pushers.map(({ namespace, trainJob, token }) => ({
    url: `${url}${statusPath(TRAINJOB, namespace, trainJob)}`,
    token,
  }));
}

/** A row's load, without its target. */
export function shapeOf(
  row: RowName,
  { durationMs, many }: Sizes,
): Omit<LoadPlan, "targets"> {
  const common = { name: row, durationMs, sources: addresses(64) };
  switch (row) {
    case "keep-alive":
      return { ...common, connections: 64, mode: "keep-alive" };
    case "connections":
    case "replicas":
      return { ...common, connections: 64, mode: "connection-per-push" };
    case "one-job":
      return { ...common, connections: 32, mode: "keep-alive" };
    case "many-jobs":
      return {
        name: row,
        durationMs: many.durationMs,
        warmUpMs: many.warmUpMs,
        rate: many.rate,
        // As many as there can be under way when each takes until its time-out.
        connections: Math.min(10_000, many.rate * 5),
        mode: "connection-per-push",
        sources: addresses(200),
      };
  }
}

/** The same load for a moment: code that is compiled as it runs, and tokens that are not known yet. */
async function warmUp(plan: LoadPlan, durationMs: number): Promise<void> {
  await runLoad({ ...plan, durationMs });
}

/** Waits for at most 20 s until writes of statuses end, so that earlier pushes are written. */
async function atRest(client: KubeClient): Promise<void> {
  let [before, since] = [NaN, performance.now()];
  for (const end = since + 20_000; performance.now() < end;) {
    const now = await statusWrites(client);
    if (now !== before) [before, since] = [now, performance.now()];
    else if (performance.now() - since > REST_MS) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** What a side's managers tell of themselves so far. */
async function toldBy({ managers }: Side): Promise<{ asked: Named; accepted: number }> {
  const texts = await Promise.all(managers.map(async ({ metricsUrl }) => {
    const answer = await fetch(`${metricsUrl}/metrics`);
    return await answer.text();
  }));
  const all = texts.join("\n");
  const accepted = sumOf(all, "milepost_pushes_total", { result: "accepted" });
  return { asked: askedIn(all), accepted };
}

/** A load and its side. */
export interface Row {
  readonly name: RowName;
  readonly sizes: Sizes;
  readonly pushers: readonly Pusher[];
  /** Whether the same load goes before it for a moment. Default true. */
  readonly warms?: boolean;
}

/** Sends a row's load to a side, or to `url` if it is given. */
export async function takeTurn(
  { plane, profiles }: Ground,
  side: Side,
  row: Row,
  url = side.url,
): Promise<Turn> {
  const plan: LoadPlan = {
    ...shapeOf(row.name, row.sizes),
    caPem: side.caPem,
    targets: targetsOf(url, row.pushers),
  };
  if (row.warms ?? true) await warmUp(plan, row.sizes.warmUpMs);
  await atRest(plane.client);
  const work = () => runLoad(plan);
  const send = side.inspector === undefined
    ? work
    : () => profiled(side.inspector ?? 0, `${profiles ?? "."}/${row.name}.cpuprofile`, work);
  const before = await toldBy(side);
  const { result, ...account } = await accountFor(plane, side.pids, send);
  const after = await toldBy(side);
  const asked = more(after.asked, before.asked);
  const accepted = after.accepted - before.accepted;
  const { cpuSeconds, ...load } = result;
  const cpu = { ...account.cpu, generator: cpuSeconds };
  return { load, account: { ...account, cpu }, asked, accepted };
}

/** One line about a turn, for the terminal. */
export function lineOf({ load, account, asked }: Turn): string {
  const numbers = (all: Readonly<Record<string, number>>, digits: number) =>
    Object.entries(all).map(([name, it]) => `${name} ${it.toFixed(digits)}`).join(", ");
  return [
    `${load.rate.toFixed(0)}/s, p50 ${load.latency.p50} p99 ${load.latency.p99} ms`,
    `warm p99 ${load.warm.p99} ms`,
    `answers ${JSON.stringify(load.byStatus)} errors ${JSON.stringify(load.errors)}`,
    `handshakes ${load.handshakes}`,
    `CPU seconds: ${numbers(account.cpu, 2)}`,
    `${numbers(account.requests, 0)}`,
    `asked: ${numbers(Object.fromEntries(Object.entries(asked).filter(([, it]) => it > 0)), 0)}`,
    `RSS ${account.rssMb.toFixed(0)} MB, most ${account.peakRssMb.toFixed(0)} MB`,
    ...load.examples.slice(0, 2),
  ].join("; ");
}
