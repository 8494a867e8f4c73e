/** Tests of TokenReviews: once a token, shared, within a budget. */
import assert from "node:assert/strict";
import { createReviewRequests } from "../../../../platform/http/callers/reviews.ts";
import {
  createReviewCache,
  createTokenReviewer,
} from "../../../../platform/http/callers/token_review.ts";
import type { TokenIdentity } from "../../../../platform/http/callers/token_verification.ts";
import { FakeClock, settle } from "../../../support/fake_clock.ts";
import { logged } from "../../../support/logged.ts";

const clockStart = Date.parse("2026-01-01T00:00:00Z");
const identity: TokenIdentity = {
  subject: "system:serviceaccount:team:default",
  namespace: "team",
  serviceAccount: { name: "default", uid: "uid-sa" },
  pod: { name: "p", uid: "uid-pod" },
  audiences: ["trainer.kubeflow.org"],
  expiresMs: clockStart + 3_600_000,
};
const review = (hash: string) => ({
  hash,
  token: `token-${hash}`,
  audience: "trainer.kubeflow.org",
  identity,
  awaited: false,
});

function bench(answer: () => Promise<boolean>, reviewsPerSecond?: number) {
  const clock = new FakeClock(clockStart);
  const refused: string[] = [];
  const results: string[] = [];
  let asked = 0;
  const cache = createReviewCache({
    clock,
    reviewsPerSecond,
    onRefused: (hash) => refused.push(hash),
    onReview: (result) => results.push(result),
    ask: () => {
      asked += 1;
      return answer();
    },
  });
  return { clock, cache, refused, results, asked: () => asked };
}

Deno.test("`review()` makes one request for concurrent callers, and remembers the result until the token expires", async () => {
  const { clock, cache, asked } = bench(() => Promise.resolve(true));
  const outcomes = await Promise.all([cache.review(review("a")), cache.review(review("a"))]);
  assert.deepEqual(outcomes, ["authenticated", "authenticated"]);
  assert.equal(cache.known("a"), "authenticated");
  assert.equal(await cache.review(review("a")), "authenticated");
  assert.equal(asked(), 1);
  clock.jump(3_660_000);
  assert.equal(cache.known("a"), undefined);
  await cache.close();
});

Deno.test("`review()` reports a refused token", async () => {
  const { cache, refused, results } = bench(() => Promise.resolve(false));
  assert.equal(await cache.review(review("a")), "refused");
  assert.equal(cache.known("a"), "refused");
  assert.deepEqual(refused, ["a"]);
  assert.deepEqual(results, ["refused"]);
  await cache.close();
});

Deno.test("`review()` does not ask again for a while if the API server gave no answer", async () => {
  const { clock, cache, asked } = bench(() => Promise.reject(new Error("away")));
  for (let time = 0; time < 3; time++) {
    assert.equal(await cache.review(review("a")), "unavailable");
  }
  assert.equal(cache.known("a"), undefined);
  assert.equal(asked(), 1);
  clock.jump(5001);
  await cache.review(review("a"));
  assert.equal(asked(), 2);
  await cache.close();
});

Deno.test("`review()` stays within its budget", async () => {
  const { clock, cache, asked, results } = bench(() => Promise.resolve(true), 2);
  for (const hash of ["a", "b", "c", "d"]) await cache.review(review(hash));
  assert.equal(asked(), 2);
  assert.deepEqual(results.slice(2), ["over_budget", "over_budget"]);
  await clock.advance(500);
  assert.equal(await cache.review(review("c")), "authenticated");
  await cache.close();
});

Deno.test("`close()` ends what runs, and waits for it", async () => {
  const cache = createReviewCache({
    clock: new FakeClock(clockStart),
    onRefused: () => {},
    ask: (_request, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("ended")), { once: true });
      }),
  });
  const outcome = cache.review(review("a"));
  await settle();
  await cache.close();
  assert.equal(await outcome, "unavailable");
  assert.equal(await cache.review(review("b")), "unavailable");
});

const GOOD = {
  authenticated: true,
  audiences: ["trainer.kubeflow.org"],
  user: {
    username: identity.subject,
    extra: { "authentication.kubernetes.io/pod-uid": ["uid-pod"] },
  },
};
const STATUSES: Record<string, { status: unknown; want: boolean }> = {
  "a token that the API server accepts": { status: GOOD, want: true },
  "one that it does not": { status: { authenticated: false, error: "expired" }, want: false },
  "an answer without status": { status: undefined, want: false },
  "one for another audience": { status: { ...GOOD, audiences: ["other"] }, want: false },
  "an API server that knows no audiences": {
    status: { ...GOOD, audiences: undefined },
    want: false,
  },
  "another user": { status: { ...GOOD, user: { ...GOOD.user, username: "eve" } }, want: false },
  "a service account of that name that was created again": {
    status: { ...GOOD, user: { ...GOOD.user, uid: "uid-other" } },
    want: false,
  },
  "its own service account, by UID": {
    status: { ...GOOD, user: { ...GOOD.user, uid: "uid-sa" } },
    want: true,
  },
  "another pod": {
    status: {
      ...GOOD,
      user: { ...GOOD.user, extra: { "authentication.kubernetes.io/pod-uid": ["x"] } },
    },
    want: false,
  },
};
for (const [sentence, { status, want }] of Object.entries(STATUSES)) {
  Deno.test(`\`createTokenReviewer()\` answers ${want} to ${sentence}`, async () => {
    const request = createReviewRequests({
      create: (kind, object) => {
        assert.deepEqual(object, {
          apiVersion: "authentication.k8s.io/v1",
          kind: "TokenReview",
          metadata: {},
          spec: { token: "token-a", audiences: ["trainer.kubeflow.org"] },
        });
        return Promise.resolve(kind.parse({ ...object, status }));
      },
    });
    const ask = createTokenReviewer(request);
    assert.equal(await ask(review("a"), new AbortController().signal), want);
  });
}

Deno.test("`review()` logs an unreachable API server once, and its return", async () => {
  const records = await logged(async () => {
    let away = true;
    const { cache } = bench(() => away ? Promise.reject(new Error("x")) : Promise.resolve(true));
    for (const hash of ["a", "b", "c"]) await cache.review(review(hash));
    away = false;
    for (const hash of ["d", "e"]) await cache.review(review(hash));
    await cache.close();
  }, "info");
  assert.deepEqual(records.map(({ level, rawMessage }) => `${level}: ${rawMessage}`), [
    "warning: tokens cannot be reviewed, trying again",
    "info: tokens can be reviewed again",
  ]);
});
