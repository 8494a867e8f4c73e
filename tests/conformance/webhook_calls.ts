/** Conformance of webhook calls: matching of requests, and failures of calls. */
import assert from "node:assert/strict";
import type { Answer, Case } from "./api.ts";
import { configMap } from "./objects.ts";
import { ALLOW, type Respond, withHooks } from "./webhook_cases.ts";

/** Registrations with which a webhook is called, or is not, for a ConfigMap with the label x=y. */
const MATCHING: Record<string, { more: Record<string, unknown>; called: boolean }> = {
  "an object selector that fits": {
    more: { objectSelector: { matchLabels: { x: "y" } } },
    called: true,
  },
  "an object selector that does not fit": {
    more: {
      objectSelector: { matchExpressions: [{ key: "x", operator: "NotIn", values: ["y"] }] },
    },
    called: false,
  },
  "a namespace selector that does not fit": {
    more: { namespaceSelector: { matchLabels: { no: "such" } } },
    called: false,
  },
  "a condition that holds": {
    more: { matchConditions: [{ name: "c", expression: "object.metadata.labels.x == 'y'" }] },
    called: true,
  },
  "a condition that does not hold": {
    more: { matchConditions: [{ name: "c", expression: "request.operation == 'DELETE'" }] },
    called: false,
  },
  "a rule for another operation": {
    more: {
      rules: [{ operations: ["DELETE"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
    },
    called: false,
  },
  "a rule for every resource": {
    more: {
      rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }],
    },
    called: true,
  },
  "a rule for objects of the cluster": {
    more: {
      rules: [{
        operations: ["*"],
        apiGroups: ["*"],
        apiVersions: ["*"],
        resources: ["*"],
        scope: "Cluster",
      }],
    },
    called: false,
  },
};

/** Answers that are failures. */
const FAILURES: Record<string, Respond> = {
  "an answer of 500": () => new Response("broken", { status: 500 }),
  "an answer that is no JSON": () => new Response("broken"),
  "an answer with another uid": () => ({ uid: "other", allowed: true }),
};

export const webhookCalls: Case[] = [
  ...Object.entries(MATCHING).map(([what, { more, called }]): Case => ({
    name: `a webhook with ${what} is ${called ? "called" : "not called"}`,
    run: (api) =>
      withHooks(api, "Validating", [{ respond: ALLOW, more }], async ([calls = []]) => {
        await api.create("configmaps", configMap("a", { labels: { x: "y" } }));
        assert.equal(calls.some(({ name }: Answer) => name === "a"), called);
      }),
  })),
  ...Object.entries(FAILURES).flatMap(([what, respond]): Case[] => [
    {
      name: `${what} stops the request where the policy is to fail`,
      run: (api) =>
        withHooks(api, "Mutating", [{ respond }], async () => {
          const { reason, message } = await api.refused(500, "POST", "configmaps", {
            body: configMap("a"),
          });
          assert.equal(reason, "InternalError");
          assert.match(message, /failed calling webhook "h0\.example\.com"/);
        }),
    },
    {
      name: `${what} is let pass where the policy is to ignore it`,
      run: (api) =>
        withHooks(api, "Mutating", [{ respond, more: { failurePolicy: "Ignore" } }], async () => {
          assert.deepEqual((await api.create("configmaps", configMap("a"))).data, { a: "1" });
        }),
    },
  ]),
  {
    name: "a webhook that nobody answers for stops the request",
    run: (api) => {
      const clientConfig = { url: "https://127.0.0.1:1/", caBundle: undefined };
      return withHooks(
        api,
        "Validating",
        [{ respond: ALLOW, more: { clientConfig } }],
        async () => {
          await api.refused(500, "POST", "configmaps", { body: configMap("a") });
        },
      );
    },
  },
];
