/** Tests of the ledger's write: what is sent, and what each error means. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { KubeClient } from "../../../platform/kube/client.ts";
import { KubeError, TransportError } from "../../../platform/kube/errors.ts";
import {
  createStatusWriter,
  progressPatch,
  wholeSeconds,
} from "../../../owner/ledger/status_writer.ts";

const job = { kind: TRAINJOB, uid: "uid-1", namespace: "team", name: "job-1" };
const TIME = "2025-01-23T10:30:45.123456+02:00";

Deno.test("`progressPatch()` replaces the whole progress of that very job", () => {
  const status = { progressPercentage: 0, lastUpdatedTime: TIME };
  const inStatus = progressPatch({ at: "status", field: "trainerStatus" }, "uid-1", status);
  assert.equal(inStatus.subresource, "status");
  assert.deepEqual(inStatus.operations, [
    { op: "test", path: "/metadata/uid", value: "uid-1" },
    {
      op: "add",
      path: "/status/trainerStatus",
      value: { progressPercentage: 0, lastUpdatedTime: "2025-01-23T08:30:45Z" },
    },
  ]);
  const noted = progressPatch({ at: "annotation", key: "example.com/progress" }, "uid-1", status);
  assert.equal(noted.subresource, undefined);
  assert.deepEqual(noted.operations, [
    { op: "test", path: "/metadata/uid", value: "uid-1" },
    {
      op: "add",
      path: "/metadata/annotations/example.com~1progress",
      value: '{"progressPercentage":0,"lastUpdatedTime":"2025-01-23T08:30:45Z"}',
    },
  ]);
});

Deno.test("`wholeSeconds()` gives UTC without fractions", () => {
  assert.equal(wholeSeconds("2025-01-23T10:30:45Z"), "2025-01-23T10:30:45Z");
  assert.equal(wholeSeconds("2025-01-01T00:00:00.999-01:00"), "2025-01-01T01:00:00Z");
});

/** The live TrainJob of that UID and status, whoever asks. */
function liveJob(uid: string, status?: unknown): KubeClient["get"] {
  const metadata = { namespace: "team", name: "job-1", uid };
  const spec = { runtimeRef: { name: "r" } };
  const object = { apiVersion: "trainer.kubeflow.org/v1alpha1", kind: "TrainJob", metadata, spec };
  return (kind) => Promise.resolve(kind.parse({ ...object, ...(status ? { status } : {}) }));
}

const nobodyAsks: KubeClient["get"] = () => Promise.reject(new Error("nobody should ask"));

Deno.test("`createStatusWriter()` patches the status subresource", async () => {
  const calls: unknown[] = [];
  const write = createStatusWriter({
    get: nobodyAsks,
    patch: (kind, key, patch, options) => {
      calls.push([kind.plural, key, patch.type, options?.subresource]);
      return liveJob("uid-1")(kind, key);
    },
  });
  assert.deepEqual(await write(job, { lastUpdatedTime: TIME }), { result: "written" });
  const key = { namespace: "team", name: "job-1" };
  assert.deepEqual(calls, [["trainjobs", key, "json", "status"]]);
});

const refused = new KubeError("the server rejected our request", { code: 422, reason: "Invalid" });
const OUTCOMES: Record<
  string,
  { error: Error; get?: KubeClient["get"]; result: string; retryAfterMs?: number }
> = {
  "a job that is gone": {
    error: new KubeError("not found", { code: 404, reason: "NotFound" }),
    result: "gone",
  },
  "a job of that name with another UID": {
    error: refused,
    get: liveJob("uid-2", { state: "Created" }),
    result: "gone",
  },
  "a job that went while it was looked at": {
    error: refused,
    get: () => Promise.reject(new KubeError("not found", { code: 404, reason: "NotFound" })),
    result: "gone",
  },
  "a status that the API server refuses": {
    error: refused,
    get: liveJob("uid-1", { state: "Created" }),
    result: "invalid",
  },
  "a job that has no status yet": { error: refused, get: liveJob("uid-1"), result: "conflict" },
  "a refusal without a reason": {
    error: refused,
    get: () => Promise.reject(new TransportError("refused")),
    result: "error",
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
for (const [sentence, { error, get, result, retryAfterMs }] of Object.entries(OUTCOMES)) {
  Deno.test(`\`createStatusWriter()\` calls ${sentence} ${result}`, async () => {
    const write = createStatusWriter({
      get: get ?? nobodyAsks,
      patch: () => Promise.reject(error),
    });
    const outcome = await write(job, { lastUpdatedTime: TIME });
    assert.equal(outcome.result, result);
    assert.equal("retryAfterMs" in outcome ? outcome.retryAfterMs : undefined, retryAfterMs);
  });
}
