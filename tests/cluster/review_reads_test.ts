/** Test of reviews for which no reads are left: a real API server tells its clients to try again. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import { trainJob } from "../support/standalone.ts";
import { shareCluster } from "./support/shared_cluster.ts";

const withSharedCluster = shareCluster();

/** More than the 200 reads at once, and fewer than an address may send reviews. */
const COUNT = 350;

Deno.test("a real API server passes 429 and Retry-After on if a review has no reads left", async () => {
  await withSharedCluster(async ({ plane }) => {
    const create = (name: string, honorRetryAfter: boolean) =>
      plane.client.create(KINDS.trainJob, trainJob(name, `made-up-${name}`), { honorRetryAfter });
    const names = Array.from({ length: COUNT }, (_, index) => `job-${index}`);
    const outcomes = await Promise.allSettled(names.map((name) => create(name, false)));
    const errors = outcomes.map((it) => it.status === "rejected" ? it.reason : undefined);
    const refused = errors.filter((it) => it instanceof KubeError && it.code === 429);
    const missing = errors.filter((it) => it instanceof KubeError && it.code === 403);
    assert(refused.length > 0, `${missing.length} of ${COUNT} were not found`);
    const others = errors.filter((it) => !refused.includes(it) && !missing.includes(it));
    assert.deepEqual(others, []);
    const messages = refused.map((error) => {
      assert(error instanceof KubeError);
      assert.equal(error.retryAfterMs, 1000);
      return error.message;
    });
    const beyond = /denied the request: too many requests are about objects/;
    assert(messages.some((message) => beyond.test(message)), messages.join("\n"));
    // A read that a busy machine does not finish in time is another reason to try again.
    const late =
      /denied the request: what the request names could not be read in time: try again soon/;
    assert.deepEqual(messages.filter((it) => !beyond.test(it) && !late.test(it)), []);
    // A client that tries again is told what is so.
    await assert.rejects(create("later", true), /"made-up-later" not found/);
    assert.deepEqual((await plane.client.list(KINDS.trainJob)).items, []);
  }, { node: false });
});
