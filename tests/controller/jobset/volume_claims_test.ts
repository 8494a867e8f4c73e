/** Tests of the volume claim policies of a JobSet: its claims, the volumes of its pods, and claims in the way. */
import { deepEqual, equal, match } from "node:assert/strict";
import type { JobSet, VolumeClaimPolicy } from "../../../crds/jobset.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS } from "../../../crds/names.ts";
import type { Container, PersistentVolumeClaim } from "../../../platform/kube/kubernetes.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { jobSet, replicated, World } from "./world.ts";

const SPEC = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };

type Retention = "Delete" | "Retain";

function policy(name: string, whenDeleted?: Retention): VolumeClaimPolicy {
  return {
    templates: [{ metadata: { name, labels: { l: "1" }, annotations: { n: "1" } }, spec: SPEC }],
    ...(whenDeleted && { retentionPolicy: { whenDeleted } }),
  };
}

/** A job whose container, or whose init container, mounts the volume. */
function mounting(name: string, volume: string, isInit = false) {
  const mounts = { volumeMounts: [{ name: volume, mountPath: "/v" }] };
  const container = (more: Partial<Container>) => ({ name: "main", image: "image", ...more });
  const spec = {
    containers: [container(isInit ? {} : mounts)],
    ...(isInit && { initContainers: [container({ name: "init", ...mounts })] }),
  };
  return replicated(name, { template: { spec: { template: { spec } } } });
}

/** JobSet `t`: `a` mounts the claim `v`, `b` does so in an init container, `c` does not. */
function claiming(whenDeleted?: Retention): JobSet {
  return jobSet({
    replicatedJobs: [mounting("a", "v"), mounting("b", "v", true), replicated("c")],
    volumeClaimPolicies: [policy("v", whenDeleted)],
  });
}

const claims = (world: World) => world.cluster.all(KINDS.persistentVolumeClaim);

/** A claim `v-t` of somebody, as the API server returns it. */
function claim(more: Partial<PersistentVolumeClaim> = {}) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    spec: { ...SPEC, volumeMode: "Filesystem", volumeName: "pv", storageClassName: "fast" },
    ...more,
    metadata: { name: "v-t", namespace: "default", ...more.metadata },
  };
}

const owner = (kind: string, name: string, apiVersion = "v1") => ({
  ownerReferences: [{ apiVersion, kind, name, uid: "other", controller: true }],
});

Deno.test("`createJobSetReconciler()` case 39: makes the claim, and its volume where it is mounted", async () => {
  const world = new World();
  await world.create(claiming());
  const [made, ...more] = claims(world);
  equal(more.length, 0);
  deepEqual(made?.spec, SPEC);
  deepEqual(made?.metadata?.name, "v-t");
  deepEqual(made?.metadata?.labels, { l: "1", "jobset.sigs.k8s.io/jobset-name": "t" });
  deepEqual(made?.metadata?.annotations, { n: "1" });
  deepEqual(
    made?.metadata?.ownerReferences?.map(({ name, controller }) => ({ name, controller })),
    [
      { name: "t", controller: true },
    ],
  );
  const volumes = (name: string) => world.job(name).spec?.template.spec?.volumes;
  const volume = { name: "v", persistentVolumeClaim: { claimName: "v-t" } };
  deepEqual(volumes("t-a-0"), [volume]);
  deepEqual(volumes("t-b-0"), [volume]);
  equal(volumes("t-c-0"), undefined);
  const writes = world.cluster.writes.map(({ verb, kind }) => `${verb} ${kind}`);
  equal(writes.indexOf("create PersistentVolumeClaim") < writes.indexOf("create Job"), true);
});

Deno.test("`createJobSetReconciler()` case 39: a claim that is retained has no owner", async () => {
  const world = new World();
  await world.create(claiming("Retain"));
  deepEqual(claims(world).map(({ metadata }) => metadata?.ownerReferences), [undefined]);
});

Deno.test("`createJobSetReconciler()` makes the claims of a suspended JobSet", async () => {
  const world = new World();
  const { spec, metadata } = claiming();
  await world.create(jobSet({ ...spec, suspend: true }, metadata));
  equal(claims(world).length, 1);
});

