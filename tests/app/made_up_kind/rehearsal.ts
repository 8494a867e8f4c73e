/** A made-up kind of job: its descriptor, its CRD, and objects of it. */
import { z } from "zod";
import {
  type AnyJob,
  defineJobKind,
  type JobKind,
  jobRefOf,
  jobSchema,
} from "../../../crds/job_kind.ts";
import { createJobKinds, type JobKinds, TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import type { Kind, OwnerRef } from "../../../platform/kube/resource.ts";

/** The user that runs rehearsals, besides the manager. */
export const OPERATOR = "system:serviceaccount:theatre:operator";
const ROLE = "example.com/role";

function isTrue({ status }: AnyJob, type: string): boolean {
  return status?.conditions?.some((it) => it.type === type && it.status === "True") ?? false;
}

/**
 * Rehearsals own their pods, or Jobs that do; their state is in conditions of other names, and an
 * annotation shows their progress.
 */
export const REHEARSAL: JobKind = defineJobKind({
  group: "example.com",
  version: "v1",
  kind: "Rehearsal",
  plural: "rehearsals",
  namespaced: true,
  parse: (value) => jobSchema.parse(value),
  ownerPaths: [
    { through: [], nameFits: (pod, job) => pod.startsWith(`${job}-`) },
    {
      through: [{ owner: KINDS.job, nameFits: (pod, job) => pod.startsWith(`${job}-`) }],
      nameFits: (child, job) => child === `${job}-batch`,
    },
  ],
  controllers: [OPERATOR],
  podLabels: {
    jobName: "example.com/job-name",
    kind: { key: "example.com/job-kind", value: "Rehearsal" },
    first: { [ROLE]: "lead" },
  },
  caConfigMap: { nameOf: (job) => `${job}-trust`, madeByManager: false },
  progress: { at: "annotation", key: "example.com/progress" },
  conditions: {
    ends: [{ type: "Broken", end: "Failed" }, { type: "Finished", end: "Complete" }],
    earlyStopped: "Cut",
    suspended: "Paused",
  },
  hasBegun: (job) => isTrue(job, "Playing"),
  stop: [
    { type: "Cut", status: "True", reason: "RulesMet" },
    { type: "Finished", status: "True", reason: "RehearsalCut" },
    { type: "Playing", status: "False", reason: "RehearsalCut" },
  ],
  katib: { primaryPodLabels: { [ROLE]: "lead" }, success: "Finished", failure: "Broken" },
});

/** TrainJobs, and rehearsals beside them. */
export const WITH_REHEARSALS: JobKinds = createJobKinds(TRAINJOB, REHEARSAL);

/** CustomResourceDefinitions, whatever is in them. */
const CRD: Kind<{ metadata?: { name?: string } }> = {
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
  parse: (value) => z.looseObject({}).parse(value),
};

/** The definition of rehearsals, which says nothing of their fields. */
export async function installRehearsals(client: KubeClient): Promise<void> {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: REHEARSAL.id },
    spec: {
      group: REHEARSAL.group,
      names: {
        kind: REHEARSAL.kind,
        listKind: "RehearsalList",
        plural: REHEARSAL.plural,
        singular: "rehearsal",
      },
      scope: "Namespaced",
      versions: [{
        name: REHEARSAL.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
        subresources: { status: {} },
      }],
    },
  };
  await client.create(CRD, definition);
}

/** Creates a rehearsal in the namespace default, already playing. */
export async function createRehearsal(
  client: KubeClient,
  name: string,
  metadata: { annotations?: Record<string, string>; ownerReferences?: OwnerRef[] } = {},
): Promise<AnyJob> {
  const key = { namespace: "default", name };
  await client.create(REHEARSAL, {
    apiVersion: REHEARSAL.apiVersion,
    kind: REHEARSAL.kind,
    metadata: { ...key, ...metadata },
    spec: {},
  });
  return await setConditions(client, name, { Playing: "True" });
}

/** Sets the conditions of a rehearsal, as its operator would. */
export function setConditions(
  client: KubeClient,
  name: string,
  conditions: Readonly<Record<string, string>>,
): Promise<AnyJob> {
  const lastTransitionTime = new Date().toISOString();
  const list = Object.entries(conditions).map(([type, status]) => ({
    type,
    status,
    reason: "Operator",
    message: "",
    lastTransitionTime,
  }));
  const patch = { type: "merge", body: { status: { conditions: list } } } as const;
  return client.patch(REHEARSAL, { namespace: "default", name }, patch, { subresource: "status" });
}

/** The reference by which a rehearsal controls its children. */
export function controlledBy(job: AnyJob): OwnerRef {
  const { name, uid } = jobRefOf(REHEARSAL, job);
  return { apiVersion: REHEARSAL.apiVersion, kind: REHEARSAL.kind, name, uid, controller: true };
}

/** Creates a pod with the labels of a rehearsal's pods. */
export function createPod(
  client: KubeClient,
  { name, job, role = "lead", owner }: {
    readonly name: string;
    readonly job: string;
    readonly role?: string;
    readonly owner?: OwnerRef | undefined;
  },
): Promise<Pod> {
  const { jobName, kind } = REHEARSAL.podLabels;
  return client.create(
    KINDS.pod,
    KINDS.pod.parse({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace: "default",
        labels: { [jobName]: job, ...(kind && { [kind.key]: kind.value }), [ROLE]: role },
        ...(owner && { ownerReferences: [owner] }),
        // The garbage collector removes pods of owners that are not there.
        finalizers: ["example.com/stay"],
      },
      spec: { containers: [{ name: "main", image: "none", command: ["true"] }] },
    }),
  );
}
