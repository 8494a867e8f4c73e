/** Recordings of what a peer wrote to TrainJobs, for tests that run without the peer. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { AuditEvent } from "../../cluster/control_plane/audit.ts";

/** A request on a TrainJob. */
export type RecordedWrite =
  /** What the user sent, and the JSON patches of mutating webhooks, in their order. */
  | { readonly verb: "create"; readonly object: unknown; readonly mutations: readonly unknown[] }
  | { readonly verb: "update" | "patch"; readonly object: unknown };

/** The writes to one TrainJob. */
export interface RecordedJob {
  readonly runtime: unknown;
  readonly writes: readonly RecordedWrite[];
}

/** A file of recordings. */
export interface Recording {
  /** Such as `sigs.k8s.io/kueue v0.19.0`. */
  readonly peer: string;
  readonly jobs: Readonly<Record<string, RecordedJob>>;
}

const folder = new URL("../recordings/", import.meta.url);

/** Fields that are new in each run. */
const CHANGING: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "managedFields",
  "generation",
  "time",
]);

/** Names of Workloads end with a hash that has the UID of the TrainJob in it. */
const WORKLOAD_NAME = /^(trainjob-[a-z-]+)-[0-9a-f]{5}$/;

/** Leaves out what is new in each run. */
export function withoutChanging(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutChanging);
  if (typeof value === "string") return value.replace(WORKLOAD_NAME, "$1-00000");
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).filter(([key]) => !CHANGING.has(key))
      .map(([key, inner]) => [key, withoutChanging(inner)]),
  );
}

/** The status is no part of a write to the object. */
function withoutStatus(object: unknown): Record<string, unknown> {
  const { status: _, ...rest } = z.looseObject({}).parse(object);
  return rest;
}

const contentSchema = z.looseObject({
  requestObject: z.unknown(),
  annotations: z.record(z.string(), z.string()).default({}),
});
const mutationSchema = z.looseObject({
  configuration: z.string(),
  patch: z.array(z.looseObject({ path: z.string() })).optional(),
});

/** Patches of the webhooks of a configuration, as the API server notes them in its audit log. */
function mutationsOf(annotations: Readonly<Record<string, string>>, configuration: string) {
  return Object.entries(annotations)
    .filter(([key]) => key.startsWith("patch.webhook.admission.k8s.io/"))
    .map(([, text]) => mutationSchema.parse(JSON.parse(text)))
    .filter((mutation) => mutation.configuration === configuration)
    .flatMap(({ patch }) => patch ?? [])
    // A webhook in Go lists the fields in any order.
    .sort((one, other) => one.path.localeCompare(other.path));
}

/** Returns the creation of a TrainJob, and the writes to it by `user`. */
export function recordedWrites(
  events: readonly AuditEvent[],
  trainJob: string,
  { user, configuration }: { readonly user: string; readonly configuration: string },
): RecordedWrite[] {
  const writes = events.flatMap((event): RecordedWrite[] => {
    const { verb, objectRef, responseStatus } = event;
    const isIt = objectRef?.resource === "trainjobs" && objectRef.subresource === undefined &&
      objectRef.name === trainJob && (responseStatus?.code ?? 500) < 300 &&
      !event.requestURI.includes("dryRun");
    if (!isIt) return [];
    const { requestObject, annotations } = contentSchema.parse(event);
    const object = withoutStatus(withoutChanging(requestObject));
    if (verb === "create") {
      const mutations = mutationsOf(annotations, configuration);
      return [{ verb, object, mutations: mutations.map(withoutChanging) }];
    }
    if (event.user.username !== user || (verb !== "update" && verb !== "patch")) return [];
    // A patch of the version alone changes nothing.
    return "spec" in object ? [{ verb, object }] : [];
  });
  // A write that is repeated changes nothing.
  return writes.filter((one, index) => !isDeepStrictEqual(one, writes[index - 1]));
}

const recordingSchema = z.object({
  peer: z.string(),
  jobs: z.record(
    z.string(),
    z.object({
      runtime: z.unknown(),
      writes: z.array(z.union([
        z.object({
          verb: z.literal("create"),
          object: z.unknown(),
          mutations: z.array(z.unknown()),
        }),
        z.object({ verb: z.enum(["update", "patch"]), object: z.unknown() }),
      ])),
    }),
  ),
});

/** Reads a recording. */
export async function readRecording(name: string): Promise<Recording> {
  return recordingSchema.parse(
    JSON.parse(await Deno.readTextFile(new URL(`${name}.json`, folder))),
  );
}

/** Writes a recording. */
export async function writeRecording(name: string, recording: Recording): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  const file = new URL(`${name}.json`, folder);
  await Deno.writeTextFile(file, `${JSON.stringify(recording, null, 2)}\n`);
}
