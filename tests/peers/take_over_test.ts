/** Milepost takes over from a Training Operator that has stopped: its jobs go on with the pods and Services they have. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { V1_KINDS, v1CrdName } from "../../crds/v1/kinds.ts";
import { V1_LABELS } from "../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { type ControlPlane, startControlPlane } from "../cluster/control_plane/control_plane.ts";
import { podStatus } from "../cluster/parity/pod_status.ts";
import { install, kubectl } from "../cluster/support/installation.ts";
import { run } from "../support/command.ts";
import { patiently } from "./support/patient.ts";
import { findPeer, type Peer, testWithPeer } from "./support/peer.ts";
import {
  installOperatorCrds,
  startTrainingOperator,
  TRAINING_OPERATOR,
} from "./training_operator/operator.ts";

/** A job of each kind that is handed over, and the pod of it that is lost. */
const JOBS = {
  PyTorchJob: {
    name: "torch",
    replicas: { Master: 1, Worker: 2 },
    lost: "torch-worker-1",
  },
  TFJob: { name: "tensor", replicas: { PS: 1, Worker: 2 }, lost: "tensor-ps-0" },
} as const;
type KindName = keyof typeof JOBS;
const NAMES: readonly KindName[] = ["PyTorchJob", "TFJob"];

const key = (name: string) => ({ namespace: "default", name });
const selected = (kind: KindName) => ({
  namespace: "default",
  labelSelector: `${V1_LABELS.jobName}=${JOBS[kind].name}`,
});

async function create({ client }: ControlPlane, kind: KindName): Promise<void> {
  const { specsKey, container } = V1_KINDS[kind];
  const template = { spec: { containers: [{ name: container, image: "none" }] } };
  const specs = Object.entries(JOBS[kind].replicas)
    .map(([type, replicas]) => [type, { replicas, restartPolicy: "OnFailure", template }]);
  const resource = V1_RESOURCES[kind];
  await client.create(
    resource,
    resource.parse({
      apiVersion: "kubeflow.org/v1",
      kind,
      metadata: key(JOBS[kind].name),
      spec: { runPolicy: { cleanPodPolicy: "None" }, [specsKey]: Object.fromEntries(specs) },
    }),
  );
}

async function podsOf({ client }: ControlPlane, kind: KindName) {
  const { items } = await client.list(KINDS.pod, selected(kind));
  return items.filter(({ metadata }) => metadata?.deletionTimestamp === undefined);
}

/** UIDs by the names of pods. */
async function uidsOf(plane: ControlPlane, kind: KindName): Promise<Record<string, string>> {
  const pods = await podsOf(plane, kind);
  return Object.fromEntries(
    pods.map(({ metadata }) => [metadata?.name ?? "", metadata?.uid ?? ""]).sort(),
  );
}

/** Services by name: which object each is, and what it selects and serves. */
async function servicesOf({ client }: ControlPlane, kind: KindName) {
  const { items } = await client.list(KINDS.service, selected(kind));
  return Object.fromEntries(
    items.map(({ metadata, spec }) => [metadata?.name ?? "", { uid: metadata?.uid, spec }]),
  );
}

/** Plays the kubelet: the pods are in that phase. */
async function report(
  plane: ControlPlane,
  kind: KindName,
  phase: "Running" | "Succeeded",
): Promise<void> {
  for (const { metadata: { name = "" } = {}, spec } of await podsOf(plane, kind)) {
    const body = { status: podStatus({ phase }, spec?.containers) };
    const patch = { type: "merge", body } as const;
    await plane.client.patch(KINDS.pod, key(name), patch, { subresource: "status" });
  }
}

const statusOf = async ({ client }: ControlPlane, kind: KindName) =>
  (await client.get(V1_RESOURCES[kind], key(JOBS[kind].name))).status;

/** Waits until a condition of the job is True. */
async function jobIs(plane: ControlPlane, kind: KindName, type: string): Promise<void> {
  await patiently(`${kind} is ${type}`, async () => {
    const status = await statusOf(plane, kind);
    return status?.conditions?.some((one) => one.type === type && one.status === "True") ?? false;
  });
}

async function conditionsOf(plane: ControlPlane, kind: KindName) {
  return (await statusOf(plane, kind))?.conditions ?? [];
}

/** What a job has while it runs, which the hand-over may not change. */
async function stateOf(plane: ControlPlane, kind: KindName) {
  return {
    pods: await uidsOf(plane, kind),
    services: await servicesOf(plane, kind),
    startTime: (await statusOf(plane, kind))?.startTime,
    conditions: await conditionsOf(plane, kind),
  };
}

/** The Training Operator has made its jobs, and they run. */
async function jobsRun(plane: ControlPlane): Promise<void> {
  for (const kind of NAMES) {
    await create(plane, kind);
    await patiently(`the pods of the ${kind}`, async () => {
      const [pods, services] = [await podsOf(plane, kind), await servicesOf(plane, kind)];
      return pods.length === 3 && Object.keys(services).length === 3;
    });
    await report(plane, kind, "Running");
    await jobIs(plane, kind, "Running");
  }
}

