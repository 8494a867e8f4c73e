/** Tests of authentication through the whole chain: rotated keys, another issuer, and the rate of reviews. */
import assert from "node:assert/strict";
import { createBearerReader } from "../../../platform/http/callers/bearer.ts";
import { createPushAudiences } from "../../../status/chain/push_audience.ts";
import { createJwksSource } from "../../../platform/http/callers/jwks.ts";
import { createReviewVerifier } from "../../../platform/http/callers/review_verification.ts";
import { createReviewCache } from "../../../platform/http/callers/token_review.ts";
import { createTokenVerifier } from "../../../platform/http/callers/token_verification.ts";
import { jobAudience } from "../../../crds/job_kind.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { FakeClock, until as untilTurn } from "../../support/fake_clock.ts";
import { handlerBench, KEY, request, TOKEN } from "./handler_bench.ts";
import { claims, ISSUER, NOW_MS, sign, signingKey } from "../../platform/http/callers/tokens.ts";
import { answeringClient } from "../../support/answering_client.ts";

const pushAudiences = createPushAudiences(JOB_KINDS);

/** Good tokens of one pod, each another. */
function tokens(count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, (_, i) => sign(KEY, claims({ jti: `t-${i}` }))));
}

/** A chain whose keys come from an API server that a test changes. */
async function withKeys(
  work: (bench: {
    server: { issuer: string; keys: unknown[]; reads: number };
    clock: FakeClock;
    push: (token: string) => Promise<number>;
  }) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock(NOW_MS);
  const published: unknown[] = [KEY.jwk];
  const server = { issuer: ISSUER, keys: published, reads: 0 };
  const keys = createJwksSource({
    clock,
    client: answeringClient(({ path }) => {
      if (path.includes("jwks")) server.reads += 1;
      return Response.json(
        path.includes("jwks") ? { keys: server.keys } : { issuer: server.issuer },
      );
    }, clock),
  });
  const stop = new AbortController();
  const running = keys.run(stop.signal);
  try {
    await clock.advance(20_000);
    const { send } = handlerBench({ verifier: createTokenVerifier({ keys, clock }) });
    await work({ server, clock, push: async (token) => (await send({ token })).status });
  } finally {
    stop.abort();
    await running;
  }
}

Deno.test("tokens of a removed key are refused, also those that were good before", () =>
  withKeys(async ({ server, clock, push }) => {
    assert.equal(await push(TOKEN), 200);
    const next = await signingKey("k2");
    const nextToken = await sign(next);
    server.keys = [next.jwk];
    assert.equal(await push(TOKEN), 200, "nothing says yet that the key has gone");
    assert.equal(await push(nextToken), 401);
    await clock.advance(0);
    assert.equal(server.reads, 2);
    assert.equal(await push(nextToken), 200);
    assert.equal(await push(TOKEN), 401);
    for (let i = 0; i < 50; i++) await push(TOKEN);
    await clock.advance(9_999);
    assert.equal(server.reads, 2);
    await clock.advance(1);
    assert.equal(server.reads, 3);
  }));

Deno.test("a removed key is noticed within the hour without any unknown key", () =>
  withKeys(async ({ server, clock, push }) => {
    const short = await sign(KEY, claims({ exp: NOW_MS / 1000 + 7200 }));
    assert.equal(await push(short), 200);
    server.keys = [(await signingKey("k2")).jwk];
    await clock.advance(3_600_000);
    assert.equal(await push(short), 401);
  }));

Deno.test("tokens of the earlier issuer are refused when the API server has another one", () =>
  withKeys(async ({ server, clock, push }) => {
    assert.equal(await push(TOKEN), 200);
    server.issuer = "https://new.example";
    const moved = await sign(KEY, claims({ iss: "https://new.example" }));
    assert.equal(await push(moved), 401);
    await clock.advance(3_600_000);
    const later = { exp: NOW_MS / 1000 + 9000 };
    assert.equal(await push(await sign(KEY, claims(later))), 401);
    const fresh = { iss: "https://new.example", ...later };
    assert.equal(await push(await sign(KEY, claims(fresh))), 200);
  }));

/** A chain whose reviews a test answers and counts. */
function withReviews(reviewsPerSecond: number, awaited: boolean) {
  const clock = new FakeClock(NOW_MS);
  const state = { asked: 0, waiting: Array<() => void>() };
  const reviews = createReviewCache({
    clock,
    reviewsPerSecond,
    onRefused: () => {},
    ask: async () => {
      state.asked += 1;
      await new Promise<void>((resolve) => state.waiting.push(resolve));
      return true;
    },
  });
  const { send } = handlerBench({ reviews, clock, awaitsReview: () => awaited });
  return {
    clock,
    state,
    answerAll: () => state.waiting.splice(0).forEach((answer) => answer()),
    push: async (token: string) => (await send({ token })).status,
  };
}

Deno.test("many concurrent pushes of one token cost one review in the background", async () => {
  const { state, push, answerAll } = withReviews(50, false);
  const codes = await Promise.all(Array.from({ length: 80 }, () => push(TOKEN)));
  assert.deepEqual(new Set(codes), new Set([200]));
  assert.equal(state.asked, 1);
  answerAll();
  assert.equal(await push(TOKEN), 200);
  assert.equal(state.asked, 1);
});

