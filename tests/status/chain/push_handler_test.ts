/** Tests of the chain in memory: every refusal, its code and its cost, and what passes. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import fc from "fast-check";
import { ClientGoneError, OverloadedError } from "../../../platform/http/message.ts";
import { TransportError } from "../../../platform/kube/errors.ts";
import { createChains } from "../../../status/chain/stages.ts";
import { logged } from "../../support/logged.ts";
import { until } from "../../support/until.ts";
import { handlerBench, KEY, PATH, PUSH, request, type Sent, TOKEN } from "./handler_bench.ts";
import { owned } from "../ownership/ownership_cluster.ts";
import {
  bound,
  claims,
  forge,
  hmacForged,
  NOW_MS,
  sign,
  signingKey,
} from "../../platform/http/callers/tokens.ts";

const stranger = await signingKey("k1");
const second = NOW_MS / 1000;
const tooLong = new Uint8Array(65_537).fill(0x20);

const REFUSED: Record<string, { sent: Sent; code: number; reason: string; lookups?: number }> = {
  "no token": { sent: { token: null }, code: 401, reason: "Unauthorized" },
  "another scheme": {
    sent: { token: null, headers: { authorization: "Basic eDp5" } },
    code: 401,
    reason: "Unauthorized",
  },
  "a scheme alone": {
    sent: { token: null, headers: { authorization: "Bearer" } },
    code: 401,
    reason: "Unauthorized",
  },
  "two tokens": { sent: { token: `${TOKEN} ${TOKEN}` }, code: 401, reason: "Unauthorized" },
  "what is no token": { sent: { token: "hunter2" }, code: 401, reason: "Unauthorized" },
  "a token of 9,000 characters": {
    sent: { token: `${TOKEN}${"A".repeat(9000)}` },
    code: 401,
    reason: "Unauthorized",
  },
  "an unsigned token": {
    sent: { token: forge({ alg: "none", kid: "k1" }) },
    code: 401,
    reason: "Unauthorized",
  },
  "an HS256 token made with the public key": {
    sent: { token: hmacForged(KEY, JSON.stringify(KEY.jwk)) },
    code: 401,
    reason: "Unauthorized",
  },
  "a stranger's signature": {
    sent: { token: await sign(stranger) },
    code: 401,
    reason: "Unauthorized",
  },
  "an unknown key id": {
    sent: { token: await sign(KEY, claims(), { kid: "k9" }) },
    code: 401,
    reason: "Unauthorized",
  },
  "an expired token": {
    sent: { token: await sign(KEY, claims({ exp: second - 31 })) },
    code: 401,
    reason: "Unauthorized",
  },
  "a token that is not valid yet": {
    sent: { token: await sign(KEY, claims({ nbf: second + 31 })) },
    code: 401,
    reason: "Unauthorized",
  },
  "another issuer's token": {
    sent: { token: await sign(KEY, claims({ iss: "https://other" })) },
    code: 401,
    reason: "Unauthorized",
  },
  "a token for another audience": {
    sent: { token: await sign(KEY, claims({ aud: ["https://kubernetes.default.svc"] })) },
    code: 401,
    reason: "Unauthorized",
  },
  "a token for another job's audience": {
    sent: { token: await sign(KEY, claims({ aud: [PATH.slice(6).replace("job-1", "job-2")] })) },
    code: 401,
    reason: "Unauthorized",
  },
  "another namespace's token": {
    sent: { url: PATH.replace("/team/", "/other/") },
    code: 403,
    reason: "Forbidden",
  },
  "a token that is bound to no pod": {
    sent: { token: await sign(KEY, claims({ "kubernetes.io": bound({ pod: undefined }) })) },
    code: 403,
    reason: "Forbidden",
  },
  "an unknown job of its namespace": {
    sent: { url: PATH.replace("job-1", "job-9") },
    code: 404,
    reason: "NotFound",
    lookups: 4,
  },
  "another path": { sent: { url: "/healthz" }, code: 404, reason: "NotFound" },
  "a path with a slash too many": { sent: { url: `${PATH}/` }, code: 404, reason: "NotFound" },
  "a path that climbs": {
    sent: { url: PATH.replace("/team/", "/x/../team/") },
    code: 404,
    reason: "NotFound",
  },
  "an escaped path": {
    sent: { url: PATH.replace("job-1", "job%2D1") },
    code: 404,
    reason: "NotFound",
  },
  "another path and no token": {
    sent: { url: "/", token: null },
    code: 404,
    reason: "NotFound",
  },
  "PUT": { sent: { method: "PUT" }, code: 405, reason: "MethodNotAllowed" },
  "a Content-Length over the limit, with any token": {
    sent: { token: null, headers: { "content-length": "65537" } },
    code: 413,
    reason: "RequestEntityTooLarge",
  },
  "a chunked body over the limit": {
    sent: { chunks: [tooLong.slice(1), tooLong.slice(65_536)] },
    code: 413,
    reason: "RequestEntityTooLarge",
    lookups: 5,
  },
  "what is not JSON": { sent: { body: "{" }, code: 422, reason: "Invalid", lookups: 5 },
  "no body": { sent: { body: "" }, code: 422, reason: "Invalid", lookups: 5 },
  "a percentage of 101": {
    sent: { body: { trainerStatus: { ...PUSH.trainerStatus, progressPercentage: 101 } } },
    code: 422,
    reason: "Invalid",
    lookups: 5,
  },
};

for (const [sentence, { sent, code, reason, lookups = 0 }] of Object.entries(REFUSED)) {
  Deno.test(`\`createPushHandler()\` refuses ${sentence} with ${code}`, async () => {
    const { send, counts, accepted, results } = handlerBench();
    for (let time = 1; time <= 2; time++) {
      const { status, headers, body } = await send(sent);
      assert.equal(status, code);
      const { message, details, ...rest } = body;
      assert.deepEqual(rest, {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        reason,
        code,
      });
      assert.equal(typeof message, "string");
      assert.equal(details === undefined, code !== 422);
      assert.equal(headers["WWW-Authenticate"], code === 401 ? "Bearer" : undefined);
      assert.equal(headers.Allow, code === 405 ? "GET, POST" : undefined);
      assert.equal(JSON.stringify(body).includes(TOKEN), false);
      if (time === 1) assert.equal(counts.lookups.lookups, lookups);
    }
    assert.deepEqual(accepted, []);
    assert.equal(counts.reviews, 0);
    assert.deepEqual(results, Array(2).fill(reason.toLowerCase()));
  });
}

Deno.test("`createPushHandler()` names the invalid field and its limit", async () => {
  const { send } = handlerBench();
  const trainerStatus = { ...PUSH.trainerStatus, progressPercentage: 1.5 };
  const { body } = await send({ body: { trainerStatus } });
  const problem = "must be a whole number from 0 to 100";
  assert.deepEqual(body.details, {
    causes: [{ field: "trainerStatus.progressPercentage", message: problem }],
  });
  assert.match(body.message, /trainerStatus\.progressPercentage: must be .* 0 to 100/);
});

Deno.test("`createPushHandler()` passes a valid push to its owner and returns its content", async () => {
  const { send, accepted, results } = handlerBench();
  const pushed = { ...PUSH, sequence: 17, container: "node" };
  const { status, headers, body } = await send({ body: { ...pushed, unknown: 1 } });
  assert.equal(status, 200);
  assert.equal(headers["Content-Type"], "application/json");
  assert.deepEqual(body, pushed);
  assert.deepEqual(accepted, [{
    job: { kind: TRAINJOB, namespace: "team", name: "job-1", uid: "uid-trainjob" },
    pod: { name: "job-1-node-0-0-abcde", uid: "uid-pod-1" },
    trainerStatus: PUSH.trainerStatus,
    sequence: 17,
    container: "node",
    receivedMs: NOW_MS,
  }]);
  assert.deepEqual(results, ["accepted"]);
});

const TAKEN: Record<string, Sent> = {
  "a query string": { url: `${PATH}?pretty=true` },
  "a scheme in any case, with any space": {
    token: null,
    headers: { authorization: `bEARER \t ${TOKEN} ` },
  },
  "upstream's audience of this job": {
    token: await sign(KEY, claims({ aud: PATH.slice(6) })),
  },
  "a body of exactly the limit": { body: JSON.stringify(PUSH).padEnd(65_536) },
  "a chunked body": { chunks: [new TextEncoder().encode(JSON.stringify(PUSH))] },
};
for (const [sentence, sent] of Object.entries(TAKEN)) {
  Deno.test(`\`createPushHandler()\` takes ${sentence}`, async () => {
    const { send, accepted } = handlerBench();
    assert.equal((await send(sent)).status, 200);
    assert.equal(accepted.length, 1);
  });
}

Deno.test("`createPushHandler()` answers 200 to an empty push and changes nothing", async () => {
  const { send, accepted } = handlerBench();
  for (const body of [{}, null, { trainerStatus: null }, { later: {} }]) {
    const answer = await send({ body });
    assert.deepEqual([answer.status, answer.body], [200, {}]);
  }
  assert.deepEqual(accepted, []);
});

Deno.test("`createPushHandler()` passes warnings and control on", async () => {
  const control = { stop: true, reason: "EarlyStopped", message: "loss is over 0.5" };
  const { send } = handlerBench({ answer: { ok: true, warnings: ["late"], control } });
  assert.deepEqual((await send()).body, { ...PUSH, warnings: ["late"], control });
  const quiet = handlerBench({ answer: { ok: true, warnings: [] } });
  assert.deepEqual((await quiet.send()).body, PUSH);
});

Deno.test("`createPushHandler()` answers 503 with Retry-After if the owner cannot accept the push", async () => {
  const { send } = handlerBench({ answer: { retryAfterMs: 2500, reason: "no owner" } });
  const { status, headers, body } = await send();
  assert.deepEqual([status, headers["Retry-After"], body.message], [503, "3", "no owner"]);
});

Deno.test("`createPushHandler()` answers 404 if the owner says that the job is about to be deleted", async () => {
  const answer = { gone: true, retryAfterMs: 1000, reason: "its Trial is being deleted" };
  const { send } = handlerBench({ answer });
  const { status, headers, body } = await send();
  assert.deepEqual([status, headers["Retry-After"], body.reason], [404, undefined, "NotFound"]);
});

Deno.test("`createPushHandler()` answers 503 if the owner takes too long, and aborts its call", async () => {
  let told = false;
  const { send, clock } = handlerBench({
    acceptDeadlineMs: 3000,
    accept: (_push, signal) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          told = true;
          resolve({ ok: true });
        });
      }),
  });
  const answer = send();
  await until("the owner is waited for", () => clock.sleeping > 0);
  await clock.advance(3000);
  assert.equal((await answer).status, 503);
  assert(told);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`createPushHandler()` answers 503 before the keys are known", async () => {
  const { status, headers } = await handlerBench({ notReady: true }).send();
  assert.deepEqual([status, headers["Retry-After"]], [503, "1"]);
});

Deno.test("`createPushHandler()` answers 500 to a bug, and 403 to a pod that went away", async () => {
  const broken = handlerBench({ accept: () => Promise.reject(new Error("secret detail")) });
  const { status, body } = await broken.send();
  assert.equal(status, 500);
  assert.doesNotMatch(body.message, /secret/);
  const gone = handlerBench();
  assert.equal((await gone.send()).status, 200);
  gone.objects.pod.clear();
  assert.equal((await gone.send()).status, 403);
});

Deno.test("`createPushHandler()` limits a pod to its rate, and not the others", async () => {
  const other = { name: "job-1-node-0-1-xyzzy", uid: "uid-pod-2" };
  const { send, clock, objects } = handlerBench();
  const first = objects.pod.get("team/job-1-node-0-0-abcde");
  objects.pod.set(`team/${other.name}`, {
    ...owned(other.name, other.uid, ...first?.metadata?.ownerReferences ?? []),
    status: { phase: "Running" },
  });
  for (let push = 0; push < 100; push++) assert.equal((await send()).status, 200);
  const refused = await send();
  assert.deepEqual([refused.status, refused.headers["Retry-After"]], [429, "1"]);
  const token = await sign(KEY, claims({ "kubernetes.io": bound({ pod: other }) }));
  assert.equal((await send({ token })).status, 200);
  await clock.advance(1000);
  for (let push = 0; push < 20; push++) assert.equal((await send()).status, 200);
  assert.equal((await send()).status, 429);
});

Deno.test("`createPushHandler()` limits a subject to its rate", async () => {
  const limits = { pushesPerSubject: { ratePerSecond: 1, burst: 3 } };
  const { send, counts } = handlerBench({ limits });
  for (let push = 0; push < 3; push++) assert.equal((await send()).status, 200);
  const before = counts.lookups.lookups;
  assert.equal((await send()).status, 429);
  assert.equal(counts.lookups.lookups, before);
});

/** Tokens of the right shape that are all different, and signed by nobody. */
const forgeries = (count: number) =>
  Array.from(
    { length: count },
    (_, number) => forge({ alg: "RS256", kid: "k1" }, { number }, "AAAA"),
  );

