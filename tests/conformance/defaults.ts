/** Conformance of defaults of pods, Jobs and Services. */
import assert from "node:assert/strict";
import type { Case } from "./api.ts";
import { job, pod, service } from "./objects.ts";

export const defaults: Case[] = [
  {
    name: "a pod gets its defaults",
    async run(api) {
      const { spec, status } = await api.create("pods", pod("a"));
      assert.equal(spec.restartPolicy, "Always");
      assert.equal(spec.dnsPolicy, "ClusterFirst");
      assert.equal(spec.terminationGracePeriodSeconds, 30);
      assert.equal(spec.serviceAccountName, "default");
      assert.equal(spec.schedulerName, "default-scheduler");
      assert.deepEqual(spec.securityContext, {});
      assert.equal(spec.enableServiceLinks, true);
      const [container] = spec.containers;
      assert.equal(container.imagePullPolicy, "IfNotPresent");
      assert.equal(container.terminationMessagePath, "/dev/termination-log");
      assert.equal(container.terminationMessagePolicy, "File");
      assert.equal(status.phase, "Pending");
      assert.equal(status.qosClass, "BestEffort");
    },
  },
  {
    name: "a pod gets the tolerations and the priority of admission",
    skip: { embedded: "there are no node conditions to tolerate and no priorities" },
    async run(api) {
      const { spec } = await api.create("pods", pod("a"));
      assert.equal(spec.priority, 0);
      assert.equal(spec.tolerations.length, 2);
    },
  },
  {
    name: "a pod is given a token of its service account unasked",
    skip: {
      embedded: "a token is mounted where automountServiceAccountToken is true, and unasked not",
    },
    async run(api) {
      const { spec } = await api.create("pods", pod("a"));
      const [{ mountPath }] = spec.containers[0].volumeMounts;
      assert.equal(mountPath, "/var/run/secrets/kubernetes.io/serviceaccount");
    },
  },
  {
    name: "a pod that asks for its service account's token gets it, with CA and namespace",
    async run(api) {
      const { spec } = await api.create("pods", pod("a", { automountServiceAccountToken: true }));
      const [{ name, mountPath, readOnly }] = spec.containers[0].volumeMounts;
      assert.equal(mountPath, "/var/run/secrets/kubernetes.io/serviceaccount");
      assert.equal(readOnly, true);
      const { projected } = spec.volumes.find((one: { name: string }) => one.name === name);
      assert.deepEqual(
        projected.sources.flatMap((source: Record<string, unknown>) => Object.keys(source)),
        ["serviceAccountToken", "configMap", "downwardAPI"],
      );
      assert.equal(projected.sources[0].serviceAccountToken.path, "token");
    },
  },
  {
    name: "a pod that is to have no token gets none",
    async run(api) {
      const { spec } = await api.create("pods", pod("a", { automountServiceAccountToken: false }));
      assert.equal(spec.volumes, undefined);
    },
  },
  {
    name: "an image without a tag, or with latest, is pulled always",
    async run(api) {
      const images = ["example.com/i", "example.com/i:latest", "example.com/i:1"];
      const containers = images.map((image, index) => ({ name: `c${index}`, image }));
      const { spec } = await api.create("pods", pod("a", { containers }));
      assert.deepEqual(
        spec.containers.map(({ imagePullPolicy }: { imagePullPolicy: string }) => imagePullPolicy),
        ["Always", "Always", "IfNotPresent"],
      );
    },
  },
  {
    name: "a Job gets its defaults, a selector by its UID and the labels of its pods",
    async run(api) {
      const { spec, metadata } = await api.create("batch/v1/jobs", job("a"));
      const uid = metadata.uid;
      assert.equal(metadata.generation, 1);
      assert.equal(spec.parallelism, 1);
      assert.equal(spec.completions, 1);
      assert.equal(spec.backoffLimit, 6);
      assert.equal(spec.completionMode, "NonIndexed");
      assert.equal(spec.manualSelector, false);
      assert.equal(spec.podReplacementPolicy, "TerminatingOrFailed");
      assert.deepEqual(spec.selector, {
        matchLabels: { "batch.kubernetes.io/controller-uid": uid },
      });
      assert.deepEqual(spec.template.metadata.labels, {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "a",
        "controller-uid": uid,
        "job-name": "a",
      });
    },
  },
  {
    name: "the pods of a Deployment and of a CronJob get those of pods",
    async run(api) {
      const labels = { app: "a" };
      const { spec } = pod("a");
      const made = [
        await api.create("apps/v1/deployments", {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata: { name: "a" },
          spec: {
            replicas: 0,
            selector: { matchLabels: labels },
            template: { metadata: { labels }, spec },
          },
        }),
        (await api.create("batch/v1/cronjobs", {
          apiVersion: "batch/v1",
          kind: "CronJob",
          metadata: { name: "a" },
          spec: { schedule: "0 0 1 1 *", suspend: true, jobTemplate: job("a") },
        })).spec.jobTemplate,
      ];
      for (const { spec: { template } } of made) {
        assert.equal(template.spec.dnsPolicy, "ClusterFirst");
        assert.equal(template.spec.containers[0].terminationMessagePolicy, "File");
        assert.equal(template.spec.enableServiceLinks, undefined);
      }
      assert.equal(made[1].spec.backoffLimit, undefined);
    },
  },
  {
    name: "a headless Service gets its defaults",
    async run(api) {
      const headless = { ports: [{ port: 80 }], selector: { app: "a" } };
      const { spec, status } = await api.create("services", service("a", headless));
      assert.equal(spec.type, "ClusterIP");
      assert.equal(spec.clusterIP, "None");
      assert.deepEqual(spec.clusterIPs, ["None"]);
      assert.equal(spec.sessionAffinity, "None");
      assert.equal(spec.internalTrafficPolicy, "Cluster");
      assert.deepEqual(spec.ipFamilies, ["IPv4"]);
      assert.equal(spec.ipFamilyPolicy, "SingleStack");
      assert.deepEqual(spec.ports, [{ port: 80, protocol: "TCP", targetPort: 80 }]);
      assert.deepEqual(status, { loadBalancer: {} });
    },
  },
];
