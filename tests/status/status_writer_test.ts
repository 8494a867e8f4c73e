/** Tests of the ledger's write: what is sent, and what each error means. */
import assert from "node:assert/strict";
import { KubeError, TransportError } from "../../kube/errors.ts";
import {
  createStatusWriter,
  trainerStatusPatch,
  wholeSeconds,
} from "../../status/status_writer.ts";

const job = { uid: "uid-1", namespace: "team", name: "job-1" };
const TIME = "2025-01-23T10:30:45.123456+02:00";

Deno.test("`trainerStatusPatch()` replaces the whole trainerStatus of that very job", () => {
  assert.deepEqual(trainerStatusPatch("uid-1", { progressPercentage: 0, lastUpdatedTime: TIME }), {
    metadata: { uid: "uid-1" },
    status: {
      trainerStatus: {
        progressPercentage: 0,
        estimatedRemainingSeconds: null,
        metrics: null,
        lastUpdatedTime: "2025-01-23T08:30:45Z",
      },
    },
  });
});

Deno.test("`wholeSeconds()` gives UTC without fractions", () => {
  assert.equal(wholeSeconds("2025-01-23T10:30:45Z"), "2025-01-23T10:30:45Z");
  assert.equal(wholeSeconds("2025-01-01T00:00:00.999-01:00"), "2025-01-01T01:00:00Z");
});

Deno.test("`createStatusWriter()` patches the status subresource", async () => {
  const calls: unknown[] = [];
  const write = createStatusWriter({
    patch: (kind, key, patch, options) => {
      calls.push([kind.plural, key, patch.type, options?.subresource]);
      return new Promise((resolve) =>
        resolve(kind.parse({
          apiVersion: "trainer.kubeflow.org/v1alpha1",
          kind: "TrainJob",
          metadata: {},
          spec: { runtimeRef: { name: "r" } },
        }))
      );
    },
  });
  assert.deepEqual(await write(job, { lastUpdatedTime: TIME }), { result: "written" });
  const key = { namespace: "team", name: "job-1" };
  assert.deepEqual(calls, [["trainjobs", key, "merge", "status"]]);
});

const uidDetails = { causes: [{ reason: "FieldValueInvalid", field: "metadata.uid" }] };
const OUTCOMES: Record<string, { error: Error; result: string; retryAfterMs?: number }> = {
  "a job that is gone": {
    error: new KubeError("not found", { code: 404, reason: "NotFound" }),
    result: "gone",
  },
  "a job of that name with another UID, as a conflict": {
    error: new KubeError("Precondition failed: UID in precondition: a, UID in object meta: b", {
      code: 409,
      reason: "Conflict",
    }),
    result: "gone",
  },
  "a job of that name with another UID, as an immutable field": {
    error: new KubeError("invalid", { code: 422, reason: "Invalid", details: uidDetails }),
    result: "gone",
  },
  "a status that the API server refuses": {
    error: new KubeError("too long", { code: 422, reason: "Invalid", details: { causes: [] } }),
    result: "invalid",
  },
  "a conflict": {
    error: new KubeError("the object has been modified", { code: 409, reason: "Conflict" }),
    result: "conflict",
  },
  "an API server that is busy": {
    error: new KubeError("busy", { code: 429, reason: "TooManyRequests", retryAfterMs: 2000 }),
    result: "error",
    retryAfterMs: 2000,
  },
  "no answer": { error: new TransportError("refused"), result: "error" },
};
for (const [sentence, { error, result, retryAfterMs }] of Object.entries(OUTCOMES)) {
  Deno.test(`\`createStatusWriter()\` calls ${sentence} ${result}`, async () => {
    const write = createStatusWriter({ patch: () => Promise.reject(error) });
    const outcome = await write(job, { lastUpdatedTime: TIME });
    assert.equal(outcome.result, result);
    assert.equal("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined, retryAfterMs);
  });
}
