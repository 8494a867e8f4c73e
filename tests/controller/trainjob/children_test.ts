/** Tests of children beside the JobSet, by a made-up policy with a child of every mode. */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from "node:assert/strict";
import type { Child } from "../../../controller/runtime/child.ts";
import { trainerCount } from "../../../controller/runtime/node_counts.ts";
import { plain } from "../../../controller/runtime/policies/plain.ts";
import type { Policies } from "../../../controller/runtime/policy.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { restartOf } from "../../../crds/job_state.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { runtime, trainJob } from "../builders.ts";
import { KEY, World } from "./world.ts";

const KEY_OF_A_JOB = "c2VjcmV0";
const HOSTS = "ml/tj-hosts";
const GROUP = "ml/tj-group";
const SECRET = "ml/tj-key";

/** A policy `rings` and a gang `troupe`, with the number of keys that were made. */
function madeUp() {
  const made = { keys: 0 };
  const policies: Policies = {
    plain,
    ml: {
      rings: {
        validate: ({ trainJob: { spec } }) =>
          spec.trainer?.numNodes === 1
            ? [{ field: "spec.trainer.numNodes", message: "must be at least 2 for rings" }]
            : [],
        apply: (draft) => void (draft.metadata.annotations["acme.io/rings"] = "yes"),
        children: (draft): Child[] => {
          const { name } = draft.trainJob.metadata;
          const data = { hosts: `${trainerCount(draft)} hosts` };
          return [
            {
              kind: KINDS.secret,
              name: `${name}-key`,
              mode: "once",
              make: () => {
                made.keys++;
                return Promise.resolve({ immutable: true, data: { key: KEY_OF_A_JOB } });
              },
            },
            { kind: KINDS.configMap, name: `${name}-hosts`, mode: "equal", content: { data } },
          ];
        },
      },
    },
    gangs: {
      troupe: {
        children: ({ trainJob: { metadata, spec } }) => {
          const gates = spec.runtimePatches?.length ?? 0;
          const data = gates > 0 ? { gates: String(gates) } : { gates: null };
          const content = { data: { ...data, members: "all" } };
          const name = `${metadata.name}-group`;
          return [{ kind: KINDS.configMap, name, mode: "while-suspended", content }];
        },
      },
    },
  };
  return { policies, made };
}

/** The runtime of the made-up policy; the schema has no such fields. */
function ringsRuntime() {
  return runtime({
    mlPolicy: { numNodes: 2, rings: {} },
    podGroupPolicy: { troupe: {} },
  });
}

function begin(spec: Parameters<typeof trainJob>[0] = {}) {
  const { policies, made } = madeUp();
  const world = new World({ policies });
  world.cluster.put(KINDS.clusterTrainingRuntime, ringsRuntime());
  world.cluster.put(KINDS.trainJob, trainJob(spec));
  return { world, made };
}

const patches = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ manager: `acme.io/${index}` }));

Deno.test("a policy's children are created before the JobSet, controlled by the TrainJob", async () => {
  const { world, made } = begin();
  await world.settle();
  const creations = world.cluster.writes.filter(({ verb }) => verb === "create");
  deepEqual(creations.map(({ kind, key }) => `${kind} ${key}`), [
    "ConfigMap ml/tj-runtime-snapshot",
    `Secret ${SECRET}`,
    `ConfigMap ${HOSTS}`,
    `ConfigMap ${GROUP}`,
    `JobSet ${KEY}`,
  ]);
  deepEqual(world.cluster.peek(KINDS.secret, SECRET)?.data, { key: KEY_OF_A_JOB });
  for (const [kind, key] of [[KINDS.secret, SECRET], [KINDS.configMap, HOSTS]] as const) {
    const [owner] = world.cluster.peek<{ metadata?: { ownerReferences?: { uid: string }[] } }>(
      kind,
      key,
    )?.metadata?.ownerReferences ?? [];
    equal(owner?.uid, "uid-of-tj");
  }
  equal(world.jobSet?.metadata.annotations?.["acme.io/rings"], "yes");
  equal(made.keys, 1);
});

Deno.test("a child that is kept equal is restored and corrected while the job runs", async () => {
  const { world } = begin();
  await world.settle();
  world.cluster.edit(KINDS.configMap, HOSTS, { data: { hosts: "none", theirs: "stays" } });
  await world.settle();
  const data = { hosts: "2 hosts", theirs: "stays" };
  deepEqual(world.cluster.peek(KINDS.configMap, HOSTS)?.data, data);
  world.cluster.remove(KINDS.configMap, HOSTS);
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.configMap, HOSTS)?.data, { hosts: "2 hosts" });
});

