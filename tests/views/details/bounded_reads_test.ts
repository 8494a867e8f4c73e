/** Tests of bounded reads: the bytes of each response count, and a single object has a bound too. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { TooLargeError } from "../../../platform/kube/errors.ts";
import {
  asItIs,
  boundedReads,
  READ_LIMITS,
  readOne,
} from "../../../views/details/bounded_reads.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { answeringClient } from "../../support/answering_client.ts";

const KEY = { namespace: "ml", name: "large" };

/** Reads of an API server that has one ConfigMap with so many characters. */
function readsOf(characters: number) {
  const text = JSON.stringify({ metadata: KEY, data: { text: "x".repeat(characters) } });
  const answer = () => new Response(text, { headers: { "content-type": "application/json" } });
  const reads = boundedReads(
    answeringClient(answer, new FakeClock()),
    new AbortController().signal,
  );
  return { reads, bytes: text.length };
}

Deno.test("a single object counts against what its request may read", async () => {
  const { reads, bytes } = readsOf(100_000);
  await readOne(reads, asItIs(KINDS.configMap), KEY);
  assert.equal(reads.budget.bytes, READ_LIMITS.bytes - bytes);
});

Deno.test("a single object of more than 16 MiB is not read", async () => {
  const { reads } = readsOf(16 << 20);
  await assert.rejects(readOne(reads, asItIs(KINDS.configMap), KEY), TooLargeError);
});