Deno.test("`createPushHandler()` stops checking a peer that fails too often, except for known good tokens", async () => {
  const limits = { failuresPerPeer: { ratePerSecond: 1, burst: 5 } };
  const { send, clock } = handlerBench({ limits });
  assert.equal((await send()).status, 200);
  for (const token of forgeries(5)) assert.equal((await send({ token })).status, 401);
  const refused = await send({ token: await sign(stranger) });
  assert.deepEqual([refused.status, refused.headers["Retry-After"]], [429, "1"]);
  assert.equal((await send()).status, 200);
  assert.equal((await send({ token: null, peer: "10.0.0.2" })).status, 401);
  await clock.advance(1000);
  assert.equal((await send({ token: null })).status, 401);
});

Deno.test("`createPushHandler()` charges a peer for what was under way when its budget ended", async () => {
  const limits = { failuresPerPeer: { ratePerSecond: 1, burst: 5 } };
  const { send, clock } = handlerBench({ limits });
  const [one, two, three, four, ...rest] = forgeries(24);
  const together = await Promise.all(rest.map((token) => send({ token })));
  assert.ok(together.every(({ status }) => status === 401));
  const refused = await send({ token: one });
  assert.deepEqual([refused.status, refused.headers["Retry-After"]], [429, "6"]);
  await clock.advance(5000);
  assert.equal((await send({ token: two })).status, 429);
  await clock.advance(1000);
  assert.equal((await send({ token: three })).status, 401);
  assert.equal((await send({ token: four })).status, 429);
});

