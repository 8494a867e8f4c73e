/** Tests of `--authentication review`: the API server judges, and what cannot be good costs no question. */
import assert from "node:assert/strict";
import { jobAudience } from "../../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../../crds/job_kinds.ts";
import type { ReviewedUser } from "../../../../platform/http/callers/reviews.ts";
import {
  claimedBy,
  createReviewVerifier,
  reviewedIdentity,
  type ReviewVerifierOptions,
} from "../../../../platform/http/callers/review_verification.ts";
import { createPushAudiences } from "../../../../status/chain/push_audience.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { bound, claims, forge, NOW_MS, part, sign, signingKey } from "./tokens.ts";

const pushAudiences = createPushAudiences(JOB_KINDS);

const key = await signingKey("k1");
const TOKEN = await sign(key);
const SECOND = 1000;
const inSeconds = (seconds: number) => NOW_MS / 1000 + seconds;
const signed = (changes: Record<string, unknown>) => sign(key, claims(changes));
const perJob = (namespace: string, name: string) => jobAudience(TRAINJOB, namespace, name);

/** What the API server says of the good token. */
const boundTo = (names: string[], uids: string[]) => ({
  "authentication.kubernetes.io/pod-name": names,
  "authentication.kubernetes.io/pod-uid": uids,
});

const USER: ReviewedUser = {
  username: "system:serviceaccount:team:default",
  uid: "uid-sa",
  audiences: ["trainer.kubeflow.org"],
  extra: boundTo(["job-1-node-0-0-abcde"], ["uid-pod-1"]),
};

function bench(options: Partial<ReviewVerifierOptions> = {}) {
  const clock = new FakeClock(NOW_MS);
  const asked: { token: string; audiences: readonly string[] }[] = [];
  const results: string[] = [];
  const state: { answer: () => Promise<ReviewedUser | undefined> } = {
    answer: () => Promise.resolve(USER),
  };
  const verifier = createReviewVerifier({
    clock,
    audiencesOf: pushAudiences,
    isKnownPod: () => true,
    request: (token, audiences) => {
      asked.push({ token, audiences });
      return state.answer();
    },
    onReview: (result) => results.push(result),
    ...options,
  });
  return { clock, asked, results, state, verifier };
}

const CHEAP: Record<string, { token: string; why: string }> = {
  "what is no JWT": { token: "a.b.c", why: "malformed_token" },
  "a token without key id": {
    token: await sign(key, claims(), { kid: undefined }),
    why: "malformed_token",
  },
  "an unsigned token": { token: forge({ alg: "none", kid: "k1" }), why: "wrong_algorithm" },
  "one signed by a shared secret": {
    token: forge({ alg: "HS256", kid: "k1" }, claims(), "AAAA"),
    why: "wrong_algorithm",
  },
  "claims that are no JSON": {
    token: `${part({ alg: "RS256", kid: "k1" })}.AAAA.AAAA`,
    why: "malformed_token",
  },
  "one without kubernetes.io claims": {
    token: await signed({ "kubernetes.io": undefined }),
    why: "malformed_token",
  },
  "one whose subject is not its service account": {
    token: await signed({ sub: "system:serviceaccount:team:other" }),
    why: "malformed_token",
  },
  "one whose nbf is a text": { token: await signed({ nbf: "now" }), why: "malformed_token" },
  "one that expired 31 s ago": { token: await signed({ exp: inSeconds(-31) }), why: "expired" },
  "one that is valid in 31 s": {
    token: await signed({ nbf: inSeconds(31) }),
    why: "not_yet_valid",
  },
  "one for another audience": {
    token: await signed({ aud: ["https://kubernetes.default.svc"] }),
    why: "wrong_audience",
  },
  "one for a job of another namespace": {
    token: await signed({ aud: [perJob("other", "job-1")] }),
    why: "wrong_audience",
  },
};
for (const [sentence, { token, why }] of Object.entries(CHEAP)) {
  Deno.test(`\`createReviewVerifier()\` refuses ${sentence} without a question`, async () => {
    const { asked, verifier } = bench();
    assert.deepEqual(await verifier.verify("h", token), { ok: false, why });
    assert.equal(verifier.refused("h"), why === "not_yet_valid" ? undefined : why);
    assert.deepEqual(asked, []);
  });
}

