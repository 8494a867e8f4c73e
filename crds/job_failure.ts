/** Failure of a job: which of its pods failed first and how, in `status.failure` of a job of any kind (docs/decisions/0078). */
import { z } from "zod";
import { ANNOTATIONS } from "./names.ts";
import { int32 } from "./schema_marks.ts";

/** Limits of a failure. */
export const FAILURE_LIMITS = {
  /** Of the message in UTF-8: what a kubelet takes of a container's log. */
  messageBytes: 2048,
  headlineLength: 512,
  nameLength: 253,
  reasonLength: 256,
} as const;

const name = () => z.string().max(FAILURE_LIMITS.nameLength);
const time = () => z.string().meta({ format: "date-time" });

/** The schema. */
export const jobFailureSchema = z.looseObject({
  headline: z.string().max(FAILURE_LIMITS.headlineLength).optional().meta({
    description: "What failed and why, in a line for people. Absent once that is history.",
  }),
  replica: name().optional().meta({
    description: "Which of the job's pods failed, such as node-0 or worker-1.",
  }),
  pod: name().optional().meta({ description: "The name of that pod." }),
  node: name().optional().meta({ description: "The node of the cluster that it ran on." }),
  container: name().optional().meta({ description: "The container that ended." }),
  reason: z.string().max(FAILURE_LIMITS.reasonLength).optional().meta({
    description: "Why, in Kubernetes' word, such as Error, OOMKilled or Evicted.",
  }),
  exitCode: int32().optional().meta({ description: "The exit code of the container." }),
  message: z.string().max(FAILURE_LIMITS.messageBytes).optional().meta({
    description:
      "What the program, or Kubernetes, said last; control characters are spelled out. " +
      "Absent if the job does not allow it.",
  }),
  time: time().meta({ description: "When it failed." }),
  restarts: int32().min(0).optional().meta({
    description: "How often a pod was started again after a failure.",
  }),
  restartLimit: int32().min(0).optional().meta({
    description: "The restarts after which the job fails, at the most. Absent if none are known.",
  }),
  recoveredTime: time().optional().meta({
    description:
      "Since when the failure is history: the job runs again without failing, was suspended, or ended otherwise.",
  }),
}).meta({ description: "The first failure of the job's pods since they were last started." });
export type JobFailure = z.infer<typeof jobFailureSchema>;

/** Returns whether a job, with those annotations, may have what its programs say last. */
export const allowsLastWords = (annotations: Readonly<Record<string, string>> = {}): boolean =>
  annotations[ANNOTATIONS.failureMessage] !== "off";