Deno.test("`createPushHandler()` closes the connection of a peer over its budget, but for one that has a good pod", async () => {
  const limits = { failuresPerPeer: { ratePerSecond: 1, burst: 2 } };
  const { send, clock } = handlerBench({ limits });
  assert.equal((await send({ peer: "10.0.0.1" })).status, 200);
  const connections: (string | undefined)[] = [];
  for (const peer of ["10.0.0.1", "10.0.0.2"]) {
    for (const token of forgeries(2)) {
      const failed = await send({ token, peer });
      assert.deepEqual([failed.status, failed.headers.Connection], [401, undefined]);
    }
    const refused = await send({ token: "a.b.c", peer });
    assert.equal(refused.status, 429);
    connections.push(refused.headers.Connection);
  }
  assert.deepEqual(connections, [undefined, "close"]);
  // The good pod's token is not asked for its signature, and passes.
  assert.equal((await send({ peer: "10.0.0.1" })).status, 200);
  assert.equal((await send({ peer: "10.0.0.2" })).status, 200);
  await clock.advance(1000);
  assert.equal((await send({ token: null, peer: "10.0.0.2" })).status, 401);
});

Deno.test("`createPushHandler()` does not lock out new pods of an address by misconfigured ones there", async () => {
  const limits = { failuresPerPeer: { ratePerSecond: 1, burst: 5 } };
  const { send } = handlerBench({ limits });
  assert.equal((await send()).status, 200);
  const [bad] = forgeries(1);
  const expired = await sign(KEY, claims({ exp: second - 31 }));
  for (const token of [bad, expired, null, "hunter2"]) {
    for (let push = 0; push < 20; push++) assert.equal((await send({ token })).status, 401);
  }
  const fresh = await sign(KEY, claims({ jti: "another" }));
  assert.equal((await send({ token: fresh })).status, 200);
});