Deno.test("a child that is kept while suspended follows until the JobSet runs, and is created again", async () => {
  const { world } = begin({ suspend: true, runtimePatches: patches(1) });
  await world.settle();
  const data = () => world.cluster.peek(KINDS.configMap, GROUP)?.data;
  deepEqual(data(), { gates: "1", members: "all" });
  world.edit({ runtimePatches: patches(2) });
  await world.settle();
  deepEqual(data(), { gates: "2", members: "all" });
  world.edit({ runtimePatches: null });
  await world.settle();
  deepEqual(data(), { members: "all" });
  world.report({ conditions: [world.condition("Suspended")] });
  world.edit({ suspend: false });
  await world.settle();
  world.cluster.edit(KINDS.configMap, GROUP, { data: { members: "few" } });
  await world.settle();
  deepEqual(data(), { members: "few" });
  world.cluster.remove(KINDS.configMap, GROUP);
  await world.settle();
  equal(data()?.members, "all");
});

Deno.test("a child that is created once is never compared, read back or logged", async () => {
  const { world, made } = begin({ suspend: true });
  await world.settle();
  world.cluster.edit(KINDS.secret, SECRET, { data: { key: "b3RoZXI=" } });
  world.edit({ runtimePatches: patches(1) });
  await world.settle();
  deepEqual(world.cluster.peek(KINDS.secret, SECRET)?.data, { key: "b3RoZXI=" });
  equal(made.keys, 1);
  const writes = world.cluster.writes.filter(({ kind }) => kind === "Secret");
  deepEqual(writes.map(({ verb }) => verb), ["create"]);
  world.report({ conditions: [world.condition("Suspended")] });
  world.edit({ suspend: false });
  await world.settle();
  const reads = () => world.cluster.calls.filter(({ kind }) => kind === "Secret").length;
  const before = reads();
  world.cluster.remove(KINDS.configMap, HOSTS);
  await world.settle();
  equal(reads(), before, "a running job's Secret is not even looked for");
});

Deno.test("a refusal of a child that is created once has only its name and the reason", async () => {
  const { world } = begin();
  world.cluster.admission.push((_verb, kind, object) =>
    kind === "Secret"
      ? new KubeError(`denied: ${JSON.stringify(object)}`, { code: 403, reason: "Forbidden" })
      : undefined
  );
  await rejects(world.reconcile(), (error: Error) => {
    doesNotMatch(`${error.message} ${String(error.cause)}`, new RegExp(KEY_OF_A_JOB));
    return true;
  });
  const text = `creating Secret "tj-key" was refused: 403 Forbidden`;
  deepEqual(world.conditions, [`ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`]);
  doesNotMatch(JSON.stringify(world.events), new RegExp(KEY_OF_A_JOB));
  equal(world.jobSet, undefined);
  world.cluster.admission.length = 0;
  await world.settle();
  deepEqual(world.conditions, []);
  ok(world.jobSet);
});

const FOREIGN = {
  "of another kind": {
    owner: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid: "w", controller: true }],
    want: 'is owned by Deployment "web"',
  },
  "of nobody": { owner: [], want: "is owned by no controller" },
  "of a TrainJob that only owns and does not control": {
    owner: [{
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      name: "tj",
      uid: "uid-of-tj",
    }],
    want: "is owned by no controller",
  },
  "of a TrainJob of the same name": {
    owner: [{
      apiVersion: "trainer.kubeflow.org/v1alpha1",
      kind: "TrainJob",
      name: "tj",
      uid: "uid-of-another",
      controller: true,
    }],
    want: 'is owned by TrainJob "tj" with another UID, uid-of-another',
  },
};

for (const [whose, { owner, want }] of Object.entries(FOREIGN)) {
  for (
    const [kind, name, suspend] of [
      [KINDS.secret, "tj-key", false],
      [KINDS.configMap, "tj-hosts", false],
      [KINDS.configMap, "tj-group", true],
    ] as const
  ) {
    Deno.test(`a ${kind.kind} ${name} ${whose} is refused with its owner, and nothing is made`, async () => {
      const { world, made } = begin({ suspend });
      const object = {
        metadata: { name, namespace: "ml", ownerReferences: owner },
        data: { theirs: "1" },
      };
      world.cluster.put<typeof object>({ ...kind, parse: () => object }, object);
      await world.settle();
      const text = `${kind.kind} "${name}" exists and ${want}; delete it, or give the TrainJob ` +
        "another name";
      const told = `ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`;
      ok(world.conditions.includes(told), world.conditions.join());
      deepEqual(world.cluster.writes.filter(({ verb }) => verb === "create"), []);
      equal(made.keys, 0);
      world.cluster.remove(kind, `ml/${name}`);
      await world.settle();
      ok(world.jobSet);
      doesNotMatch(world.conditions.join(), /ResourcesCreated/);
    });
  }
}