Deno.test("`createJobSetReconciler()` reads no claims while every Job is ready, and none that nobody names", async () => {
  const world = new World();
  const reads: string[] = [];
  world.cluster.faults.push(({ verb, kind, key }, phase) => {
    if (phase === "before" && kind === "PersistentVolumeClaim") reads.push(`${verb} ${key}`);
    return undefined;
  });
  await world.create(claiming());
  deepEqual(reads.slice(0, 2), ["get default/v-t", "create default/v-t"]);
  await world.ready("t-a-0", "t-b-0", "t-c-0");
  reads.length = 0;
  for (let pass = 0; pass < 3; pass++) {
    world.driver.enqueue("default/t");
    await world.settle();
  }
  deepEqual(reads, []);
  const plain = new World();
  plain.cluster.faults.push(({ kind }) =>
    kind === "PersistentVolumeClaim" ? new Error() : undefined
  );
  await plain.create(jobSet());
  deepEqual(plain.driver.errors, []);
});

Deno.test("`createJobSetReconciler()` makes a claim again that is gone when the JobSet restarts", async () => {
  const world = new World();
  const { spec, metadata } = claiming();
  await world.create(jobSet({ ...spec, failurePolicy: { maxRestarts: 1 } }, metadata));
  world.cluster.remove(KINDS.persistentVolumeClaim, "default/v-t");
  await world.fail("t-a-0");
  equal(claims(world).length, 1);
  deepEqual(world.attempts, { "1": 3 });
});

Deno.test("`createJobSetReconciler()` makes a claim again that was deleted during a pause, before pods start", async () => {
  const world = new World();
  const { spec, metadata } = claiming();
  await world.create(jobSet({ ...spec, suspend: true }, metadata));
  world.cluster.remove(KINDS.persistentVolumeClaim, "default/v-t");
  const before = world.cluster.writes.length;
  await world.edit({ suspend: false });
  const writes = world.cluster.writes.slice(before).map(({ verb, kind }) => `${verb} ${kind}`);
  deepEqual(writes.filter((write) => /Job$|Claim$/.test(write)), [
    "create PersistentVolumeClaim",
    "patch Job",
    "patch Job",
    "patch Job",
  ]);
  deepEqual(world.conditions, ["Suspended=False/ResumeJobs"]);
});

Deno.test("`createJobSetReconciler()` resumes no Job while its claim is being deleted, and says so once if that takes long", async () => {
  const world = new World();
  const { spec, metadata } = claiming();
  await world.create(jobSet({ ...spec, suspend: true }, metadata));
  world.cluster.edit(KINDS.persistentVolumeClaim, "default/v-t", {
    metadata: { finalizers: ["x/y"], deletionTimestamp: rfc3339(world.clock.now()) },
  });
  const { length } = world.events;
  await world.edit({ suspend: false });
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
  deepEqual(world.events.slice(length), []);
  equal(world.driver.requeues.get("default/t"), 1_000);
  for (let pass = 0; pass < 3; pass++) {
    await world.clock.advance(10_000);
    world.driver.enqueue("default/t");
    await world.settle();
  }
  deepEqual(world.events.slice(length), [
    "PVCBeingDeleted: PVC v-t is being deleted, and pods or a finalizer hold it back: the JobSet " +
    "starts its pods when it is gone",
  ]);
  world.cluster.edit(KINDS.persistentVolumeClaim, "default/v-t", {
    metadata: { finalizers: null },
  });
  world.cluster.remove(KINDS.persistentVolumeClaim, "default/v-t");
  world.driver.enqueue("default/t");
  await world.settle();
  deepEqual(world.conditions, ["Suspended=False/ResumeJobs"]);
  deepEqual(claims(world).map(({ metadata }) => metadata?.deletionTimestamp), [undefined]);
});

Deno.test("`createJobSetReconciler()` pauses a JobSet while its claim is being deleted", async () => {
  const world = new World();
  await world.create(claiming());
  world.cluster.edit(KINDS.persistentVolumeClaim, "default/v-t", {
    metadata: { finalizers: ["x/y"], deletionTimestamp: rfc3339(world.clock.now()) },
  });
  await world.edit({ suspend: true });
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
});

Deno.test("`createJobSetReconciler()` ends a JobSet although its claims cannot be read", async () => {
  const world = new World();
  await world.create(claiming());
  world.cluster.faults.push(({ kind }) =>
    kind === "PersistentVolumeClaim" ? new Error("no") : undefined
  );
  await world.complete("t-a-0", "t-b-0", "t-c-0");
  deepEqual(world.conditions, ["Completed=True/AllJobsCompleted"]);
});