/** How often a signature is checked, which is what an attacker would have the endpoint do. */
const COSTS: Record<string, { sent: readonly Sent[]; verified: number }> = {
  "a bad token that comes again": {
    sent: Array.from(
      { length: 4 },
      () => ({ token: forge({ alg: "RS256", kid: "k1" }, claims(), "AAAA") }),
    ),
    verified: 1,
  },
  "ever new tokens of a peer over its budget": {
    sent: forgeries(9).map((token) => ({ token })),
    verified: 3,
  },
  "a known good token of a peer over its budget": {
    sent: [{}, ...forgeries(6).map((token) => ({ token })), {}, {}],
    verified: 4,
  },
  "what is no token": { sent: [{ token: null }, { token: "hunter2" }], verified: 0 },
  "another path, whoever asks": { sent: [{ url: "/" }, { url: "/" }], verified: 0 },
  "another method, whoever asks": { sent: [{ method: "PUT" }], verified: 0 },
  "a Content-Length over the limit, whoever asks": {
    sent: [{ headers: { "content-length": "9000000" } }],
    verified: 0,
  },
};
for (const [sentence, { sent, verified }] of Object.entries(COSTS)) {
  Deno.test(`\`createPushHandler()\` checks ${verified} signatures of ${sentence}`, async () => {
    const limits = { failuresPerPeer: { ratePerSecond: 0.001, burst: 3 } };
    const { send, counts } = handlerBench({ limits });
    const { subtle } = crypto;
    const { verify } = subtle;
    let checks = 0;
    subtle.verify = (...args: Parameters<typeof verify>) => {
      checks += 1;
      return verify.apply(subtle, args);
    };
    try {
      for (const one of sent) await send(one);
    } finally {
      subtle.verify = verify;
    }
    assert.equal(checks, verified);
    assert.ok(verified > 0 || counts.lookups.lookups === 0);
  });
}

