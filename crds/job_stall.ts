/** Stall of a job: since when it makes no progress, in `status.stalled`, and its pace, in `status.pace`, of a job of any kind (docs/decisions/0081). */
import { z } from "zod";
import { jobCheckpointSchema } from "./job_restart.ts";
import { HEARTBEAT_LIMITS } from "./wire/heartbeat.ts";
import { atomicList, int32 } from "./schema_marks.ts";

/** What a program says that it does, in a push. */
export const PHASES = ["Starting", "Training", "Evaluating", "Checkpointing"] as const;
export type Phase = typeof PHASES[number];

/** Key of the silences of a program that does not say what it does. */
export const NO_PHASE = "Any";

/** Limits of a stall. */
export const STALL_LIMITS = {
  pods: 8,
  nameLength: 253,
  messageLength: 1024,
  stateLength: 128,
} as const;

const time = () => z.string().meta({ format: "date-time" });
const seconds = () => z.number().min(0);

const silence = () => atomicList(seconds()).length(2);

/** The schema of a stall. */
export const jobStallSchema = z.looseObject({
  since: time().meta({ description: "When the job last made progress." }),
  time: time().optional().meta({ description: "When that was noticed." }),
  intervalSeconds: seconds().optional().meta({
    description: "How long it usually takes from one sign of progress to the next.",
  }),
  pods: atomicList(z.looseObject({
    name: z.string().max(STALL_LIMITS.nameLength),
    node: z.string().max(STALL_LIMITS.nameLength).optional(),
    step: z.int().min(0).optional().meta({ format: "int64", description: "The last step." }),
    place: z.string().max(HEARTBEAT_LIMITS.placeLength).optional().meta({
      description: "Where in its program it is.",
    }),
    state: z.string().max(STALL_LIMITS.stateLength).optional().meta({
      description: "How its containers are, such as `Running`, or `Terminated: exit code 137`.",
    }),
    lastHeard: time().optional().meta({ description: "When the pod was last heard of." }),
  })).max(STALL_LIMITS.pods).optional().meta({
    description:
      "The pods that are silent, or whose step or place differs from that of the others. Absent: none stands out.",
  }),
  checkpoint: jobCheckpointSchema.optional().meta({
    description: "The newest checkpoint that the job could go on from.",
  }),
  message: z.string().max(STALL_LIMITS.messageLength).meta({
    description: "All of it, for people.",
  }),
}).meta({
  description: "The job runs, and has made no progress for longer than ever. Gone when it goes on.",
});
export type JobStall = z.infer<typeof jobStallSchema>;

/** The schema of a pace: with at most 256 bytes as JSON. */
export const jobPaceSchema = z.looseObject({
  stepSeconds: seconds().optional().meta({ description: "Time that a step takes." }),
  intervalSeconds: seconds().optional().meta({
    description: "Time from one sign of progress to the next.",
  }),
  silences: z.partialRecord(z.enum([...PHASES, NO_PHASE]), silence()).meta({
    description:
      "Silences that ended by themselves, by phase: the longest one in seconds, and how many were heard, " +
      "counted up to 99.",
  }),
  heardSeconds: seconds().optional().meta({
    description: "For how long the job was listened to in all.",
  }),
  long: int32().min(0).optional().meta({ description: "Those that were far longer than usual." }),
  epochs: int32().min(0).optional().meta({ description: "Epochs that ended." }),
  run: z.string().max(8).optional().meta({
    description: "The begin of the UID of the pod that reported last.",
  }),
}).meta({ description: "How the job usually goes on: what tells a stall from a pause." });
export type JobPace = z.infer<typeof jobPaceSchema>;
