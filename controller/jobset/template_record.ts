/**
 * Record of what the pod template of a Job has from its JobSet's: kept by the Job in an annotation, so that a resumption
 * takes away what the JobSet's template has no longer, and leaves what others set (docs/decisions/0028). Pure.
 */
import { z } from "zod";
import { compact, jsonOfText, sameJson } from "../../platform/base/json.ts";
import { type PodTemplateSpec, schemas } from "../../platform/kube/kubernetes.ts";
import { ANNOTATIONS } from "../../crds/names.ts";
import type { WatchedJob } from "../../crds/watched.ts";

const keys = z.array(z.string()).optional();
const recordSchema = z.object({
  labels: keys,
  annotations: keys,
  nodeSelector: keys,
  tolerations: z.array(schemas.toleration).optional(),
  schedulingGates: z.array(schemas.podSchedulingGate).optional(),
});

/** Keys of maps, and items of lists. */
type TemplateRecord = z.infer<typeof recordSchema>;

function keysOf(map: Readonly<Record<string, string>> | undefined): string[] | undefined {
  const found = Object.keys(map ?? {});
  return found.length > 0 ? found : undefined;
}

const itemsOf = <T>(list: T[] | undefined) => list?.length ? list : undefined;

/** Returns the annotations that record a template by which pods are placed; none of another, which seldom changes. */
export function recordOf(template: PodTemplateSpec | undefined): Record<string, string> {
  const { metadata, spec } = template ?? {};
  const placement = {
    nodeSelector: keysOf(spec?.nodeSelector),
    tolerations: itemsOf(spec?.tolerations),
    schedulingGates: itemsOf(spec?.schedulingGates),
  };
  if (Object.values(placement).every((part) => part === undefined)) return {};
  const record: TemplateRecord = {
    labels: keysOf(metadata?.labels),
    annotations: keysOf(metadata?.annotations),
    ...placement,
  };
  return { [ANNOTATIONS.fromTemplate]: JSON.stringify(record) };
}

const textSchema = z.string().transform(jsonOfText).pipe(recordSchema);

function textOf({ metadata }: WatchedJob): string | undefined {
  return metadata?.annotations?.[ANNOTATIONS.fromTemplate];
}

type Entries = Readonly<Record<string, string>>;

/** Returns the patch of a map: the wanted entries, and null for each that goes. */
function mapPatch(former: readonly string[] = [], wanted: Entries | undefined) {
  const gone = former.filter((key) => wanted?.[key] === undefined).map((key) => [key, null]);
  return gone.length > 0 ? { ...wanted, ...Object.fromEntries(gone) } : wanted;
}

const has = <T>(list: readonly T[] | undefined, item: T) =>
  list?.some((each) => sameJson(each, item)) ?? false;

/** Returns the list: what others set, then the wanted items, compared by value; undefined if it is to stay. */
function listPatch<T>(
  present: readonly T[] = [],
  former: readonly T[] = [],
  wanted?: readonly T[],
) {
  const kept = present.filter((item) => !has(former, item) || has(wanted, item));
  const missing = wanted?.filter((item) => !has(kept, item)) ?? [];
  return wanted === undefined && kept.length === present.length ? undefined : [...kept, ...missing];
}

/** Returns the patch of a Job that gives it the template of its JobSet, as far as a suspended Job can follow. */
export function templatePatch(job: WatchedJob, wanted: PodTemplateSpec | undefined) {
  // Of a Job without a record nothing is known, and nothing is taken away.
  const former = textSchema.safeParse(textOf(job)).data ?? {};
  const present = job.spec?.template?.spec;
  const metadata = compact({
    labels: mapPatch(former.labels, wanted?.metadata?.labels),
    annotations: mapPatch(former.annotations, wanted?.metadata?.annotations),
  });
  const spec = compact({
    nodeSelector: mapPatch(former.nodeSelector, wanted?.spec?.nodeSelector),
    tolerations: listPatch(present?.tolerations, former.tolerations, wanted?.spec?.tolerations),
    schedulingGates: listPatch(
      present?.schedulingGates,
      former.schedulingGates,
      wanted?.spec?.schedulingGates,
    ),
  });
  const parts = Object.entries({ metadata, spec });
  const template = Object.fromEntries(parts.filter(([, it]) => Object.keys(it).length > 0));
  const text = recordOf(wanted)[ANNOTATIONS.fromTemplate] ?? null;
  const isNews = text !== (textOf(job) ?? null);
  return {
    ...(isNews && { metadata: { annotations: { [ANNOTATIONS.fromTemplate]: text } } }),
    ...(Object.keys(template).length > 0 && { template }),
  };
}
