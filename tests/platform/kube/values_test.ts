/** Tests of small pure parts of `kube/`: conditions, owner references, keys, errors, the clock. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { systemClock } from "../../../platform/base/clock.ts";
import {
  findCondition,
  isConditionTrue,
  removeCondition,
  setCondition,
} from "../../../platform/kube/conditions.ts";
import {
  isAlreadyExists,
  isConflict,
  isForbidden,
  isGone,
  isInvalid,
  isNotFound,
  isStale,
  KubeError,
} from "../../../platform/kube/errors.ts";
import {
  controllerOf,
  controllerReference,
  isControlledBy,
  isOfPredecessor,
} from "../../../platform/kube/owner_references.ts";
import { subjectOf } from "../../../platform/kube/event_object.ts";
import { KUBERNETES_KINDS } from "../../../platform/kube/kubernetes_kinds.ts";
import { formatKey, keyOf, type OwnerRef, parseKey } from "../../../platform/kube/resource.ts";

const READY = { type: "Ready", status: "True", reason: "Up", message: "it is up" } as const;
const T0 = "2026-01-01T00:00:00Z";
const T1 = "2026-01-01T00:00:01Z";

Deno.test("`setCondition()` appends, and returns the same list if nothing changed", () => {
  const first = setCondition(undefined, READY, T0);
  assert.deepEqual(first, [{ ...READY, lastTransitionTime: T0 }]);
  assert.equal(setCondition(first, READY, T1), first);
});

Deno.test("`setCondition()` changes the time only with the status, and keeps the position", () => {
  const other = { ...READY, type: "Other", lastTransitionTime: T0 };
  const list = Object.freeze([{ ...READY, lastTransitionTime: T0 }, other]);
  const reworded = setCondition([...list], { ...READY, message: "still up" }, T1);
  assert.deepEqual(reworded, [{ ...READY, message: "still up", lastTransitionTime: T0 }, other]);
  const changed = setCondition([...list], { ...READY, status: "False" }, T1);
  assert.deepEqual(changed, [{ ...READY, status: "False", lastTransitionTime: T1 }, other]);
});

Deno.test("`setCondition()` cuts a message to what definitions take, and is settled then", () => {
  const update = { ...READY, message: "x".repeat(32_769) };
  const list = setCondition(undefined, update, T0);
  assert.equal(list[0]?.message, `${"x".repeat(32_767)}…`);
  assert.equal(setCondition(list, update, T1), list);
});

Deno.test("`removeCondition()` returns the same list if there is nothing to remove", () => {
  const list = setCondition(undefined, READY, T0);
  assert.equal(removeCondition(list, "Other"), list);
  assert.deepEqual(removeCondition(list, "Ready"), []);
  assert.deepEqual(removeCondition(undefined, "Ready"), []);
});

Deno.test("`isConditionTrue()` is false without the condition", () => {
  const list = setCondition(undefined, READY, T0);
  assert.equal(isConditionTrue(list, "Ready"), true);
  assert.equal(isConditionTrue(undefined, "Ready"), false);
  assert.equal(findCondition(list, "Other"), undefined);
});

Deno.test("`controllerReference()` is found by `controllerOf()`", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u", extra: 1 };
  const reference = controllerReference(owner);
  assert.deepEqual(reference, {
    apiVersion: "v1",
    kind: "Pod",
    name: "p",
    uid: "u",
    controller: true,
    blockOwnerDeletion: true,
  });
  const plain = { ...reference, uid: "other", controller: false };
  const metadata = { ownerReferences: [plain, reference] };
  assert.equal(controllerOf(metadata), reference);
  assert.equal(isControlledBy(metadata, "u"), true);
  assert.equal(isControlledBy(metadata, "other"), false);
  assert.equal(controllerOf(undefined), undefined);
});

const predecessorCases: Record<string, { owner: Partial<OwnerRef>; want: boolean }> = {
  "an object of another uid": { owner: {}, want: true },
  "an object in another version": { owner: { apiVersion: "batch/v2" }, want: true },
  "the object itself": { owner: { uid: "u2" }, want: false },
  "an object of another name": { owner: { name: "other" }, want: false },
  "an object of another kind": { owner: { kind: "CronJob" }, want: false },
  "a kind of that name in another group": { owner: { apiVersion: "batch.acme/v1" }, want: false },
  "an owner that does not control": { owner: { controller: false }, want: false },
};
for (const [what, { owner, want }] of Object.entries(predecessorCases)) {
  Deno.test(`\`isOfPredecessor()\` of ${what}`, () => {
    const before = { apiVersion: "batch/v1", kind: "Job", name: "j", uid: "u1" };
    const ownerReferences = [{ ...controllerReference(before), ...owner }];
    const got = isOfPredecessor({ ownerReferences }, KUBERNETES_KINDS.job, {
      name: "j",
      uid: "u2",
    });
    assert.equal(got, want);
  });
}

Deno.test("`subjectOf()` names an object as events do", () => {
  const metadata = { namespace: "n", name: "j", uid: "u" };
  const names = { kind: "Job", ...metadata };
  assert.deepEqual(subjectOf(KUBERNETES_KINDS.job, { metadata }), {
    apiVersion: "batch/v1",
    ...names,
  });
});

Deno.test("`parseKey()` reads what `keyOf()` writes", () => {
  const name = fc.stringMatching(/^[a-z0-9.-]{1,20}$/);
  fc.assert(fc.property(name, fc.option(name, { nil: undefined }), (name, namespace) => {
    const key = keyOf({ metadata: { name, namespace } });
    const parsed = parseKey(key);
    assert.equal(parsed.name, name);
    assert.equal(parsed.namespace, namespace);
    assert.equal(formatKey(parsed), key);
  }));
  assert.equal(keyOf({}), "");
});

Deno.test("the predicates of `KubeError` know their codes and reasons", () => {
  const of = (code: number, reason: string) => new KubeError("no", { code, reason });
  const gone = { code: 404, reason: "NotFound" };
  const cases: [(error: unknown) => boolean, KubeError, KubeError][] = [
    [isNotFound, of(404, "NotFound"), of(409, "NotFound")],
    [isConflict, of(409, "Conflict"), of(409, "AlreadyExists")],
    [isAlreadyExists, of(409, "AlreadyExists"), of(409, "Conflict")],
    [isGone, of(410, "Expired"), of(404, "NotFound")],
    [isInvalid, of(422, "Invalid"), of(400, "BadRequest")],
    [isForbidden, of(403, "Forbidden"), of(401, "Unauthorized")],
    [isStale, of(409, "Conflict"), of(403, "Forbidden")],
    [isStale, of(409, "AlreadyExists"), of(429, "TooManyRequests")],
    [isStale, new KubeError("no", { ...gone, details: { name: "a" } }), new KubeError("no", gone)],
  ];
  for (const [predicate, yes, no] of cases) {
    assert.equal(predicate(yes), true, predicate.name);
    assert.equal(predicate(no), false, predicate.name);
    assert.equal(predicate(new Error("no")), false, predicate.name);
  }
});

Deno.test("`systemClock.sleep()` ends early when its signal aborts and leaves no timer", async () => {
  const stop = new AbortController();
  const sleeping = systemClock.sleep(10 ** 12, stop.signal);
  stop.abort();
  await sleeping;
  await systemClock.sleep(10 ** 12, stop.signal);
  await systemClock.sleep(-1);
});
