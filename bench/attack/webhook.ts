/** Reviews of the API server while four addresses attack the webhook port. */
import { LABELS } from "../../crds/names.ts";
import { pod, review, trainJob } from "../../tests/webhook/builders.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { runLoads } from "../generator/generator.ts";
import type { Load, LoadPlan } from "../generator/plan.ts";
import { cpuSeconds } from "../process_stats.ts";
import type { Measure } from "../result.ts";
import { runAttackers } from "./attackers.ts";
import type { Endpoint } from "./endpoint.ts";
import { failures, idleAttacks, warmOf } from "./verdicts.ts";

/** What is attacked. */
export type Webhook = Pick<Endpoint, "ports" | "caPem" | "pid">;

/** Returns the URL of a webhook. */
export const urlOf = ({ ports }: Pick<Webhook, "ports">, path: string) =>
  `https://127.0.0.1:${ports.webhook}${path}`;

/** Reviews a second of the API server. */
const HONEST_RATE = 20;
const WARM_UP_MS = 1_000;
/** Addresses of attackers. */
export const ATTACKERS = ["127.0.67.1", "127.0.67.2", "127.0.67.3", "127.0.67.4"];
/** Longest time of an API server's review: the goal of its p99. */
const GOAL_MS = 1_000;

const OF_PODS = { kind: { group: "", version: "v1", kind: "Pod" } };
const HONEST_BODY = JSON.stringify(review(pod(), OF_PODS));

/** A review of 600 kB that keeps every bound, and costs the most of those that do. */
function costlyBody(): string {
  const labels = Object.fromEntries(
    Array.from({ length: 48_000 }, (_, index) => [`k${index}`, "v"]),
  );
  return JSON.stringify(
    review(pod({ labels: { ...labels, [LABELS.trainJobName]: "tj" } }), OF_PODS),
  );
}

/** A review that names a runtime which does not exist, another one each time. */
function madeUpBody(): string {
  const runtimeRef = { name: "made-up-{{number}}", kind: "ClusterTrainingRuntime" };
  return JSON.stringify(review(trainJob({ runtimeRef })));
}

/** Returns the plan of the API server's own reviews: over connections that it keeps. */
export function honestReviews(webhook: Webhook, durationMs: number): LoadPlan {
  return {
    name: "reviews of the API server",
    targets: [{ url: urlOf(webhook, WEBHOOK_PATHS.mutatePods) }],
    caPem: webhook.caPem,
    connections: 8,
    rate: HONEST_RATE,
    durationMs,
    warmUpMs: WARM_UP_MS,
    timeoutMs: 10_000,
    sources: ["127.0.0.1"],
    body: HONEST_BODY,
  };
}

/**
 * Returns the plans of four addresses together: 40 costly reviews a second, 200 that name made-up runtimes, and
 * 1,000 small ones on new connections.
 */
export function hostileReviews(webhook: Webhook, durationMs: number): LoadPlan[] {
  const common = { caPem: webhook.caPem, durationMs, sources: ATTACKERS, timeoutMs: 5_000 };
  const pods = [{ url: urlOf(webhook, WEBHOOK_PATHS.mutatePods) }];
  const jobs = [{ url: urlOf(webhook, WEBHOOK_PATHS.validateTrainJobs) }];
  return [
    { ...common, name: "costly", targets: pods, connections: 64, rate: 40, body: costlyBody() },
    { ...common, name: "made-up", targets: jobs, connections: 16, rate: 200, body: madeUpBody() },
    {
      ...common,
      name: "new connections",
      targets: pods,
      connections: 128,
      rate: 1_000,
      mode: "connection-per-push",
      body: HONEST_BODY,
    },
  ];
}

/** Result of {@link attackWebhook}. */
export interface WebhookAttack {
  readonly honest: Load;
  readonly attackers: readonly Load[];
  /** Processor time of the manager, of one core. */
  readonly cores: number;
}

/** Runs the API server's reviews, beside the attackers if there are any. */
export async function attackWebhook(
  webhook: Webhook,
  { durationMs, attacked }: { readonly durationMs: number; readonly attacked: boolean },
): Promise<WebhookAttack> {
  const before = await cpuSeconds(webhook.pid);
  const [{ results: [honest] }, attackers] = await Promise.all([
    runLoads([honestReviews(webhook, durationMs)]),
    attacked ? runAttackers(hostileReviews(webhook, durationMs)) : [],
  ]);
  if (honest === undefined) throw new Error("the load generator answered nothing");
  const cores = (await cpuSeconds(webhook.pid) - before) / (durationMs / 1000);
  return { honest, attackers, cores };
}

/** Returns what attackers met, by their plan. */
function metBy(attackers: readonly Load[]): string {
  return attackers.map(({ name, sent, byStatus, errors }) =>
    `${name}: sent ${sent}, met ${JSON.stringify({ ...byStatus, ...errors })}`
  ).join("; ");
}

/** Measures the reviews without and beside attackers. */
export async function webhookMeasures(
  webhook: Webhook,
  { durationMs, suffix }: { readonly durationMs: number; readonly suffix: string },
): Promise<Measure[]> {
  const quiet = await attackWebhook(webhook, { durationMs, attacked: false });
  const { honest, attackers, cores } = await attackWebhook(webhook, { durationMs, attacked: true });
  return [
    {
      name: `p99 of the API server's reviews under attack, ${suffix}`,
      value: warmOf(honest, "p99"),
      unit: "ms",
      beside: { name: "no attack", value: warmOf(quiet.honest, "p99") },
      goal: { is: "at most", limit: GOAL_MS },
      note:
        `${honest.ok} of ${honest.sent} reviews answered; manager ${(cores * 100).toFixed(0)} % ` +
        `of a core (${(quiet.cores * 100).toFixed(0)} % without); ${metBy(attackers)}`,
    },
    failures(`the API server's reviews that failed under attack, ${suffix}`, [honest]),
    {
      ...idleAttacks([{ hostile: attackers, held: [] }]),
      name: `attacks that did not reach the webhook, ${suffix}`,
    },
  ];
}
