/** Comparable form of an observation, without the values that differ between any two runs. Pure. */
import { parse as parseYaml } from "yaml";
import { ANNOTATIONS, LABELS, RUNTIME_SNAPSHOT_KEY } from "../../../crds/names.ts";
import { MILEPOST_JOBSET_CONTROLLER } from "../../../crds/jobset_names.ts";
import type { Answer } from "./answers.ts";
import type { AnyObject } from "./cluster_view.ts";
import type { Observation } from "./perform.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What Milepost adds on purpose everywhere: left aside, as the issue says. */
const OURS: readonly string[] = [
  LABELS.trainJobName,
  LABELS.trial,
  LABELS.jobKind,
  ANNOTATIONS.templateHash,
  ANNOTATIONS.fromTemplate,
];
/** Fields whose values are of one run only. */
const OF_ONE_RUN: readonly string[] = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "managedFields",
  "selfLink",
  "namespace",
];
/** Times: that there is one is compared, which one is not. */
const TIMES: readonly string[] = [
  "startTime",
  "lastTransitionTime",
  "lastUpdatedTime",
  "time",
  "deletionTimestamp",
];
/** Keys of Jobs and pods whose values come from uids. */
const MADE_FROM_UIDS: readonly string[] = [
  "jobset.sigs.k8s.io/jobset-uid",
  "batch.kubernetes.io/controller-uid",
  "controller-uid",
];

function plainMetadata(metadata: Fields): Fields {
  return Object.fromEntries(
    Object.entries(metadata).filter(([key]) => !OF_ONE_RUN.includes(key)),
  );
}

/** Fields that Go writes although they say nothing; of a status only a template's, such as a claim's. */
function isGoZero(parent: string, name: string, value: unknown): boolean {
  if (name === "creationTimestamp") return value === null;
  const isEmpty = isFields(value) && Object.keys(value).length === 0;
  return isEmpty && (name === "resources" || (name === "status" && parent === "templates"));
}

/** An object without what belongs to one run; empty labels and annotations are none. */
export function plain(value: unknown, key = ""): unknown {
  if (Array.isArray(value)) return value.map((item) => plain(item, key));
  if (!isFields(value)) {
    return TIMES.includes(key) && typeof value === "string" ? "a time" : value;
  }
  const fields = key === "metadata" ? plainMetadata(value) : value;
  const entries = Object.entries(fields)
    .filter(([name, inner]) =>
      !OURS.includes(name) && !(name === "managedBy" && inner === MILEPOST_JOBSET_CONTROLLER) &&
      !(key === "ownerReferences" && name === "uid") && !isGoZero(key, name, inner)
    )
    .map(([name, inner]) =>
      [name, MADE_FROM_UIDS.includes(name) ? "a uid" : plain(inner, name)] as const
    )
    .filter(([name, inner]) =>
      !(["labels", "annotations", "metadata"].includes(name) && isFields(inner) &&
        Object.keys(inner).length === 0)
    );
  return Object.fromEntries(entries);
}

export function byName(objects: readonly AnyObject[] = []): Fields {
  return Object.fromEntries(objects.map(({ apiVersion: _version, kind: _kind, ...object }) => [
    object.metadata.name,
    plain(object),
  ]));
}

/** ConfigMaps that a controller made, their YAML read. */
function configMaps(objects: readonly AnyObject[] = []): Fields {
  const made = objects.filter(({ metadata }) => metadata.name !== "kube-root-ca.crt");
  return Object.fromEntries(made.map((object) => {
    const data = isFields(object.data) ? object.data : {};
    const read = Object.entries(data).map(([key, text]) => [
      key,
      key === RUNTIME_SNAPSHOT_KEY ? plain(parseYaml(String(text))) : text,
    ]);
    const { ownerReferences, labels, annotations } = object.metadata;
    const metadata = plain({ ownerReferences, labels, annotations }, "metadata");
    return [object.metadata.name, { metadata, data: Object.fromEntries(read) }];
  }));
}

/** Secrets that a controller made, without their values, which are random. */
function secrets(objects: readonly AnyObject[] = []): Fields {
  return Object.fromEntries(objects.map((object) => {
    const { ownerReferences, labels, annotations } = object.metadata;
    const metadata = plain({ ownerReferences, labels, annotations }, "metadata");
    const keys = Object.keys(isFields(object.data) ? object.data : {}).sort();
    return [object.metadata.name, {
      metadata,
      keys,
      type: object.type,
      immutable: object.immutable,
    }];
  }));
}

/** Texts of events about objects of a kind, by type and reason. Their times and counts vary. */
export function eventsAbout(kind: string, objects: readonly AnyObject[] = []): Fields {
  const texts = new Map<string, Set<string>>();
  for (const { involvedObject, type, reason, message } of objects) {
    if (!isFields(involvedObject) || involvedObject.kind !== kind) continue;
    const key = `${type} ${reason} about ${involvedObject.name}`;
    texts.set(key, (texts.get(key) ?? new Set()).add(String(message)));
  }
  return Object.fromEntries([...texts].map(([key, all]) => [key, [...all].sort()]));
}

/** Answers by their position: only the results show whether both sides took the same course. */
export function numbered(answers: readonly Answer[]): Fields {
  return Object.fromEntries(answers.map((answer, index) => [String(index), answer]));
}

/** What two Trainers must agree on: TrainJobs, JobSets without status, helpers, events, answers. */
export function ofTrainer({ answers, outcome, view }: Observation): unknown {
  const jobSets = (view.jobSets ?? []).map(({ status: _status, ...jobSet }) => jobSet);
  return {
    answers: numbered(answers),
    outcome,
    trainJobs: byName((view.trainJobs ?? []).map((job) => ({ ...job, status: job.status ?? {} }))),
    jobSets: byName(jobSets),
    configMaps: configMaps(view.configMaps),
    secrets: secrets(view.secrets),
    coschedulingGroups: byName(view.coschedulingGroups),
    volcanoGroups: byName(view.volcanoGroups),
    events: eventsAbout("TrainJob", view.events),
  };
}

/** Conditions by type, because their order has no meaning. */
function conditionsByType(object: AnyObject): AnyObject {
  const conditions = object.status?.conditions;
  if (!Array.isArray(conditions)) return object;
  const sorted = conditions.toSorted((a, b) => String(a.type) < String(b.type) ? -1 : 1);
  return { ...object, status: { ...object.status, conditions: sorted } };
}

/** What two JobSet controllers must agree on: Jobs without status, Services, status, events, answers. */
export function ofJobSets({ answers, outcome, view }: Observation): unknown {
  const jobs = (view.jobs ?? []).map(({ status: _status, ...job }) => job);
  return {
    answers: numbered(answers),
    outcome,
    jobSets: byName((view.jobSets ?? []).map(conditionsByType)),
    jobs: byName(jobs),
    services: byName(view.services),
    events: eventsAbout("JobSet", view.events),
  };
}