Deno.test("a running job whose child was taken over gets an event, continues and can be suspended", async () => {
  const { world } = begin();
  await world.settle();
  world.cluster.edit(KINDS.configMap, HOSTS, { metadata: { ownerReferences: null } });
  await world.settle();
  match(world.conditions.join(), /ConfigMap "tj-hosts" exists and is owned by no controller/);
  equal(world.jobSet?.spec?.suspend, false);
  world.edit({ suspend: true });
  await world.settle();
  equal(world.jobSet?.spec?.suspend, true);
});

const REFUSED = new KubeError("denied", { code: 403, reason: "Forbidden" });
const IN_THE_WAY: Record<string, [(world: World) => void, RegExp]> = {
  "that was taken over": [
    (world) => world.cluster.edit(KINDS.configMap, HOSTS, { metadata: { ownerReferences: null } }),
    /ConfigMap "tj-hosts" exists and is owned by no controller/,
  ],
  "whose change is refused": [
    (world) => {
      world.cluster.edit(KINDS.configMap, HOSTS, { data: { hosts: "none" } });
      world.cluster.faults.push(({ verb, key }) =>
        verb === "patch" && key === HOSTS ? REFUSED : undefined
      );
    },
    /denied/,
  ],
};

for (const [what, [hinder, want]] of Object.entries(IN_THE_WAY)) {
  Deno.test(`a child ${what} does not hold a restart back`, async () => {
    const { world } = begin();
    await world.settle();
    world.report({ conditions: [world.condition("Suspended", "False")] });
    hinder(world);
    const restart = { count: 1, reason: "Asked", message: "m", time: rfc3339(world.now) };
    world.cluster.edit(KINDS.trainJob, KEY, { status: { restart } });
    await world.pass();
    equal(world.jobSet?.spec?.suspend, true);
    world.report({ conditions: [world.condition("Suspended")] });
    await world.pass();
    equal(world.jobSet?.spec?.suspend, false);
    await world.pass();
    equal(restartOf(world.trainJob)?.endTime, rfc3339(world.now));
    match(world.conditions.join(), want);
  });
}

Deno.test("a policy's problems keep its children from being made", async () => {
  const { world, made } = begin({ trainer: { numNodes: 1 } });
  await world.settle();
  match(world.conditions.join(), /spec\.trainer\.numNodes: must be at least 2 for rings/);
  equal(made.keys, 0);
  deepEqual(world.cluster.writes.filter(({ verb }) => verb === "create"), []);
});

Deno.test("a policy without a row in the table is refused by the name of its field", async () => {
  const world = new World();
  world.cluster.put(KINDS.clusterTrainingRuntime, ringsRuntime());
  world.cluster.put(KINDS.trainJob, trainJob());
  await world.settle();
  match(
    world.conditions.join(),
    /unsupported runtime: spec\.mlPolicy\.rings: ML policy rings is not supported yet; spec\.podGroupPolicy\.troupe: gang scheduling by troupe is not supported yet/,
  );
});

const GRANT =
  "bind the ClusterRole kubeflow-trainer-controller-manager-policy-secrets to the manager's service account " +
  "(Helm: policySecrets=true)";

Deno.test("a child that the manager may not read is named with the right to grant, and nothing is made", async () => {
  const { world, made } = begin();
  const refused = new KubeError(`secrets "tj-key" is forbidden: User "m" cannot get resource`, {
    code: 403,
    reason: "Forbidden",
  });
  world.cluster.faults.push(({ verb, kind }) =>
    verb === "get" && kind === "Secret" ? refused : undefined
  );
  const { requeueAfterMs } = await world.reconcile() ?? {};
  equal(requeueAfterMs, 60_000, "no role or binding is watched");
  await world.settle();
  const text = `reading Secret "tj-key" is forbidden: ${GRANT}`;
  deepEqual(world.conditions, [`ResourcesCreated=False/TrainJobResourcesCreationFailed: ${text}`]);
  deepEqual(world.cluster.writes.filter(({ verb }) => verb === "create"), []);
  equal(made.keys, 0);
  world.cluster.faults.length = 0;
  await world.settle();
  ok(world.jobSet);
  deepEqual(world.conditions, []);
});

Deno.test("a right that the manager lacks is named if a child cannot be created", async () => {
  const { world } = begin();
  const text =
    'secrets is forbidden: User "m" cannot create resource "secrets" in API group "" in the namespace "ml"';
  world.cluster.admission.push((_verb, kind) =>
    kind === "Secret" ? new KubeError(text, { code: 403, reason: "Forbidden" }) : undefined
  );
  await rejects(world.reconcile());
  deepEqual(world.conditions, [
    "ResourcesCreated=False/TrainJobResourcesCreationFailed: " +
    `creating Secret "tj-key" was refused: 403 Forbidden; ${GRANT}`,
  ]);
  equal(world.jobSet, undefined);
});