Deno.test("`createPushHandler()` checks the signature of a forged token once", async () => {
  const { send, verifier } = handlerBench();
  let checks = 0;
  const { verify } = verifier;
  verifier.verify = (...args) => {
    checks += 1;
    return verify(...args);
  };
  const token = await sign(stranger);
  for (let time = 0; time < 3; time++) assert.equal((await send({ token })).status, 401);
  assert.equal(checks, 1);
});

Deno.test("`createPushHandler()` judges each request of a connection by its own token, and anew", async () => {
  const { handle, verifier } = handlerBench();
  const hashes: string[] = [];
  const { verify } = verifier;
  verifier.verify = (hash, token) => {
    hashes.push(hash);
    return verify(hash, token);
  };
  const connection = {};
  const codeOf = async (sent: Sent) => (await handle({ ...request(sent), connection })).status;
  const other = await sign(KEY, claims({ jti: "another" }));
  const tokens = [TOKEN, TOKEN, other, TOKEN, null, `${TOKEN}A`, await sign(stranger), TOKEN];
  const codes = [];
  for (const token of tokens) codes.push(await codeOf({ token }));
  assert.deepEqual(codes, [200, 200, 200, 200, 401, 401, 401, 200]);
  const [first, second, third] = hashes;
  assert.equal(first, second);
  assert.notEqual(first, third);
  verifier.revoke(first ?? "");
  assert.equal(await codeOf({}), 401);
  assert.equal(await codeOf({ token: other }), 200);
});

Deno.test("`createPushHandler()` reviews a token once, in the background; a refusal revokes it", async () => {
  const review = Promise.withResolvers<boolean>();
  const { send, counts } = handlerBench({ ask: () => review.promise });
  assert.equal((await send()).status, 200);
  assert.equal((await send()).status, 200);
  assert.equal(counts.reviews, 1);
  review.resolve(false);
  await review.promise;
  await new Promise((resolve) => setTimeout(resolve, 0));
  assert.equal((await send()).status, 401);
  assert.equal(counts.reviews, 1);
});

Deno.test("`createPushHandler()` waits for the review of a trial's token", async () => {
  const awaitsReview = () => true;
  const good = handlerBench({ awaitsReview });
  for (let time = 0; time < 3; time++) assert.equal((await good.send()).status, 200);
  assert.equal(good.counts.reviews, 1);
  const bad = handlerBench({ awaitsReview, ask: () => Promise.resolve(false) });
  assert.equal((await bad.send()).status, 401);
  assert.deepEqual(bad.accepted, []);
  const away = handlerBench({ awaitsReview, ask: () => Promise.reject(new Error("away")) });
  assert.equal((await away.send()).status, 503);
  assert.deepEqual(away.accepted, []);
});

Deno.test("`createPushHandler()` works without reviews", async () => {
  const { send, counts } = handlerBench({ reviews: undefined });
  assert.equal((await send()).status, 200);
  assert.equal(counts.reviews, 0);
});

Deno.test("`createPushHandler()` answers every request", async () => {
  const { send, accepted } = handlerBench();
  const text = fc.string({ unit: "binary", maxLength: 300 });
  const sent = fc.record({
    method: fc.constantFrom("POST", "GET", "", "post"),
    url: fc.oneof(text, fc.constant(PATH), text.map((rest) => PATH + rest)),
    token: fc.oneof(text, fc.constant(TOKEN), fc.constant(null)),
    body: fc.oneof(text, fc.jsonValue()),
    headers: fc.constantFrom<Record<string, string>>({}, { "content-length": "x" }),
  });
  await fc.assert(
    fc.asyncProperty(sent, async (one) => {
      const { status, body } = await send(one);
      assert([200, 401, 404, 405, 413, 422, 429, 503].includes(status), String(status));
      assert(status === 200 || body.kind === "Status");
    }),
    { numRuns: 300 },
  );
  for (const push of accepted) assert.equal(typeof push.trainerStatus.lastUpdatedTime, "string");
});

