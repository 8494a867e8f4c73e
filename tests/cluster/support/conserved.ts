/** Check that TrainJobs made each object exactly once. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { controllerOf } from "../../../platform/kube/owner_references.ts";
import type { KubeObject } from "../../../platform/kube/resource.ts";
import type { ControlPlane } from "../control_plane/control_plane.ts";
import { MANAGER } from "../../../crds/names.ts";

/** The user that the manager is. */
export const MANAGER_USER = `system:serviceaccount:${MANAGER.namespace}:${MANAGER.name}`;

/** Rules of an audit policy that keep the log to the writes of Milepost and of controllers. */
export const AUDIT_WRITES = [
  { level: "None", verbs: ["get", "list", "watch"] },
  {
    level: "Metadata",
    resources: [
      { group: "batch", resources: ["jobs"] },
      { group: "jobset.x-k8s.io", resources: ["jobsets"] },
      { group: "", resources: ["configmaps", "services", "pods"] },
    ],
  },
];

function childrenOf<T extends KubeObject>(objects: readonly T[], uid: string | undefined): T[] {
  return objects.filter(({ metadata }) => controllerOf(metadata)?.uid === uid);
}

/** Objects that each TrainJob must have. */
export interface Expected {
  readonly namespace?: string;
  /** Default 1. */
  readonly jobs?: number;
  /** Of each Job; undefined where nobody makes pods. */
  readonly pods?: number;
}

/** Asserts that each of the TrainJobs has its children, and only once. */
export async function assertConserved(
  { client }: Pick<ControlPlane, "client">,
  names: readonly string[],
  { namespace = "default", jobs = 1, pods }: Expected = {},
): Promise<void> {
  const all = {
    jobSets: (await client.list(KINDS.jobSet, { namespace })).items,
    jobs: (await client.list(KINDS.job, { namespace })).items,
    pods: (await client.list(KINDS.pod, { namespace })).items,
    trainJobs: (await client.list(KINDS.trainJob, { namespace })).items,
  };
  for (const name of names) {
    const job = all.trainJobs.find(({ metadata }) => metadata.name === name);
    const jobSets = childrenOf(all.jobSets, job?.metadata.uid);
    assert.deepEqual(jobSets.map(({ metadata }) => metadata.name), [name]);
    const made = childrenOf(all.jobs, jobSets[0]?.metadata.uid);
    assert.equal(made.length, jobs, `Jobs of ${name}`);
    if (pods === undefined) continue;
    for (const one of made) {
      const own = childrenOf(all.pods, one.metadata?.uid);
      assert.equal(own.length, pods, `pods of Job ${one.metadata?.name}`);
    }
  }
  const ours = new Set(names);
  const strangers = all.jobSets.filter(({ metadata }) => !ours.has(metadata.name ?? ""));
  const expected = all.trainJobs.filter(({ metadata }) => !ours.has(metadata.name ?? ""));
  assert.equal(strangers.length, expected.length, "JobSets that belong to no TrainJob");
}

/** A client that is killed is not waited for: its creation may be carried out, and is audited as this. */
const GATEWAY_TIMEOUT = 504;

/** Returns by namespace and name how often the manager made what succeeded; from the audit log. */
export async function creations(
  plane: ControlPlane,
  resource: string,
): Promise<Map<string, number>> {
  const made = new Map<string, number>();
  const cutOff = new Set<string>();
  for (const { verb, user, objectRef, responseStatus } of await plane.auditLog()) {
    if (verb !== "create" || user.username !== MANAGER_USER) continue;
    if (objectRef?.resource !== resource) continue;
    const key = `${objectRef.namespace}/${objectRef.name}`;
    if (responseStatus?.code === 201) made.set(key, (made.get(key) ?? 0) + 1);
    if (responseStatus?.code === GATEWAY_TIMEOUT) cutOff.add(key);
  }
  // If nothing else made it, a creation that was cut off did.
  for (const key of cutOff) made.set(key, made.get(key) ?? 1);
  return made;
}

/** Asserts that the manager created each JobSet and each Job, which are all there, once. */
export async function assertCreatedOnce(
  plane: ControlPlane,
  names: readonly string[],
  jobOf: (name: string) => string = (name) => `${name}-node-0`,
  namespace = "default",
): Promise<void> {
  const jobSets = await creations(plane, "jobsets");
  const jobs = await creations(plane, "jobs");
  for (const name of names) {
    assert.equal(jobSets.get(`${namespace}/${name}`), 1, `creations of JobSet ${name}`);
    const job = jobOf(name);
    assert.equal(jobs.get(`${namespace}/${job}`), 1, `creations of Job ${job}`);
  }
}
