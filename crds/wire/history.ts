/** Body of a history: samples that a client kept while it could not push, in their order. */
import { z } from "zod";
import { HISTORY_LIMITS } from "../names.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { causesOf, MAX_CAUSES, type ParsedPush, readJson } from "./push.ts";
import { containerSchema, type Sample, sampleOf, sampleSchema } from "./sample.ts";

const TOO_MANY =
  `must be a list of at most ${HISTORY_LIMITS.samples} samples, each a trainerStatus`;
// Only the frame: the samples of an over-long list are not parsed.
const frame = z.object(
  {
    samples: z.array(z.unknown(), { error: TOO_MANY }).max(HISTORY_LIMITS.samples, TOO_MANY),
    container: containerSchema,
  },
  { error: "must be a JSON object with samples" },
);

function backwards(index: number): FailureCause {
  return {
    field: `samples[${index}].lastUpdatedTime`,
    message: "must not be before that of the sample before it: send samples in order",
  };
}

/**
 * Checks the value of a history's JSON: each sample as a push's `trainerStatus`, and none with an
 * earlier `lastUpdatedTime` than the one before it. An empty one changes nothing.
 */
export function parseHistory(value: unknown): ParsedPush {
  const framed = frame.safeParse(value);
  if (!framed.success) return { ok: false, causes: causesOf(framed.error) };
  const samples: Sample[] = [];
  const causes: FailureCause[] = [];
  let lastMs = -Infinity;
  for (const [index, sample] of framed.data.samples.entries()) {
    const parsed = sampleSchema.safeParse(sample);
    if (parsed.success) {
      const status = sampleOf(parsed.data);
      const timeMs = Date.parse(status.lastUpdatedTime);
      if (timeMs < lastMs) causes.push(backwards(index));
      lastMs = timeMs;
      samples.push(status);
    } else causes.push(...causesOf(parsed.error, ["samples", index]));
    if (causes.length >= MAX_CAUSES) break;
  }
  if (causes.length > 0) return { ok: false, causes: causes.slice(0, MAX_CAUSES) };
  const trainerStatus = samples.pop();
  if (trainerStatus === undefined) return { ok: true, push: {} };
  const { container } = framed.data;
  return {
    ok: true,
    push: {
      trainerStatus,
      earlier: samples,
      ...(typeof container === "string" && { container }),
    },
  };
}

/** Reads the bytes of a history: strict UTF-8, one JSON value, then {@link parseHistory}. */
export function readHistory(bytes: Uint8Array): ParsedPush {
  return readJson(bytes, parseHistory);
}