Deno.test("`claimedBy()` gives clocks 30 s, and names the audiences that pushes may have", async () => {
  for (const changes of [{ exp: inSeconds(-29) }, { nbf: inSeconds(29) }]) {
    assert(claimedBy(await signed(changes), NOW_MS, pushAudiences).ok);
  }
  const aud = ["x", "trainer.kubeflow.org", perJob("team", "job-1"), perJob("other", "job-1")];
  const claimed = claimedBy(await signed({ aud }), NOW_MS, pushAudiences);
  assert(claimed.ok);
  assert.deepEqual(claimed.identity.audiences, ["trainer.kubeflow.org", perJob("team", "job-1")]);
  const many = Array.from({ length: 60 }, (_, i) => perJob("team", `job-${i}`));
  const bounded = claimedBy(await signed({ aud: many }), NOW_MS, pushAudiences);
  assert(bounded.ok);
  assert.equal(bounded.identity.audiences.length, 8);
});

Deno.test("`verify()` returns the identity from the API server, not from the token's claims", async () => {
  const { asked, state, verifier } = bench();
  state.answer = () => Promise.resolve({ ...USER, extra: boundTo(["p"], ["u"]) });
  assert.deepEqual(await verifier.verify("h", TOKEN), {
    ok: true,
    identity: {
      subject: "system:serviceaccount:team:default",
      namespace: "team",
      serviceAccount: { name: "default", uid: "uid-sa" },
      pod: { name: "p", uid: "u" },
      audiences: ["trainer.kubeflow.org"],
      expiresMs: NOW_MS + 3540 * SECOND,
    },
  });
  assert.deepEqual(asked, [{ token: TOKEN, audiences: ["trainer.kubeflow.org"] }]);
});

Deno.test("`verify()` makes one request for concurrent callers, then none for ten minutes", async () => {
  const { clock, asked, verifier } = bench();
  const all = await Promise.all(Array.from({ length: 50 }, () => verifier.verify("h", TOKEN)));
  assert(all.every((it) => it.ok));
  assert((await verifier.verify("h", TOKEN)).ok);
  assert.equal(asked.length, 1);
  await clock.advance(599 * SECOND);
  assert.notEqual(verifier.known("h"), undefined);
  await clock.advance(SECOND);
  assert.equal(verifier.known("h"), undefined);
  assert((await verifier.verify("h", TOKEN)).ok);
  assert.equal(asked.length, 2);
});

Deno.test("`known()` ends with the token, however long its review holds", async () => {
  const { clock, verifier } = bench();
  await verifier.verify("h", await signed({ exp: inSeconds(60) }));
  clock.jump(89 * SECOND);
  assert.notEqual(verifier.known("h"), undefined);
  clock.jump(SECOND);
  assert.equal(verifier.known("h"), undefined);
});

Deno.test("`verify()` remembers a refusal for a minute", async () => {
  const { clock, asked, state, results, verifier } = bench();
  state.answer = () => Promise.resolve(undefined);
  assert.deepEqual(await verifier.verify("h", TOKEN), { ok: false, why: "revoked" });
  assert.equal(verifier.refused("h"), "revoked");
  await clock.advance(60 * SECOND);
  assert.equal(verifier.refused("h"), undefined);
  await verifier.verify("h", TOKEN);
  assert.equal(asked.length, 2);
  assert.deepEqual(results, ["refused", "refused"]);
});

