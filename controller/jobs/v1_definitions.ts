/** Definitions of the v1 kinds in the cluster, as far as they decide which kinds are run, and where progress is shown. */
import { getLogger } from "@logtape/logtape";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { fieldOf } from "../../crds/schema_field.ts";
import {
  V1_KIND_LIST,
  V1_KINDS,
  v1CrdName,
  type V1Kind,
  type V1KindName,
} from "../../crds/v1/kinds.ts";
import { V1_GROUP, V1_RUN_BY_ANNOTATION, V1_VERSION } from "../../crds/v1/names.ts";
import { createNotices } from "../../platform/base/notices.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isAbsentOrForbidden, isNotFound, messageOf } from "../../platform/kube/errors.ts";
import { withMetadataOnly } from "../../platform/kube/resource.ts";
import { discover, servedPlurals } from "../../platform/kube/watching/served_kinds.ts";

const log = getLogger(["milepost", "jobs"]);

/** Deadline of one request, in milliseconds. */
const DEADLINE_MS = 5_000;
/** Messages that are remembered: a few for each kind. */
const REMEMBERED = 100;

/** The definition of a kind that the API server serves. */
export interface Definition {
  /** The value of the annotation; undefined if there is none, or if it may not be read. */
  readonly runBy?: string;
  /** Whether it keeps `status.trainerStatus`. */
  readonly keepsProgress: boolean;
}

/** The definitions by kind; a kind that is not served is absent. */
export type Definitions = ReadonlyMap<V1KindName, Definition>;

const groupSchema = z.object({ versions: z.array(z.object({ version: z.string() })) });
const crdSchema = z.object({
  spec: z.object({
    versions: z.array(
      z.object({ name: z.string(), schema: z.object({ openAPIV3Schema: z.unknown() }).optional() }),
    ),
  }),
});

/** Of one that was never read. */
const UNREADABLE: Definition = { keepsProgress: false };

/** Reports whether the version v1 of a definition keeps `status.trainerStatus`. */
function keepsTrainerStatus(crd: unknown): boolean {
  const { data } = crdSchema.safeParse(crd);
  const version = data?.spec.versions.find(({ name }) => name === V1_VERSION);
  const root = version?.schema?.openAPIV3Schema;
  return fieldOf(fieldOf(root, "status"), "trainerStatus") !== undefined;
}

/** Creates the reader of the definitions. It rejects if the API server does not say what it serves. */
export function createDefinitions(client: Pick<KubeClient, "get" | "read">) {
  /** What each definition said when it could be read last, and in which generation it did. */
  const known = new Map<V1KindName, Definition & { readonly generation: number }>();
  const isNews = createNotices(REMEMBERED);

  const pluralsOf = (version: string, signal: AbortSignal) =>
    servedPlurals(client, `${V1_GROUP}/${version}`, signal);

  /** Logs that the cluster has an MPIJob of the MPI Operator, which is another API of the same name. */
  async function tellOtherMpiJob(versions: readonly string[], signal: AbortSignal): Promise<void> {
    const { kind, plural } = V1_KINDS.MPIJob;
    for (const version of versions) {
      if (version === V1_VERSION || !(await pluralsOf(version, signal)).has(plural)) continue;
      const message = "the cluster serves this kind only in a version that Milepost does not run";
      if (isNews(`${kind} ${version}`)) log.info(message, { kind, group: V1_GROUP, version });
    }
  }

  async function definitionOf(kind: V1Kind, signal: AbortSignal): Promise<Definition> {
    const name = v1CrdName(kind);
    const call = { signal, deadlineMs: DEADLINE_MS };
    const resource = KINDS.customResourceDefinition;
    const last = known.get(kind.kind);
    try {
      const { metadata } = await client.get(withMetadataOnly(resource), { name }, call);
      const { annotations, generation = 0 } = metadata ?? {};
      const keepsProgress = last?.generation === generation
        ? last.keepsProgress
        : keepsTrainerStatus(await client.get(resource, { name }, call));
      const definition = { runBy: annotations?.[V1_RUN_BY_ANNOTATION], keepsProgress, generation };
      known.set(kind.kind, definition);
      return definition;
    } catch (error) {
      // The role may be without this right, and an aggregated API server has no definitions.
      if (!isAbsentOrForbidden(error)) throw error;
      if (isNotFound(error)) known.delete(kind.kind);
      const kept = known.get(kind.kind);
      const message = kept === undefined
        ? "the definition of this kind cannot be read; only --v1-jobs has it run"
        : "the definition of this kind may not be read any more; what it said last still counts";
      if (isNews(`${kind.kind} ${message}`)) {
        log.info(message, { kind: kind.kind, error: messageOf(error) });
      }
      return kept ?? UNREADABLE;
    }
  }

  return async (signal: AbortSignal): Promise<Definitions> => {
    const group = await discover(client, V1_GROUP, groupSchema, signal);
    const versions = group?.versions.map(({ version }) => version) ?? [];
    const served = versions.includes(V1_VERSION)
      ? await pluralsOf(V1_VERSION, signal)
      : new Map<string, string>();
    if (!served.has(V1_KINDS.MPIJob.plural)) await tellOtherMpiJob(versions, signal);
    const kinds = V1_KIND_LIST.filter(({ plural }) => served.has(plural));
    for (const { kind, plural } of V1_KIND_LIST) if (!served.has(plural)) known.delete(kind);
    const found = await Promise.all(
      kinds.map(async (kind) => [kind.kind, await definitionOf(kind, signal)] as const),
    );
    return new Map(found);
  };
}
