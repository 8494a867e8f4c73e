/** Test of a flood of valid tokens whose pods do not exist: few reads, and honest pushes succeed. */
import assert from "node:assert/strict";
import { createLookup } from "../../../../platform/kube/watching/cached_lookup.ts";
import { createOwnership, type OwnedPod } from "../../../../status/ownership/ownership.ts";
import { createReadBudget } from "../../../../platform/http/limits/read_budget.ts";
import { createReviewCache } from "../../../../platform/http/callers/token_review.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { handlerBench, KEY, PATH } from "../../../status/chain/handler_bench.ts";
import { cluster, lookupsOf } from "../../../status/ownership/ownership_cluster.ts";
import { bound, claims, NOW_MS, sign } from "../callers/tokens.ts";

/** The chain over caches that know the honest job, and an API server that has nothing more. */
function bench() {
  const clock = new FakeClock(NOW_MS);
  const { objects } = cluster();
  const budget = createReadBudget({ clock, perNamespace: { ratePerSecond: 10, burst: 20 } });
  const counts = { reads: 0, reviews: 0 };
  const read = async (): Promise<OwnedPod | undefined> => {
    counts.reads += 1;
    await settle(1);
    return undefined;
  };
  const lookup = (kind: keyof typeof objects) =>
    createLookup<OwnedPod>({ clock, budget, read, cached: (key) => objects[kind].get(key) });
  const ownership = createOwnership({
    lookups: lookupsOf(objects, lookup),
  });
  const reviews = createReviewCache({
    clock,
    onRefused: () => {},
    ask: () => {
      counts.reviews += 1;
      return Promise.resolve(true);
    },
  });
  const { send } = handlerBench({ clock, ownership, reviews });
  return { clock, counts, send };
}

Deno.test("tokens of pods that are gone cost no more reads than the budget has, and no review", async () => {
  const { clock, counts, send } = bench();
  const flood = await Promise.all(
    Array.from(
      { length: 200 },
      (_, i) =>
        sign(KEY, claims({ "kubernetes.io": bound({ pod: { name: `p-${i}`, uid: `u-${i}` } }) })),
    ),
  );
  const push = async () => {
    const answers = await Promise.all(flood.map((token) => send({ token })));
    assert.equal((await send()).status, 200, "the honest pod goes on");
    return answers.map(({ status }) => status);
  };
  const first = await push();
  assert.equal(counts.reads, 20);
  assert.equal(first.filter((status) => status === 403).length, 20);
  assert.equal(first.filter((status) => status === 503).length, 180);
  for (let second = 1; second <= 3; second++) {
    await clock.advance(1000);
    await push();
    assert.equal(counts.reads, 20 + 10 * second);
  }
  assert.equal(counts.reviews, 1, "the honest pod's");
});

Deno.test("a pod that pushes for made-up jobs costs no read at all", async () => {
  const { counts, send } = bench();
  for (let i = 0; i < 50; i++) {
    assert.equal((await send({ url: PATH.replace("job-1", `made-up-${i}`) })).status, 404);
  }
  assert.equal(counts.reads, 0);
});