Deno.test("`createJobSetReconciler()` leaves a JobSet alone whose claim lost its owner while it runs", async () => {
  const world = new World();
  await world.create(claiming());
  world.cluster.edit(KINDS.persistentVolumeClaim, "default/v-t", {
    metadata: { ownerReferences: null },
  });
  world.cluster.remove(KINDS.job, "default/t-c-0");
  await world.settle();
  deepEqual([world.jobs.length, world.conditions], [3, []]);
});

Deno.test("`createJobSetReconciler()` makes all Jobs again that a restart of the TrainJob deletes, with a claim that lost its owner", async () => {
  const world = new World();
  await world.create(claiming());
  world.cluster.edit(KINDS.persistentVolumeClaim, "default/v-t", {
    metadata: { ownerReferences: null },
  });
  world.cluster.edit(KINDS.jobSet, "default/t", {
    metadata: { annotations: { [ANNOTATIONS.restartCount]: "1" } },
    spec: { suspend: true },
  });
  await world.settle();
  for (const job of world.jobs) world.cluster.remove(KINDS.job, `default/${job}`);
  await world.settle();
  deepEqual(world.jobs.map((job) => world.job(job).spec?.suspend), [true, true, true]);
  deepEqual(world.conditions, ["Suspended=True/SuspendedJobs"]);
  await world.edit({ suspend: false });
  deepEqual(world.jobs.map((job) => world.job(job).spec?.suspend), [false, false, false]);
  equal(world.jobSet.status?.restarts, 0);
});

Deno.test("`createJobSetReconciler()` reads no claims of a JobSet that has ended", async () => {
  const world = new World();
  const { spec, metadata } = claiming();
  await world.create(jobSet({ ...spec, successPolicy: { operator: "Any" } }, metadata));
  await world.complete("t-a-0");
  deepEqual(world.jobs, ["t-a-0"]);
  world.cluster.faults.push(({ kind }) =>
    kind === "PersistentVolumeClaim" ? new Error() : undefined
  );
  world.driver.enqueue("default/t");
  await world.settle();
  deepEqual(world.driver.errors, []);
});

const USED: Record<string, { there: PersistentVolumeClaim; whenDeleted: Retention }> = {
  "retained, of an earlier JobSet": { there: claim(), whenDeleted: "Retain" },
  "retained, and expanded since": {
    there: claim({ spec: { ...SPEC, resources: { requests: { storage: "2048Mi" } } } }),
    whenDeleted: "Retain",
  },
};

for (const [what, { there, whenDeleted }] of Object.entries(USED)) {
  Deno.test(`\`createJobSetReconciler()\` uses a claim that is ${what}`, async () => {
    const world = new World();
    world.cluster.put(KINDS.persistentVolumeClaim, there);
    await world.create(claiming(whenDeleted));
    deepEqual(world.jobs, ["t-a-0", "t-b-0", "t-c-0"]);
    deepEqual(claims(world).map(({ spec }) => spec), [there.spec]);
    deepEqual(world.conditions, []);
  });
}

const IN_THE_WAY: Record<string, {
  there: PersistentVolumeClaim;
  whenDeleted?: Retention;
  message: RegExp;
}> = {
  "nobody's": {
    there: claim(),
    message:
      /^Invalid: spec.volumeClaimPolicies\[0\].retentionPolicy.whenDeleted: retentionPolicy must be retain when PVC exists: v-t/,
  },
  "somebody else's": {
    there: claim({ metadata: owner("StatefulSet", "db", "apps/v1") }),
    message: /templates\[0\].metadata.name: PVC v-t is controlled by StatefulSet db/,
  },
  "somebody else's, where claims are retained": {
    there: claim({ metadata: owner("StatefulSet", "db", "apps/v1") }),
    whenDeleted: "Retain",
    message: /PVC v-t is controlled by StatefulSet db/,
  },
  "retained, with other access": {
    there: claim({ spec: { ...SPEC, accessModes: ["ReadWriteMany"] } }),
    whenDeleted: "Retain",
    message:
      /volumeClaimPolicies\[0\].templates\[0\].spec: spec does not match existing PVC v-t in namespace default/,
  },
  "retained, and smaller": {
    there: claim({ spec: { ...SPEC, resources: { requests: { storage: "500Mi" } } } }),
    whenDeleted: "Retain",
    message: /spec does not match existing PVC v-t/,
  },
};

