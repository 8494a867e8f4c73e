/** Conformance of nodes: registration, status, leases, pods of the kubelet. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { object, pod } from "./objects.ts";

const NODES = "/api/v1/nodes";
const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const READY = { type: "Ready", status: "True", reason: "KubeletReady" };

export const nodes: Case[] = [
  {
    name: "a node is registered, and tells its status through the subresource",
    async run(api) {
      const body = object("v1", "Node", api.id, { status: { capacity: { pods: "5" } } });
      await api.createCluster(NODES, body);
      const path = `${NODES}/${api.id}/status`;
      const { status } = await api.strategic(path, { status: { conditions: [READY] } });
      assert.equal(status.conditions.find(({ type }: Answer) => type === "Ready").status, "True");
      const next = await api.strategic(path, {
        status: { conditions: [{ type: "Ready", status: "False", reason: "Gone" }] },
      });
      assert.equal(next.status.conditions.filter(({ type }: Answer) => type === "Ready").length, 1);
    },
  },
  {
    name: "labels and taints of a node are its own to patch",
    async run(api) {
      await api.createCluster(NODES, object("v1", "Node", api.id));
      const taint = { key: "example.com/a", effect: "NoSchedule" };
      const { metadata, spec } = await api.strategic(`${NODES}/${api.id}`, {
        metadata: { labels: { x: "y" } },
        spec: { taints: [taint], unschedulable: true },
      });
      assert.equal(metadata.labels.x, "y");
      assert.ok(spec.taints.some(({ key }: Answer) => key === taint.key));
      assert.equal(spec.unschedulable, true);
    },
  },
  {
    name: "the table of nodes tells who is ready and who takes no pods",
    async run(api) {
      await api.createCluster(NODES, object("v1", "Node", api.id));
      const path = `${NODES}/${api.id}`;
      await api.strategic(`${path}/status`, { status: { conditions: [READY] } });
      const cell = async () => {
        const { columnDefinitions, rows } = await api.get(path, { accept: TABLE });
        return rows[0].cells[columnDefinitions.findIndex(({ name }: Answer) => name === "Status")];
      };
      assert.equal(await cell(), "Ready");
      await api.merge(path, { spec: { unschedulable: true } });
      assert.equal(await cell(), "Ready,SchedulingDisabled");
    },
  },
  {
    name: "pods of a node are listed and watched by their field, over all namespaces",
    async run(api) {
      const field = `fieldSelector=spec.nodeName=${api.id}`;
      const since = (await api.get(`/api/v1/pods?${field}`)).metadata.resourceVersion;
      await api.create("pods", pod("a", { nodeName: api.id }));
      await api.create("pods", pod("b"));
      const { items } = await api.get(`/api/v1/pods?${field}`);
      assert.deepEqual(items.map(({ metadata }: Answer) => metadata.name), ["a"]);
      const query = `watch=true&${field}&resourceVersion=${since}`;
      const [line] = await api.watch(`/api/v1/pods?${query}`, 1);
      assert.equal(line?.object.metadata.name, "a");
      await api.remove("pods/a", { gracePeriodSeconds: 0 });
    },
  },
  {
    name: "a pod that is bound shows to a watch of its node as added",
    async run(api) {
      await api.create("pods", pod("a"));
      const field = `fieldSelector=spec.nodeName=${api.id}`;
      const since = (await api.get(`/api/v1/pods?${field}`)).metadata.resourceVersion;
      const query = `watch=true&${field}&resourceVersion=${since}`;
      const [line] = await api.watch(
        `/api/v1/pods?${query}`,
        1,
        () =>
          api.create("pods/a/binding", {
            ...object("v1", "Binding", "a"),
            target: { apiVersion: "v1", kind: "Node", name: api.id },
          }),
      );
      assert.equal(line?.type, "ADDED");
      await api.remove("pods/a", { gracePeriodSeconds: 0 });
    },
  },
  {
    name: "a status of containers is kept as it is written",
    async run(api) {
      await api.create("pods", pod("a", { nodeName: api.id }));
      const containerStatuses = [{
        name: "c",
        ready: false,
        restartCount: 2,
        started: false,
        image: "example.com/i:1",
        imageID: "",
        state: {
          terminated: {
            exitCode: 3,
            reason: "Error",
            startedAt: "2025-01-01T00:00:00Z",
            finishedAt: "2025-01-01T00:00:01Z",
          },
        },
        lastState: {},
      }];
      const { status } = await api.merge("pods/a/status", {
        status: { phase: "Failed", containerStatuses },
      });
      assert.deepEqual(status.containerStatuses, containerStatuses);
      const { columnDefinitions, rows } = await api.get("pods/a", { accept: TABLE });
      const at = (name: string) =>
        rows[0].cells[columnDefinitions.findIndex((one: Answer) => one.name === name)];
      assert.equal(at("Status"), "Error");
      assert.match(at("Restarts"), /^2/);
    },
  },
  {
    name: "a mirror of the node's heartbeat is a Lease that is renewed by its version",
    async run(api) {
      const path = "coordination.k8s.io/v1/leases";
      const spec = { holderIdentity: "n", leaseDurationSeconds: 40 };
      const made = await api.create(path, object("coordination.k8s.io/v1", "Lease", "n", { spec }));
      const renewTime = "2025-01-01T00:00:00.123456Z";
      const next = await api.put(`${path}/n`, { ...made, spec: { ...spec, renewTime } });
      assert.equal(next.spec.renewTime, renewTime);
      const { reason } = await api.refused(409, "PUT", `${path}/n`, { body: made });
      assert.equal(reason, "Conflict");
    },
  },
];