Deno.test("`createPushHandler()` logs an unreachable API server once, until a push is accepted", async () => {
  let away = true;
  const { send } = handlerBench({
    accept: () =>
      away
        ? Promise.reject(new TransportError("connection refused"))
        : Promise.resolve({ ok: true }),
  });
  const records = await logged(async () => {
    for (let outage = 0; outage < 2; outage++) {
      away = true;
      for (let push = 0; push < 5; push++) assert.equal((await send()).status, 503);
      away = false;
      assert.equal((await send()).status, 200);
    }
  });
  const told = records.filter(({ level }) => level === "warning" || level === "error");
  assert.deepEqual(told.map(({ properties }) => properties.problem), [
    "connection refused",
    "connection refused",
  ]);
});

Deno.test("`createPushHandler()` does not mistake a client that left for an outage", async () => {
  const { handle, results } = handlerBench();
  const records = await logged(async () => {
    const gone = () => Promise.reject(new ClientGoneError());
    assert.equal((await handle({ ...request(), readBody: gone })).status, 503);
  });
  assert.deepEqual(results, ["serviceunavailable"]);
  const [first] = records.map(({ level, rawMessage }) => `${level}: ${String(rawMessage)}`);
  assert.equal(first, "debug: a client went away before its request was read");
});

Deno.test("`createPushHandler()` asks to try again if there is no room for the body", async () => {
  const { handle, results } = handlerBench();
  const records = await logged(async () => {
    const full = () => Promise.reject(new OverloadedError());
    const { status, headers } = await handle({ ...request(), readBody: full });
    assert.deepEqual([status, headers["Retry-After"]], [503, "1"]);
  });
  assert.deepEqual(results, ["serviceunavailable"]);
  assert.deepEqual(records.filter(({ level }) => level === "error" || level === "warning"), []);
});

Deno.test("`createPushHandler()` never logs a token", async () => {
  const records = await logged(async () => {
    const ask = () => Promise.reject(new Error("away"));
    const { send } = handlerBench({ ask, accept: () => Promise.reject(new Error("bug")) });
    for (const { sent } of Object.values(REFUSED)) await send(sent);
    await send();
  });
  assert(records.length > Object.keys(REFUSED).length);
  const text = JSON.stringify(records);
  for (const secret of [TOKEN, TOKEN.split(".")[2] ?? "", "hunter2"]) {
    assert(!text.includes(secret));
  }
});

Deno.test("`createChains()` keeps the order: nothing is looked up before the token is checked", () => {
  const { verifier, reviews, reading, clock } = handlerBench();
  const bucket = { take: () => 0, charge: () => {}, waitMs: () => 0, used: () => 0 };
  const chains = createChains({
    verifier,
    reviews,
    reading,
    clock,
    ownership: { decide: () => Promise.reject(new Error("not called")) },
    awaitsReview: () => false,
    accept: () => Promise.resolve({ ok: true }),
    beat() {},
    controlNow: () => undefined,
    acceptDeadlineMs: 1,
    podPushes: bucket,
    subjectPushes: bucket,
    podBeats: bucket,
    podHistories: bucket,
    subjectHistories: bucket,
    samples: { pods: bucket, subjects: bucket, all: bucket },
  });
  const names = (stages: readonly { name: string }[]) => stages.map(({ name }) => name);
  const caller = [
    "content length",
    "bearer shape",
    "refused tokens",
    "token",
    "scope",
    "pod rate",
    "subject rate",
  ];
  const write = ["ownership", "body", "review", "ownership again", "hand over"];
  const push = write.toSpliced(2, 0, "heartbeat rate");
  const read = ["ownership", "review", "ownership again"];
  const histories = [
    "history rate of the pod",
    "history rate of the subject",
    "history samples",
  ];
  assert.deepEqual(names(chains.push), [...caller, ...push]);
  assert.deepEqual(names(chains.history), [...caller, ...histories, ...write]);
  assert.deepEqual(names(chains.read), [...caller, ...read, "read"]);
  assert.deepEqual(names(chains.watch), [...caller, ...read, "watch"]);
  const again = ["refused tokens", "token", "scope", "ownership", "review"];
  assert.deepEqual(names(chains.recheck), again);
});
