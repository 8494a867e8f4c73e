/** Reads of curves of a time range at the manager, a few at a time; viewers of the same range share one. */
import type { JobRef } from "../../crds/job_kind.ts";
import { createFairTurns } from "../../platform/base/fair_turns.ts";
import { sharedCall } from "../../platform/base/shared_calls.ts";
import { createStreamSlots } from "../../platform/http/limits/stream_limits.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import type { CurveAsk, ShownCurves } from "../../crds/wire/shown_curves.ts";
import { readCurvesAnswer } from "../../crds/wire/curves_answer.ts";
import { jobParameters, queryText } from "./manager_news.ts";
import type { Outage } from "../../owner/followed_group.ts";
import { outageOf } from "./manager_stream.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";

/** Reads at a time, and those that run or wait, in all and for one user. */
const AT_A_TIME = { total: 4, perKey: 2 } as const;
const READS = { total: 68, perSubject: 16 } as const;
const DEADLINE_MS = 15_000;
const BODY_BYTES = 48 << 20;

/** Curves, or why there are none. */
export type ReadCurves = { readonly all: readonly ShownCurves[] } | Outage;

function pathOf(
  { metrics = [], points, fromMs, toMs }: Omit<CurveAsk, "jobs">,
  jobs: readonly JobRef[],
) {
  const time = (name: string, ms: number | undefined): [string, string][] =>
    ms === undefined ? [] : [[name, new Date(ms).toISOString()]];
  const parameters = queryText([
    ...metrics.map((name): [string, string] => ["metric", name]),
    ["points", String(points)],
    ...time("from", fromMs),
    ...time("to", toMs),
    ...jobParameters(jobs),
  ]);
  return `/view/v1/curves?${parameters}`;
}

/** Creates the reads; they end when the signal aborts. */
export function createCurveReads({ signal }: { readonly signal: AbortSignal }) {
  const inTurn = createFairTurns(AT_A_TIME);
  const slots = createStreamSlots(READS);
  /** Those that are read now; kept longer, answers of any size would add up. */
  const shared = new Map<string, Promise<ReadCurves>>();

  async function read(client: ManagerClient, path: string): Promise<ReadCurves> {
    // Who asks for curves is told when to ask again, and nobody else waits for that.
    const bounds = { deadlineMs: DEADLINE_MS, maxBytes: BODY_BYTES, honorRetryAfter: false };
    try {
      const { text } = await client.read(path, { signal, ...bounds });
      const all = readCurvesAnswer(JSON.parse(text));
      return all === undefined ? { reason: "the manager's curves cannot be read" } : { all };
    } catch (error) {
      return outageOf(error);
    }
  }

  async function begin(client: ManagerClient, path: string, user: string): Promise<ReadCurves> {
    const slot = slots.take(user);
    if (typeof slot === "string") {
      return { reason: "too many curves of time ranges are read at once: try again soon" };
    }
    try {
      return await inTurn(user, () => read(client, path), signal);
    } catch (error) {
      return { reason: messageOf(error) };
    } finally {
      slot.release();
    }
  }

  return (
    client: ManagerClient,
    ask: Omit<CurveAsk, "jobs">,
    jobs: readonly JobRef[],
    user: string,
  ): Promise<ReadCurves> => {
    const path = pathOf(ask, jobs);
    return sharedCall(shared, path, () => begin(client, path, user));
  };
}
