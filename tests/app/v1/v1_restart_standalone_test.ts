/** Test of a restart of a v1 job in `standalone`: its pods end, and come again together. */
import assert from "node:assert/strict";
import { jobRestartSchema } from "../../../crds/job_restart.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { ANNOTATIONS, EVENT_REASONS } from "../../../crds/names.ts";
import { V1_LABELS } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { replicas } from "../../controller/jobs/job_world.ts";
import { withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const KEY = { namespace: "default", name: "hangs" };
const KIND = V1_RESOURCES.JAXJob;
/** Ends a second after SIGTERM, and then well. */
const SCRIPT = 'trap "sleep 1; exit 0" TERM; while :; do sleep 0.1; done';

Deno.test("a JAXJob that is restarted in standalone goes on, and its pods of before and after never meet", () =>
  withStandalone(async ({ client }) => {
    const { template: { spec } } = replicas("jax");
    const containers = spec.containers.map((it) => ({ ...it, command: ["sh", "-c", SCRIPT] }));
    const template = { spec: { containers } };
    const object = {
      apiVersion: "kubeflow.org/v1",
      kind: "JAXJob",
      metadata: KEY,
      spec: {
        runPolicy: { backoffLimit: 0 },
        jaxReplicaSpecs: { Worker: { replicas: 2, restartPolicy: "Never", template } },
      },
    };
    await client.create(KIND, KIND.parse(object));
    const labelSelector = `${V1_LABELS.jobName}=${KEY.name}`;
    const selection = { namespace: KEY.namespace, labelSelector };
    /** The counts of the pods that are there, which are one. */
    const counts = async () => {
      const { items } = await client.list(KINDS.pod, selection);
      const all = items.map(({ metadata, status }) => ({
        count: metadata?.annotations?.[ANNOTATIONS.restartCount],
        runs: status?.phase === "Running",
      }));
      assert.ok(new Set(all.map(({ count }) => count)).size <= 1, JSON.stringify(all));
      return all;
    };
    const isRunning = async (count?: string) => {
      const all = await counts();
      return all.length === 2 && all.every((it) => it.runs && it.count === count);
    };
    await until("both pods run", () => isRunning());
    const before = await until("the job runs", async () => {
      const { status } = await client.get(KIND, KEY);
      return status?.replicaStatuses?.Worker?.active === 2 ? status : undefined;
    });
    const time = "2026-01-01T00:00:00Z";
    const restart = jobRestartSchema.parse({ count: 1, reason: "Asked", message: "", time });
    const body = { status: { restart } };
    await client.patch(KIND, KEY, { type: "merge", body }, { subresource: "status" });
    await until("both pods run again", () => isRunning("1"));
    const after = await until("the restart is over", async () => {
      const { status } = await client.get(KIND, KEY);
      return status?.restart?.endTime && status.replicaStatuses?.Worker?.active === 2
        ? status
        : undefined;
    });
    assert.deepEqual(after.conditions, before.conditions);
    assert.equal(after.startTime, before.startTime);
    await until("it is told", async () => {
      const { items } = await client.list(KINDS.event, { namespace: KEY.namespace });
      return items.some(({ reason }) => reason === EVENT_REASONS.restarted);
    });
  }));