/** Deletes the webhook that nobody answers any more, as docs/guides/v1-jobs.md says. */
async function deleteWebhook(plane: ControlPlane): Promise<void> {
  const name = "validator.training-operator.kubeflow.org";
  await kubectl(plane, ["delete", "validatingwebhookconfiguration", name]);
}

/** Adds progress to the operator's definitions, with the command of the guide. */
async function patchDefinitions(plane: ControlPlane): Promise<void> {
  const bin = `${plane.folder}/bin`;
  await Deno.mkdir(bin);
  if (plane.programs.kubectl) await Deno.symlink(plane.programs.kubectl, `${bin}/kubectl`);
  // The exit code is that of a kind which the cluster need not have.
  await run("sh", {
    args: ["-c", "deno task crds --v1 --patch | sh"],
    cwd: new URL("../../", import.meta.url).pathname,
    env: { KUBECONFIG: plane.kubeconfig, PATH: `${bin}:${Deno.env.get("PATH")}` },
    timeoutMs: 120_000,
  });
  for (const kind of NAMES) {
    const definition = await kubectl(plane, ["get", "crd", v1CrdName(V1_KINDS[kind]), "-o=json"]);
    assert.match(definition, /"trainerStatus"/);
  }
}

/** Waits until the manager asks to see new jobs of both kinds: then it runs them. */
async function areRun(plane: ControlPlane): Promise<void> {
  for (const kind of NAMES) {
    await patiently(`${kind} is run by Milepost`, async () => {
      const text = await kubectl(plane, ["get", "validatingwebhookconfigurations", "-o=json"]);
      return text.includes(`"${V1_KINDS[kind].plural}"`);
    });
  }
}

/** The pod that is lost comes back; all others, and the Services, are what they were. */
async function lostPodComesBack(plane: ControlPlane, kind: KindName): Promise<void> {
  const before = await stateOf(plane, kind);
  const { lost } = JOBS[kind];
  await plane.client.delete(KINDS.pod, key(lost), { gracePeriodSeconds: 0 });
  await patiently(`${lost} is made again`, async () => {
    const { [lost]: uid } = await uidsOf(plane, kind);
    return uid !== undefined && uid !== before.pods[lost];
  });
  await report(plane, kind, "Running");
  const { [lost]: _new, ...others } = await uidsOf(plane, kind);
  const { [lost]: _old, ...former } = before.pods;
  assert.deepEqual(others, former);
  assert.deepEqual(await servicesOf(plane, kind), before.services);
}

async function jobSucceeds(plane: ControlPlane, kind: KindName): Promise<void> {
  const created = (await conditionsOf(plane, kind)).find(({ type }) => type === "Created");
  await report(plane, kind, "Succeeded");
  await jobIs(plane, kind, "Succeeded");
  const conditions = await conditionsOf(plane, kind);
  const told = Object.fromEntries(conditions.map(({ type, status }) => [type, status]));
  assert.deepEqual(told, { Created: "True", Running: "False", Succeeded: "True" });
  assert.deepEqual(conditions.find(({ type }) => type === "Created"), created);
}

async function takeOver(peer: Peer): Promise<void> {
  await using cleanup = new AsyncDisposableStack();
  const plane = await startControlPlane({
    scheduler: false,
    beforeControllers: (serving) => installOperatorCrds(serving, peer),
  });
  cleanup.defer(() => plane.stop());
  const operator = await startTrainingOperator(plane, peer);
  cleanup.defer(() => operator.stop());
  await jobsRun(plane);
  const installation = await install(plane);
  cleanup.defer(() => installation.stop());
  await operator.stop();
  const [torch, tensor] = [await stateOf(plane, "PyTorchJob"), await stateOf(plane, "TFJob")];

  await deleteWebhook(plane);
  await installation.startManager({ flags: { v1Jobs: NAMES.join() } });
  await areRun(plane);
  await patchDefinitions(plane);
  for (const kind of NAMES) await lostPodComesBack(plane, kind);

  for (const [kind, before] of [["PyTorchJob", torch], ["TFJob", tensor]] as const) {
    await jobIs(plane, kind, "Running");
    const { [JOBS[kind].lost]: _new, ...others } = await uidsOf(plane, kind);
    const { [JOBS[kind].lost]: _old, ...former } = before.pods;
    assert.deepEqual(others, former);
    const { services, startTime, conditions } = await stateOf(plane, kind);
    assert.deepEqual(services, before.services);
    assert.equal(startTime, before.startTime);
    assert.deepEqual(conditions.map(({ type }) => type), before.conditions.map(({ type }) => type));
    await jobSucceeds(plane, kind);
  }
  const { items: events } = await plane.client.list(KINDS.event, { namespace: "default" });
  const failed = events.filter(({ reason }) => reason?.startsWith("Failed"));
  assert.deepEqual(failed.map(({ reason, message }) => `${reason} ${message}`), []);
}

const found = await findPeer(TRAINING_OPERATOR);
testWithPeer(
  found,
  `jobs of the Training Operator ${found.version} go on under Milepost`,
  takeOver,
);