Deno.test("`verify()` knows nothing while the API server does not answer, and asks a second later", async () => {
  const { clock, asked, state, results, verifier } = bench();
  state.answer = () => Promise.reject(new Error("away"));
  const want = { ok: false, why: "not_reviewed" };
  for (let i = 0; i < 3; i++) assert.deepEqual(await verifier.verify("h", TOKEN), want);
  assert.equal(verifier.refused("h"), undefined);
  assert.equal(asked.length, 1);
  assert.deepEqual(results, ["unavailable"]);
  state.answer = () => Promise.resolve(USER);
  await clock.advance(SECOND);
  assert((await verifier.verify("h", TOKEN)).ok);
});

Deno.test("`verify()` stays within its budget, and known pods come first", async () => {
  const { clock, asked, results, verifier } = bench({
    reviewsPerSecond: 10,
    isKnownPod: (_namespace, { uid }) => uid === "uid-pod-1",
  });
  const made = await signed({
    "kubernetes.io": bound({ pod: { name: "made-up", uid: "made-up" } }),
  });
  for (let i = 0; i < 100; i++) await verifier.verify(`made-up-${i}`, made);
  assert.equal(asked.length, 8);
  assert((await verifier.verify("a", TOKEN)).ok);
  assert((await verifier.verify("b", TOKEN)).ok);
  assert.deepEqual(await verifier.verify("c", TOKEN), { ok: false, why: "not_reviewed" });
  assert.equal(asked.length, 10);
  assert.equal(results.filter((it) => it === "over_budget").length, 93);
  await clock.advance(100);
  assert((await verifier.verify("c", TOKEN)).ok);
});

Deno.test("`createReviewVerifier()` remembers no more tokens than its limit", async () => {
  const { verifier, state } = bench({ maxKnown: 2, maxRefused: 2 });
  for (const hash of ["a", "b", "c"]) await verifier.verify(hash, TOKEN);
  assert.equal(verifier.known("a"), undefined);
  assert.notEqual(verifier.known("c"), undefined);
  state.answer = () => Promise.resolve(undefined);
  for (const hash of ["d", "e", "f"]) await verifier.verify(hash, TOKEN);
  assert.equal(verifier.refused("d"), undefined);
  assert.equal(verifier.refused("f"), "revoked");
});

Deno.test("`revoke()` takes a good token back", async () => {
  const { verifier } = bench();
  await verifier.verify("h", TOKEN);
  verifier.revoke("h");
  assert.equal(verifier.known("h"), undefined);
  assert.equal(verifier.refused("h"), "revoked");
});

Deno.test("`close()` ends running requests, and no request starts after it", async () => {
  const { verifier } = bench({
    request: (_token, _audiences, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("ended")), { once: true });
      }),
  });
  const outcome = verifier.verify("h", TOKEN);
  await verifier.close();
  const want = { ok: false, why: "not_reviewed" };
  assert.deepEqual(await outcome, want);
  assert.deepEqual(await verifier.verify("other", TOKEN), want);
});

const NOBODY: Record<string, Partial<ReviewedUser>> = {
  "a person": { username: "eve" },
  "a node": { username: "system:node:a" },
  "a service account without namespace": { username: "system:serviceaccount:default" },
  "a name with a part too many": { username: "system:serviceaccount:a:b:c" },
  "a service account without UID": { uid: "" },
};
for (const [sentence, changes] of Object.entries(NOBODY)) {
  Deno.test(`\`reviewedIdentity()\` finds no identity in ${sentence}`, () => {
    assert.equal(reviewedIdentity({ ...USER, ...changes }, NOW_MS), undefined);
  });
}

const UNBOUND: Record<string, Partial<ReviewedUser>> = {
  "no pod": { extra: boundTo([], []) },
  "no UID": { extra: boundTo(["job-1-node-0-0-abcde"], []) },
  "two pods": { extra: boundTo(["a", "b"], ["1", "2"]) },
};
for (const [sentence, changes] of Object.entries(UNBOUND)) {
  Deno.test(`\`reviewedIdentity()\` binds a token with ${sentence} to no pod`, () => {
    const identity = reviewedIdentity({ ...USER, ...changes }, NOW_MS);
    assert(identity);
    assert.equal(identity.pod, undefined);
  });
}
