/** Tests of the warnings about Katib's webhook. */
import assert from "node:assert/strict";
import { KATIB_KEPT_OUT } from "../../crds/katib_names.ts";
import type { MutatingWebhookConfiguration } from "../../platform/kube/kubernetes.ts";
import { watchKatibsWebhook } from "../../webhook/katib_webhook_watch.ts";
import type { EventSubject, EventText } from "../../platform/kube/event_object.ts";
import { logged } from "../support/logged.ts";

/** Katib's configuration, as its webhook for pods has these conditions. */
function katibs(matchConditions: { name: string; expression: string }[]) {
  return {
    metadata: { name: "katib.kubeflow.org" },
    webhooks: [{
      name: "mutator.pod.katib.kubeflow.org",
      admissionReviewVersions: ["v1"],
      clientConfig: {},
      sideEffects: "None",
      rules: [{
        apiGroups: [""],
        apiVersions: ["v1"],
        operations: ["CREATE"],
        resources: ["pods"],
      }],
      matchConditions,
    }],
  };
}

/** A cache with a settable content. */
function cacheOf(first: MutatingWebhookConfiguration | undefined) {
  let held = first;
  const listeners = new Set<(change: never) => void>();
  return {
    listeners,
    get: (key: unknown) => {
      assert.deepEqual(key, { name: "katib.kubeflow.org" });
      return held;
    },
    onChange(listener: (change: never) => void) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    put(next: MutatingWebhookConfiguration | undefined) {
      held = next;
      const change: { type: string } = { type: "updated" };
      for (const listener of listeners) Reflect.apply(listener, undefined, [change]);
    },
  };
}

Deno.test("`watchKatibsWebhook()` logs one warning, and one line when the patch is applied", async () => {
  const reaching = katibs([]);
  const cache = cacheOf(undefined);
  const told: [EventSubject, EventText][] = [];
  const over = new AbortController();
  const records = await logged(async () => {
    const watching = watchKatibsWebhook({
      configurations: cache,
      events: { record: (about, event) => void told.push([about, event]) },
      adopts: ["StdOut"],
    }, over.signal);
    cache.put(undefined);
    assert.equal(told.length, 0, "no Katib, no word");
    cache.put(reaching);
    cache.put(katibs([{ name: "another", expression: "true" }]));
    assert.equal(told.length, 1, "said once");
    cache.put(katibs([KATIB_KEPT_OUT]));
    over.abort();
    await watching;
  });
  assert.deepEqual(records.map(({ level, message }) => [level, message.join("")]), [
    ["warning", "Katib's webhook is called for the pods of trials"],
    ["info", "Katib's webhook is no longer called for the pods of trials"],
  ]);
  assert.deepEqual(records[0]?.properties.adopts, ["StdOut"]);
  const [[about, event] = []] = told;
  assert.deepEqual(about, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    name: "katib.kubeflow.org",
  });
  assert.equal(event?.type, "Warning");
  assert.match(event?.message ?? "", /initializers.*denied.*not adopted.*deploy\/katib/);
  assert.equal(cache.listeners.size, 0, "it does not listen any longer");
});

Deno.test("`watchKatibsWebhook()` logs nothing if the patch is applied from the start", async () => {
  const cache = cacheOf(katibs([KATIB_KEPT_OUT]));
  const records = await logged(() =>
    watchKatibsWebhook({
      configurations: cache,
      events: { record: () => assert.fail("there is nothing to tell") },
      adopts: [],
    }, AbortSignal.abort())
  );
  assert.deepEqual(records, []);
});
