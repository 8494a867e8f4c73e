/** Paths and objects of the API server in memory. Pure, but for the UIDs. */
import {
  jobOf,
  jobSetOf,
  type Owner,
  podOf,
  runningStatus,
  trainJobOf,
} from "../status/objects.ts";

/** An object as it is held. */
export interface Stored {
  readonly metadata?: { readonly name?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** What a path means. */
export interface Place {
  readonly plural: string;
  /** The path without name and subresource. */
  readonly collection: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

/** Katib is not installed. */
export const KATIB_GROUP_PATH = "/apis/kubeflow.org/";

const PATH =
  /^(?:\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+)(?=\/))?\/([^/]+)(?:\/([^/]+))?/;

/** Takes a path apart; undefined for one of no resource. */
export function pathOf(pathname: string): Place | undefined {
  const found = PATH.exec(pathname);
  if (found === null) return undefined;
  const [all, namespace, plural = "", name] = found;
  const collection = name === undefined ? all : all.slice(0, -name.length - 1);
  return { plural, collection, namespace, name };
}

/** An error as the API server words it. */
export function statusOf(code: number): Response {
  const reason = code === 404 ? "NotFound" : "BadRequest";
  const body = {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason,
    code,
    message: reason,
  };
  return Response.json(body, { status: code });
}

/** A page of a list. */
export function listOf(all: readonly Stored[], query: URLSearchParams, version: number): unknown {
  const from = Number(query.get("continue") ?? 0);
  const to = from + Number(query.get("limit") ?? all.length);
  const more = to < all.length ? { continue: String(to) } : {};
  return {
    kind: "List",
    apiVersion: "v1",
    metadata: { resourceVersion: String(version), ...more },
    items: all.slice(from, to),
  };
}

/** What the API server adds to an object, a manager of fields among it. */
function born<T extends { metadata: object }>(object: T, number: number, namespace: string) {
  const time = "2026-11-21T12:00:00Z";
  const fields = { "f:metadata": { "f:labels": { ".": {}, "f:a": {} } }, "f:spec": { ".": {} } };
  const managedFields = [
    { manager: "bench", operation: "Update", time, fieldsType: "FieldsV1", fieldsV1: fields },
  ];
  const resourceVersion = String(1000 + number);
  const [uid, creationTimestamp] = [crypto.randomUUID(), time];
  const more = { namespace, uid, resourceVersion, generation: 1, creationTimestamp, managedFields };
  return { ...object, metadata: { ...object.metadata, ...more } };
}

function ownerOf(
  object: { apiVersion: string; kind: string; metadata: { uid: string } },
  name: string,
): Owner {
  const { apiVersion, kind, metadata: { uid } } = object;
  return { apiVersion, kind, name, uid };
}

/** So many TrainJobs that run, with what is below them, by plural. */
export function trainingWorld(count: number, namespace: string): Record<string, Stored[]> {
  const at = new Date("2026-11-21T12:00:10Z");
  const account = born(
    { kind: "ServiceAccount", apiVersion: "v1", metadata: { name: "default" } },
    0,
    namespace,
  );
  const all: Record<string, Stored[]> = {
    trainjobs: [],
    jobsets: [],
    jobs: [],
    pods: [],
    serviceaccounts: [account],
  };
  for (let number = 0; number < count; number++) {
    const name = `job-${number}`;
    const trainJob = born(trainJobOf(name), number, namespace);
    const jobSet = born(jobSetOf(name, ownerOf(trainJob, name)), number, namespace);
    const jobSetOwner = ownerOf(jobSet, name);
    const job = born(jobOf(name, jobSetOwner), number, namespace);
    const pod = born(podOf(name, jobSetOwner, ownerOf(job, job.metadata.name)), number, namespace);
    all.trainjobs?.push(trainJob);
    all.jobsets?.push(jobSet);
    all.jobs?.push(job);
    all.pods?.push({ ...pod, status: runningStatus(at) });
  }
  return all;
}
