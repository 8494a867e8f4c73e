/** Tests of deletions, changes and reads of exactly the object that was read, and of notices. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { asRead } from "../../../platform/kit/as_read.ts";
import { deleteExactly } from "../../../platform/kit/deletion.ts";
import { readAgain } from "../../../platform/kit/fresh_read.ts";
import { KubeError } from "../../../platform/kube/errors.ts";
import { KUBERNETES_KINDS } from "../../../platform/kube/kubernetes_kinds.ts";
import type { KubeMeta } from "../../../platform/kube/resource.ts";

const KIND = KUBERNETES_KINDS.pod;
const OBJECT = { metadata: { namespace: "n", name: "a", uid: "u", resourceVersion: "5" } };
const { signal } = new AbortController();

function refusal(code: number, reason: string): () => Promise<never> {
  return () => Promise.reject(new KubeError(reason, { code, reason }));
}

Deno.test("`deleteExactly()` names the uid, and reports whether the object was there", async () => {
  const calls: unknown[] = [];
  const client = { delete: (...call: unknown[]) => Promise.resolve(void calls.push(call)) };
  equal(await deleteExactly(client, KIND, OBJECT, { propagationPolicy: "Foreground" }), true);
  const options = { propagationPolicy: "Foreground", preconditions: { uid: "u" } };
  deepEqual(calls, [[KIND, { namespace: "n", name: "a" }, options]]);
  const gone = { delete: refusal(404, "NotFound") };
  equal(await deleteExactly(gone, KIND, OBJECT, { signal }), false);
  const another = { delete: refusal(409, "Conflict") };
  equal(await deleteExactly(another, KIND, OBJECT, { signal }), false, "of that name");
  const refused = { delete: refusal(403, "Forbidden") };
  await rejects(deleteExactly(refused, KIND, OBJECT, { signal }), /Forbidden/);
});

Deno.test("`asRead()` adds uid and resource version, whatever metadata change beside them", () => {
  const preconditions = { uid: "u", resourceVersion: "5" };
  deepEqual(asRead(OBJECT, { status: {} }), { metadata: preconditions, status: {} });
  deepEqual(asRead(OBJECT, { metadata: { labels: { a: null } } }), {
    metadata: { labels: { a: null }, ...preconditions },
  });
});

const liveCases: Record<string, { live: KubeMeta; isSame: boolean }> = {
  "the same one, changed": { live: { ...OBJECT.metadata, resourceVersion: "9" }, isSame: true },
  "another one of its name": { live: { ...OBJECT.metadata, uid: "v" }, isSame: false },
  "one that is being deleted": {
    live: { ...OBJECT.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    isSame: false,
  },
};
for (const [what, { live, isSame }] of Object.entries(liveCases)) {
  Deno.test(`\`readAgain()\` of ${what}`, async () => {
    const pod = KIND.parse({ metadata: live, spec: { containers: [] } });
    const client = { get: () => Promise.resolve(pod) };
    equal(await readAgain(client, KIND, OBJECT, { signal }), isSame ? pod : undefined);
  });
}

Deno.test("`readAgain()` of one that is gone", async () => {
  equal(await readAgain({ get: refusal(404, "NotFound") }, KIND, OBJECT, { signal }), undefined);
});