Deno.test("many pushes of one token of a trial at once wait for one review", async () => {
  const { state, push, answerAll } = withReviews(50, true);
  let answered = 0;
  const pushes = Array.from({ length: 80 }, async () => {
    const code = await push(TOKEN);
    answered += 1;
    return code;
  });
  await untilTurn("reviews are asked", () => state.asked > 0);
  assert.equal(answered, 0);
  answerAll();
  assert.deepEqual(new Set(await Promise.all(pushes)), new Set([200]));
  assert.equal(state.asked, 1);
});

Deno.test("tokens beyond the budget are accepted, and reviewed with a later push", async () => {
  const { clock, state, push, answerAll } = withReviews(10, false);
  const all = await tokens(40);
  for (const token of all) assert.equal(await push(token), 200);
  // Of ten at once two are kept for those that somebody waits for.
  assert.equal(state.asked, 8);
  answerAll();
  for (let turn = 1; turn <= 4; turn++) {
    // Long enough for the rate of the pod's pushes; no more than ten are saved up meanwhile.
    await clock.advance(3000);
    for (const token of all) assert.equal(await push(token), 200);
    answerAll();
    assert.equal(state.asked, 8 * (turn + 1));
  }
  assert.equal(state.asked, 40, "each token was reviewed once");
});

Deno.test("a trial's tokens beyond the budget get 503", async () => {
  const { clock, state, push, answerAll } = withReviews(10, true);
  const all = await tokens(12);
  const pushes = all.map(push);
  await untilTurn("reviews are asked", () => state.asked === 10);
  await clock.advance(0);
  answerAll();
  const codes = await Promise.all(pushes);
  assert.equal(codes.filter((code) => code === 200).length, 10);
  assert.equal(codes.filter((code) => code === 503).length, 2);
  await clock.advance(1000);
  const again = all.map(push);
  await untilTurn("reviews are asked", () => state.asked === 12);
  answerAll();
  assert.deepEqual(new Set(await Promise.all(again)), new Set([200]));
  assert.equal(state.asked, 12);
});

Deno.test("upstream's audience is accepted for its own job only, also with --authentication review", async () => {
  const clock = new FakeClock(NOW_MS);
  const aud = jobAudience(TRAINJOB, "team", "job-1");
  const asked: string[] = [];
  const verifier = createReviewVerifier({
    clock,
    audiencesOf: pushAudiences,
    isKnownPod: () => true,
    request: (_token, audiences) => {
      asked.push(...audiences);
      return Promise.resolve({
        username: "system:serviceaccount:team:default",
        uid: "uid-sa",
        audiences,
        extra: {
          "authentication.kubernetes.io/pod-name": ["job-1-node-0-0-abcde"],
          "authentication.kubernetes.io/pod-uid": ["uid-pod-1"],
        },
      });
    },
  });
  const { send } = handlerBench({ verifier, clock });
  const token = await sign(KEY, claims({ aud: [aud] }));
  const url = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs/job-2/status";
  assert.equal((await send({ token, url })).status, 401);
  assert.equal((await send({ token })).status, 200, "the wrong path first takes nothing away");
  assert.deepEqual(asked, [aud]);
});

Deno.test("`createBearerReader()` keeps the token of a connection only if it is good", () => {
  let isGood = false;
  const read = createBearerReader(() => isGood);
  const from = { ...request({}), connection: {} };
  assert.notEqual(read(from), read(from), "a stranger's token is not kept");
  isGood = true;
  assert.equal(read(from), read(from));
  const elsewhere = { ...from, connection: {} };
  assert.notEqual(read(elsewhere), read(from));
});

Deno.test("a body that is sent slowly is not taken from a pod that is deleted meanwhile", async () => {
  const { handle, clock, objects, accepted, counts } = handlerBench();
  /** Sends the body in so much time; `meanwhile` happens before its end. */
  const push = async (takesMs: number, meanwhile = () => {}) => {
    const sent = request();
    const answer = handle({
      ...sent,
      readBody: async (maxBytes) => {
        await clock.sleep(takesMs);
        meanwhile();
        return await sent.readBody(maxBytes);
      },
    });
    // Signatures are checked on another thread: the body is read once that is done.
    await untilTurn("the body is read", () => clock.sleeping === 1);
    await clock.advance(takesMs);
    return (await answer).status;
  };
  assert.equal(await push(499), 200);
  const before = counts.lookups.lookups;
  assert.equal(await push(501), 200);
  assert(counts.lookups.lookups > before + 3, "it was looked up again");
  assert.equal(await push(1000, () => objects.pod.clear()), 403);
  assert.equal(accepted.length, 2);
});

Deno.test("a body that is sent slowly is not taken with a token that is revoked meanwhile", async () => {
  const { handle, clock, verifier, accepted } = handlerBench();
  const sent = request();
  let hash = "";
  const { verify } = verifier;
  verifier.verify = (of, token) => {
    hash = of;
    return verify(of, token);
  };
  const answer = handle({
    ...sent,
    readBody: async (maxBytes) => {
      await clock.sleep(1000);
      verifier.revoke(hash);
      return await sent.readBody(maxBytes);
    },
  });
  await untilTurn("the body is read", () => clock.sleeping === 1);
  await clock.advance(1000);
  assert.equal((await answer).status, 401);
  assert.deepEqual(accepted, []);
});
