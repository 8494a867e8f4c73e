/** Histories of many samples, and curves of a time range, for tests of zooming. */
import assert from "node:assert/strict";
import { z } from "zod";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { type ObservationEndpoint, readObservation } from "../../support/observer.ts";

const curveSchema = z.object({
  name: z.string(),
  isProgress: z.boolean().optional(),
  points: z.array(z.tuple([z.number(), z.number(), z.number(), z.number()])),
  source: z.enum(["log", "curve"]).optional(),
  cut: z.boolean().optional(),
});
const curvesSchema = z.object({ curves: z.array(z.object({ metrics: z.array(curveSchema) })) });

/** A curve as the API shows it. */
export type ShownCurve = z.infer<typeof curveSchema>;

/** Sends samples as a pod does that could not push for a while; returns the status. */
export async function pushHistory(
  at: ObservationEndpoint,
  { job, token }: { readonly job: string; readonly token: string },
  samples: readonly unknown[],
): Promise<number> {
  using client = Deno.createHttpClient({ caCerts: [at.caBundle()] });
  const answer = await fetch(`${at.status}${statusPath(TRAINJOB, "default", job)}/history`, {
    method: "POST",
    client,
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ samples }),
    signal: AbortSignal.timeout(30_000),
  });
  await answer.body?.cancel();
  return answer.status;
}

/** Reads the curve of one metric of a job in a time range; with none, of all that is kept. */
export async function readCurve(
  at: ObservationEndpoint,
  { job, token, metric }: { readonly job: string; readonly token: string; readonly metric: string },
  range?: { readonly fromMs: number; readonly toMs: number },
): Promise<ShownCurve | undefined> {
  const query = new URLSearchParams({ job: `${TRAINJOB.id}/default/${job}`, metric });
  if (range !== undefined) {
    query.set("from", new Date(range.fromMs).toISOString());
    query.set("to", new Date(range.toMs).toISOString());
  }
  const { status, body } = await readObservation(at, `/view/v1/curves?${query}`, { token });
  assert.equal(status, 200, JSON.stringify(body));
  return curvesSchema.parse(body).curves[0]?.metrics.find((it) => !it.isProgress);
}

/** The points that the samples of a range are, if each is one. */
export const exactPoints = (
  samples: readonly { readonly ms: number; readonly value: number }[],
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
) =>
  samples.filter(({ ms }) => ms >= fromMs && ms <= toMs)
    .map(({ ms, value }) => [ms, value, value, value]);
