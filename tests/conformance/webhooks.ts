/** Conformance of admission webhooks: requests, changes, refusals, failures. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { configMap, object } from "./objects.ts";
import { ALLOW, patchResponse, type Respond, withHooks } from "./webhook_cases.ts";

const add = (key: string): Respond => () =>
  patchResponse([{ op: "add", path: `/data/${key}`, value: "hook" }]);

export const webhooks: Case[] = [
  {
    name: "a webhook sees the request: operation, kind, user, object, and no old object",
    run: (api) =>
      withHooks(api, "Validating", [{ respond: ALLOW }], async ([calls = []]) => {
        await api.create("configmaps", configMap("a"));
        const request = calls[0];
        assert.equal(request.operation, "CREATE");
        assert.deepEqual(request.kind, { group: "", version: "v1", kind: "ConfigMap" });
        assert.deepEqual(request.resource, { group: "", version: "v1", resource: "configmaps" });
        assert.equal(request.name, "a");
        assert.equal(request.namespace, api.ns);
        assert.equal(request.dryRun, false);
        assert.ok(request.userInfo.groups.includes("system:masters"));
        assert.deepEqual(request.object.data, { a: "1" });
        assert.ok(request.object.metadata.uid);
        assert.equal(request.oldObject, null);
        assert.equal(request.options.kind, "CreateOptions");
      }),
  },
  {
    name: "a webhook sees old and new of an update",
    run: (api) =>
      withHooks(api, "Validating", [{ respond: ALLOW }], async ([calls = []]) => {
        await api.create("configmaps", configMap("a"));
        await api.merge("configmaps/a", { data: { a: "2" } });
        const { operation, object, oldObject } = calls[1];
        assert.equal(operation, "UPDATE");
        assert.equal(object.data.a, "2");
        assert.equal(oldObject.data.a, "1");
      }),
  },
  {
    name: "a webhook for deletions sees the old object only",
    run: (api) => {
      const rules = [{
        operations: ["DELETE"],
        apiGroups: [""],
        apiVersions: ["v1"],
        resources: ["configmaps"],
      }];
      return withHooks(api, "Validating", [{ respond: ALLOW, more: { rules } }], async (calls) => {
        await api.create("configmaps", configMap("a"));
        await api.remove("configmaps/a");
        const request = calls[0]?.find(({ name }) => name === "a");
        assert.equal(request.operation, "DELETE");
        assert.equal(request.object, null);
        assert.equal(request.oldObject.metadata.name, "a");
      });
    },
  },
  {
    name: "a patch of a mutating webhook is stored",
    run: (api) =>
      withHooks(api, "Mutating", [{ respond: add("b") }], async () => {
        const made = await api.create("configmaps", configMap("a"));
        assert.deepEqual(made.data, { a: "1", b: "hook" });
      }),
  },
  {
    name: "a later webhook sees what an earlier one changed",
    run: (api) =>
      withHooks(api, "Mutating", [{ respond: add("b") }, { respond: add("c") }], async (calls) => {
        const made = await api.create("configmaps", configMap("a"));
        assert.deepEqual(made.data, { a: "1", b: "hook", c: "hook" });
        assert.equal(calls[1]?.[0].object.data.b, "hook");
        assert.equal(calls[0]?.length, 1);
      }),
  },
  {
    name: "a webhook that wants it is called again when a later one changed the object",
    run: (api) => {
      const more = { reinvocationPolicy: "IfNeeded" };
      const hooks = [{ respond: add("b"), more }, { respond: add("c") }];
      return withHooks(api, "Mutating", hooks, async (calls) => {
        await api.create("configmaps", configMap("a"));
        assert.equal(calls[0]?.length, 2);
        assert.equal(calls[0]?.[1].object.data.c, "hook");
        assert.equal(calls[1]?.length, 1);
      });
    },
  },
  {
    name: "what a webhook makes of an object is validated",
    run: (api) => {
      const respond = () =>
        patchResponse([{ op: "add", path: "/metadata/labels", value: { "no label": "x" } }]);
      return withHooks(api, "Mutating", [{ respond }], async () => {
        await api.refused(422, "POST", "configmaps", { body: configMap("a") });
      });
    },
  },
  {
    name: "a refusal carries the webhook's message and code",
    run: (api) => {
      const respond = () => ({ allowed: false, status: { code: 418, message: "no tea" } });
      return withHooks(api, "Validating", [{ respond }], async () => {
        const { message } = await api.refused(418, "POST", "configmaps", { body: configMap("a") });
        assert.equal(message, 'admission webhook "h0.example.com" denied the request: no tea');
      });
    },
  },
  {
    name: "a refusal without words is 400 and says that",
    run: (api) =>
      withHooks(api, "Validating", [{ respond: () => ({ allowed: false }) }], async () => {
        const { message } = await api.refused(400, "POST", "configmaps", { body: configMap("a") });
        assert.equal(
          message,
          'admission webhook "h0.example.com" denied the request without explanation',
        );
      }),
  },
  {
    name: "warnings of webhooks reach the client",
    run: (api) => {
      const respond = () => ({ allowed: true, warnings: ["mind the gap"] });
      return withHooks(api, "Validating", [{ respond }], async () => {
        const { headers } = await api.call("POST", "configmaps", { body: configMap("a") });
        assert.equal(headers.get("warning"), '299 - "mind the gap"');
      });
    },
  },
  {
    name: "a dry run is a dry run for webhooks, and refused by those with side effects",
    run: (api) => {
      const hooks = [{ respond: ALLOW }];
      return withHooks(api, "Validating", hooks, async ([calls = []]) => {
        await api.create("configmaps?dryRun=All", configMap("a"));
        assert.equal(calls[0].dryRun, true);
      });
    },
  },
  {
    name: "webhooks see writes of subresources when their rules name them",
    run: (api) => {
      const rules = [{
        operations: ["UPDATE"],
        apiGroups: ["batch"],
        apiVersions: ["v1"],
        resources: ["jobs/status"],
      }];
      return withHooks(
        api,
        "Validating",
        [{ respond: ALLOW, more: { rules } }],
        async ([calls = []]) => {
          const template = {
            spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] },
          };
          await api.create(
            "batch/v1/jobs",
            object("batch/v1", "Job", "a", { spec: { suspend: true, template } }),
          );
          await api.merge("batch/v1/jobs/a", { metadata: { labels: { x: "y" } } });
          const own = () =>
            calls.filter(({ userInfo }: Answer) => userInfo.groups.includes("system:masters"));
          assert.equal(own().length, 0);
          await api.merge("batch/v1/jobs/a/status", {
            status: { conditions: [{ type: "Example", status: "True" }] },
          });
          assert.equal(own()[0].subResource, "status");
        },
      );
    },
  },
];
