/** Trial resources (KEP-1214): kinds of other operators whose objects are the jobs of Katib's Trials. Pure. */
import { type AnyJob, defineJobKind, type JobKind, jobSchema, type OwnerPath } from "./job_kind.ts";
import { KATIB } from "./katib_names.ts";
import { KINDS } from "./kinds.ts";
import type { Kind } from "../platform/kube/resource.ts";
import { LABELS } from "./names.ts";
import { JOB_OF_JOB_SET, POD_OF_JOB } from "./owner_links.ts";

/** A kind as `--trial-resource` names it. */
export interface TrialResource {
  readonly kind: string;
  readonly version: string;
  readonly group: string;
}

const RESOURCE = /^([A-Z][A-Za-z0-9]*)\.(v[0-9][a-z0-9]*)\.([a-z0-9]([-a-z0-9.]*[a-z0-9])?)$/;

/** Parses `Kind.version.group`, such as `Job.v1.batch`. Returns undefined if it is anything else. */
export function parseTrialResource(text: string): TrialResource | undefined {
  const [, kind, version, group] = RESOURCE.exec(text) ?? [];
  if (kind === undefined || version === undefined || group === undefined) return undefined;
  return { kind, version, group };
}

/** Returns `Kind.version.group`. */
export function formatTrialResource({ kind, version, group }: TrialResource): string {
  return `${kind}.${version}.${group}`;
}

/** Any name: who controls these is told only by UIDs, since nobody knows how other operators name their pods. */
const anyName = () => true;

const isA = ({ kind, group }: TrialResource, known: Pick<Kind<unknown>, "kind" | "group">) =>
  known.kind === kind && known.group === group;

function ownerPathsOf(resource: TrialResource): OwnerPath[] {
  if (isA(resource, KINDS.job)) return [{ through: [], nameFits: POD_OF_JOB.nameFits }];
  if (isA(resource, KINDS.jobSet)) {
    return [{ through: [POD_OF_JOB], nameFits: JOB_OF_JOB_SET.nameFits }];
  }
  return [
    { through: [], nameFits: anyName },
    { through: [POD_OF_JOB], nameFits: anyName },
    { through: [POD_OF_JOB, JOB_OF_JOB_SET], nameFits: anyName },
  ];
}

/** A job of another operator has begun if its status says anything. */
function hasBegun({ status }: AnyJob): boolean {
  return Object.keys(status ?? {}).length > 0;
}

const SUCCEEDED = ["Complete", "Completed", "Succeeded"] as const;
const FAILED = "Failed";

/**
 * Returns the descriptor of a trial resource. Nothing is written to its objects; its pods are selected by the
 * label that Katib puts on the pods of a Trial.
 */
export function trialResourceKind(resource: TrialResource, plural: string): JobKind {
  const { kind, version, group } = resource;
  return defineJobKind({
    kind,
    version,
    group,
    plural,
    namespaced: true,
    parse: (value) => jobSchema.parse(value),
    isForeign: true,
    ownerPaths: ownerPathsOf(resource),
    controllers: [],
    podLabels: {
      jobName: KATIB.trialLabel,
      without: [LABELS.trainJobName, LABELS.jobKind],
      first: {},
    },
    conditions: {
      ends: [
        { type: FAILED, end: "Failed" },
        ...SUCCEEDED.map((type) => ({ type, end: "Complete" as const })),
      ],
      earlyStopped: "EarlyStopped",
      suspended: "Suspended",
    },
    hasBegun,
    stop: [],
    // Of others a template names the conditions.
    katib: isA(resource, KINDS.job) ? { success: "Complete", failure: FAILED } : {},
  });
}