for (const [what, { there, whenDeleted, message }] of Object.entries(IN_THE_WAY)) {
  Deno.test(`\`createJobSetReconciler()\` refuses a JobSet with a claim in its way that is ${what}`, async () => {
    const world = new World();
    world.cluster.put(KINDS.persistentVolumeClaim, there);
    await world.create(claiming(whenDeleted));
    deepEqual(world.conditions, ["Refused=True/Invalid"]);
    match(world.events.join(), message);
    deepEqual(world.jobs, []);
    equal(world.cluster.all(KINDS.service).length, 0);
    equal(world.driver.requeues.get("default/t"), 15_000);
    // Nobody says when it is gone: the executor looks again.
    world.cluster.remove(KINDS.persistentVolumeClaim, "default/v-t");
    world.driver.enqueue("default/t");
    await world.settle();
    deepEqual(world.conditions, ["Refused=False/Accepted"]);
    equal(world.jobs.length, 3);
  });
}

const LEAVING: Record<string, PersistentVolumeClaim> = {
  "of an earlier JobSet of its name": claim({
    metadata: owner("JobSet", "t", "jobset.x-k8s.io/v1alpha2"),
  }),
  "that is being deleted": claim({
    metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["x/y"] },
  }),
};

for (const [what, there] of Object.entries(LEAVING)) {
  Deno.test(`\`createJobSetReconciler()\` waits for the end of a claim ${what}`, async () => {
    const world = new World();
    world.cluster.put(KINDS.persistentVolumeClaim, there);
    await world.create(claiming());
    deepEqual([world.jobs, world.conditions], [[], []]);
    equal(world.driver.requeues.get("default/t"), 1_000);
    await world.cluster.client().patch(KINDS.persistentVolumeClaim, {
      namespace: "default",
      name: "v-t",
    }, { type: "merge", body: { metadata: { finalizers: null } } });
    world.cluster.remove(KINDS.persistentVolumeClaim, "default/v-t");
    world.driver.enqueue("default/t");
    await world.settle();
    equal(world.jobs.length, 3);
  });
}

Deno.test("`createJobSetReconciler()` reports a claim that cannot be created, makes no Job, and tries again", async () => {
  const world = new World();
  let refusals = 1;
  world.cluster.faults.push(({ verb, kind }, phase) =>
    phase === "before" && verb === "create" && kind === "PersistentVolumeClaim" && refusals-- > 0
      ? new KubeError('persistentvolumeclaims "v-t" is forbidden: exceeded quota', {
        code: 403,
        reason: "Forbidden",
      })
      : undefined
  );
  world.cluster.put(KINDS.jobSet, claiming());
  await world.driver.pass();
  deepEqual(world.events, [
    'PVCCreationFailed: persistentvolumeclaims "v-t" is forbidden: exceeded quota',
  ]);
  deepEqual(world.jobs, []);
  await world.settle();
  equal(world.jobs.length, 3);
});

Deno.test("`createJobSetReconciler()` reports claims that it may not read, with the right that it lacks", async () => {
  const world = new World();
  const refusal = 'persistentvolumeclaims "v-t" is forbidden: User "m" cannot get resource ' +
    '"persistentvolumeclaims" in API group "" in the namespace "default"';
  const forbidden = new KubeError(refusal, { code: 403, reason: "Forbidden" });
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "get" && kind === "PersistentVolumeClaim" ? forbidden : undefined
  );
  world.cluster.put(KINDS.jobSet, claiming());
  await world.driver.pass();
  deepEqual(world.events, [
    `PVCCreationFailed: ${refusal}; bind the ClusterRole manager-volume-claims to the manager's ` +
    "service account",
  ]);
  deepEqual(world.jobs, []);
});

Deno.test("`createJobSetReconciler()` makes a claim once although the response to its creation is lost", async () => {
  const world = new World();
  let lost = true;
  world.cluster.faults.push(({ verb, kind }, phase) => {
    if (phase !== "after" || verb !== "create" || kind !== "PersistentVolumeClaim" || !lost) return;
    lost = false;
    return new Error("connection reset");
  });
  await world.create(claiming());
  equal(world.driver.errors.length, 1);
  equal(claims(world).length, 1);
  equal(world.jobs.length, 3);
});
