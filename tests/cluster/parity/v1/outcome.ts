/** Comparable outcome of a case about v1 jobs: short for its life, whole for the objects that are made. Pure. */
import type { Answer } from "../answers.ts";
import { type AnyObject, V1_JOBS } from "../cluster_view.ts";
import { type Fields, isFields, plain } from "../comparable.ts";
import type { Observation } from "../perform.ts";

/** The name of a webhook is its operator's own. */
const WEBHOOK = /^admission webhook "[^"]*" denied the request: /;

function answersOf(answers: readonly Answer[]): Fields {
  const told = answers.map(({ result, message, warnings }) => ({
    result,
    ...message === undefined ? {} : { message: message.replace(WEBHOOK, "") },
    ...warnings === undefined ? {} : { warnings },
  }));
  // A success says nothing that the outcome does not.
  return Object.fromEntries(
    told.map((answer, index) => [String(index), answer] as const)
      .filter(([, { result, warnings }]) => result !== "ok" || warnings !== undefined),
  );
}

function textOf(condition: Fields): string {
  const { status, reason = "no reason", message = "" } = condition;
  return `${status} ${reason}: ${message}`;
}

function isFieldsList(value: unknown): value is readonly Fields[] {
  return Array.isArray(value) && value.every(isFields);
}

const whether = (value: unknown) => value === undefined ? "unset" : "set";

/** The status of a job: conditions by type with their order, counters, and which times are set. */
function statusOf({ status = {} }: AnyObject): Fields {
  const conditions = isFieldsList(status.conditions) ? status.conditions : [];
  const counters = isFields(status.replicaStatuses) ? status.replicaStatuses : {};
  return {
    conditions: Object.fromEntries(conditions.map((one) => [String(one.type), textOf(one)])),
    order: conditions.map(({ type }) => type).join(" "),
    replicaStatuses: counters,
    startTime: whether(status.startTime),
    completionTime: whether(status.completionTime),
  };
}

/** Counts how many objects of a name were seen, one after the other. */
type Generations = Map<string, Set<string>>;

function podText({ metadata, status }: AnyObject, generations: Generations): string {
  const { name, uid = "", deletionTimestamp } = metadata;
  const seen = generations.get(name) ?? new Set<string>();
  generations.set(name, seen.add(uid));
  return [
    status?.phase ?? "Pending",
    ...seen.size > 1 ? [`number ${seen.size}`] : [],
    ...deletionTimestamp === undefined ? [] : ["is being deleted"],
  ].join(", ");
}

/** Texts of all events about objects of the namespace's jobs and pods, by what they are about. */
function eventsOf(objects: readonly AnyObject[] = []): Fields {
  const texts = new Map<string, Set<string>>();
  for (const { involvedObject, type, reason, message } of objects) {
    if (
      !isFields(involvedObject) || !String(involvedObject.apiVersion).startsWith("kubeflow.org/")
    ) {
      continue;
    }
    const key = `${type} ${reason}`;
    texts.set(key, (texts.get(key) ?? new Set()).add(String(message)));
  }
  return Object.fromEntries(
    [...texts].map(([key, all]) => [key, [...all].sort()] as const).sort(([a], [b]) =>
      a < b ? -1 : 1
    ),
  );
}

const jobsOf = (view: Observation["view"]) => V1_JOBS.flatMap((plural) => view[plural] ?? []);

/**
 * Outcome of each step of a life: names of what there is, phases of pods, status of the job; at the end its
 * events too.
 */
export function livesOf(observations: readonly Observation[]): Fields[] {
  const generations: Generations = new Map();
  return observations.map(({ answers, outcome, view }, step) => ({
    answers: answersOf(answers),
    ...outcome === "came" ? {} : { outcome },
    jobs: Object.fromEntries(jobsOf(view).map((job) => [job.metadata.name, statusOf(job)])),
    pods: Object.fromEntries(
      (view.pods ?? []).map((pod) => [pod.metadata.name, podText(pod, generations)]),
    ),
    services: (view.services ?? []).map(({ metadata }) => metadata.name).join(" "),
    ...view.autoscalers?.length
      ? { autoscalers: view.autoscalers.map(({ metadata }) => metadata.name).join(" ") }
      : {},
    ...step === observations.length - 1 ? { events: eventsOf(view.events) } : {},
  }));
}

/** What the API server and its admission fill in, with the same result for the same pod. */
const FILLED_IN: readonly string[] = [
  "clusterIPs",
  "dnsPolicy",
  "enableServiceLinks",
  "imagePullPolicy",
  "internalTrafficPolicy",
  "ipFamilies",
  "ipFamilyPolicy",
  "preemptionPolicy",
  "priority",
  "schedulerName",
  "serviceAccount",
  "sessionAffinity",
  "terminationGracePeriodSeconds",
  "terminationMessagePath",
  "terminationMessagePolicy",
  "tolerations",
  "uid",
  "status",
];

const TOKEN_VOLUME = /^kube-api-access-/;

function isFilledIn(key: string, value: unknown): boolean {
  if (FILLED_IN.includes(key)) return true;
  if (key === "serviceAccountName") return value === "default";
  if (key === "type") return value === "ClusterIP";
  if (key === "protocol") return value === "TCP";
  if (key !== "securityContext" && key !== "resources") return false;
  return isFields(value) && Object.keys(value).length === 0;
}

/** An object without what the server fills in. */
function written(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.filter((one) => !(isFields(one) && TOKEN_VOLUME.test(String(one.name))))
      .map(written);
  }
  if (!isFields(value)) return value;
  const entries = Object.entries(value).filter(([key, inner]) => !isFilledIn(key, inner))
    .map(([key, inner]) => [key, written(inner)] as const)
    .filter(([key, inner]) => !(/^volume/.test(key) && Array.isArray(inner) && inner.length === 0));
  return Object.fromEntries(entries);
}

/** Objects by name, as their controller wrote them. */
function objectsOf(objects: readonly AnyObject[] = []): Fields {
  const made = objects.filter(({ metadata }) => metadata.ownerReferences !== undefined);
  return Object.fromEntries(made.map(({ apiVersion: _version, kind: _kind, ...object }) => {
    const { name, ...metadata } = object.metadata;
    return [name, written(plain({ ...object, metadata }))];
  }));
}

/** The parts of an outcome that are not empty. */
function filled(parts: Fields): Fields {
  return Object.fromEntries(
    Object.entries(parts).filter(([, part]) => isFields(part) && Object.keys(part).length > 0),
  );
}

/** Outcome of each step of a case about objects: the job's spec as it is stored, and what is made of it. */
export function objectsMade(observations: readonly Observation[]): Fields[] {
  return observations.map(({ answers, view }) =>
    filled({
      answers: answersOf(answers),
      jobs: Object.fromEntries(
        jobsOf(view).map(({ metadata, spec }) => [metadata.name, { spec: written(plain(spec)) }]),
      ),
      pods: objectsOf(view.pods),
      services: objectsOf(view.services),
      configMaps: objectsOf(view.configMaps),
      serviceAccounts: objectsOf(view.serviceAccounts),
      roles: objectsOf(view.roles),
      roleBindings: objectsOf(view.roleBindings),
      autoscalers: objectsOf(view.autoscalers),
      events: eventsOf(view.events),
    })
  );
}
