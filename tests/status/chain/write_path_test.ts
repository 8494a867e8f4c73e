/** Tests of the write path in memory: histories, packed bodies, and times that cannot be. */
import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { HISTORY_LIMITS, PUSH_LIMITS } from "../../../crds/names.ts";
import type { HttpRequest } from "../../../platform/http/message.ts";
import { handlerBench, KEY, PATH, PUSH, request, type Sent } from "./handler_bench.ts";
import { owned, type TestCluster } from "../ownership/ownership_cluster.ts";
import { bound, claims, NOW_MS, sign } from "../../platform/http/callers/tokens.ts";

const HISTORY = `${PATH}/history`;
const GZIP = { "content-encoding": "gzip" };
const at = (secondsAgo: number, progressPercentage = 5) => ({
  progressPercentage,
  lastUpdatedTime: new Date(NOW_MS - secondsAgo * 1000).toISOString(),
});
const packed = (body: unknown) => [gzipSync(JSON.stringify(body))];
/** A request whose Content-Length tells nothing. */
const chunked = (chunks: Uint8Array[], more: Sent = {}): Sent => ({ chunks, ...more });

Deno.test("`createPushHandler()` hands a history over as one push, and answers its newest sample", async () => {
  const { send, accepted, results } = handlerBench();
  const samples = [at(30, 1), at(20, 2), at(10, 3)];
  const { status, body } = await send({ url: HISTORY, body: { samples } });
  assert.deepEqual([status, body], [200, { trainerStatus: at(10, 3), count: 3 }]);
  assert.equal(accepted.length, 1);
  assert.deepEqual(accepted[0]?.trainerStatus, at(10, 3));
  assert.deepEqual(accepted[0]?.earlier, [at(30, 1), at(20, 2)]);
  assert.deepEqual(results, ["accepted"]);
});

Deno.test("`createPushHandler()` answers 200 to an empty history and changes nothing", async () => {
  const { send, accepted } = handlerBench();
  const { status, body } = await send({ url: HISTORY, body: { samples: [] } });
  assert.deepEqual([status, body, accepted], [200, { count: 0 }, []]);
});

Deno.test("`createPushHandler()` passes warnings and control on for a history", async () => {
  const control = { stop: true, reason: "EarlyStopped", message: "enough" };
  const { send } = handlerBench({ answer: { ok: true, warnings: ["late"], control } });
  const { body } = await send({ url: HISTORY, body: { samples: [at(1)] } });
  assert.deepEqual(body, { trainerStatus: at(1), count: 1, warnings: ["late"], control });
});

const long = JSON.stringify(PUSH).padEnd(PUSH_LIMITS.bodyBytes + 1);
const longest = JSON.stringify({ samples: [at(1)] }).padEnd(HISTORY_LIMITS.bodyBytes);
const TAKEN: Record<string, Sent> = {
  "a gzip push": { chunks: packed(PUSH), headers: GZIP },
  "a gzip push in two pieces": {
    chunks: [packed(PUSH)[0]?.slice(0, 9), packed(PUSH)[0]?.slice(9)].flatMap((it) => it ?? []),
    headers: GZIP,
  },
  "a push that says it is not packed": { headers: { "content-encoding": "identity" } },
  "a gzip push that is as long as can be": {
    chunks: [gzipSync(long.slice(0, -1))],
    headers: GZIP,
  },
  "a gzip history": { url: HISTORY, chunks: packed({ samples: [at(1)] }), headers: GZIP },
  "a history that is as long as can be": { url: HISTORY, body: longest },
  "a gzip history that is as long as can be": {
    url: HISTORY,
    chunks: [gzipSync(longest)],
    headers: GZIP,
  },
  "a history with a query string": { url: `${HISTORY}?pretty=true`, body: { samples: [at(1)] } },
};
for (const [sentence, sent] of Object.entries(TAKEN)) {
  Deno.test(`\`createPushHandler()\` takes ${sentence}`, async () => {
    const { send, accepted } = handlerBench();
    const { status, body } = await send(sent);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(accepted.length, 1);
  });
}

const REFUSED: Record<string, { sent: Sent; code: number; field?: string; lookups?: number }> = {
  "an unknown Content-Encoding": {
    sent: { headers: { "content-encoding": "br" } },
    code: 422,
    field: "Content-Encoding",
  },
  "gzip upon gzip": {
    sent: { headers: { "content-encoding": "gzip, gzip" } },
    code: 422,
    field: "Content-Encoding",
  },
  "a plain body that is said to be gzip": {
    sent: { headers: GZIP },
    code: 422,
    field: "Content-Encoding",
  },
  "an empty body that is said to be gzip": {
    sent: chunked([], { headers: GZIP }),
    code: 422,
    field: "Content-Encoding",
  },
  "gzip that is cut short": {
    sent: chunked([packed(PUSH)[0]?.slice(0, -4) ?? new Uint8Array()], { headers: GZIP }),
    code: 422,
    field: "Content-Encoding",
  },
  "gzip with garbage after it": {
    sent: chunked([...packed(PUSH), new Uint8Array([1, 2, 3])], { headers: GZIP }),
    code: 422,
    field: "Content-Encoding",
  },
  "gzip that holds no JSON": {
    sent: chunked([gzipSync("{")], { headers: GZIP }),
    code: 422,
    field: "",
  },
  "gzip that does not say so": { sent: chunked(packed(PUSH)), code: 422, field: "" },
  "a bomb": { sent: chunked([gzipSync(new Uint8Array(10_000_000))], { headers: GZIP }), code: 413 },
  "a gzip push that unpacks to a byte too many": {
    sent: chunked([gzipSync(long)], { headers: GZIP }),
    code: 413,
  },
  "a gzip push that is too long before it is unpacked": {
    sent: chunked([new Uint8Array(65_537)], { headers: GZIP }),
    code: 413,
  },
  "a history of a byte too many, chunked": {
    sent: chunked([new Uint8Array(HISTORY_LIMITS.bodyBytes + 1)], { url: HISTORY }),
    code: 413,
  },
  "a gzip history that unpacks to a byte too many": {
    sent: chunked([gzipSync(new Uint8Array(HISTORY_LIMITS.bodyBytes + 1))], {
      url: HISTORY,
      headers: GZIP,
    }),
    code: 413,
  },
  "a history in the place of a push, which is long": {
    sent: { body: longest },
    code: 413,
    lookups: 0,
  },
  "a history whose Content-Length is over the limit": {
    sent: { url: HISTORY, headers: { "content-length": String(HISTORY_LIMITS.bodyBytes + 1) } },
    code: 413,
    lookups: 0,
  },
  "a sample that is wrong": {
    sent: { url: HISTORY, body: { samples: [at(3), { ...at(2), metrics: [{ name: "" }] }] } },
    code: 422,
    field: "samples[1].metrics[0].name",
  },
  "a history that goes backwards": {
    sent: { url: HISTORY, body: { samples: [at(1), at(2)] } },
    code: 422,
    field: "samples[1].lastUpdatedTime",
  },
  "a push to the path of histories": {
    sent: { url: HISTORY, body: PUSH },
    code: 422,
    field: "samples",
  },
};
for (const [sentence, { sent, code, field, lookups = 5 }] of Object.entries(REFUSED)) {
  Deno.test(`\`createPushHandler()\` refuses ${sentence} with ${code}`, async () => {
    const { send, accepted, counts } = handlerBench();
    const { status, body } = await send(sent);
    assert.equal(status, code, JSON.stringify(body));
    assert.equal(body.details?.causes[0].field, field);
    assert.deepEqual([accepted, counts.lookups.lookups], [[], lookups]);
  });
}

Deno.test("`createPushHandler()` knows which method each path takes", async () => {
  const { send } = handlerBench();
  for (const method of ["GET", "PUT", "HEAD", "DELETE", "post"]) {
    const { status, headers } = await send({ method, url: HISTORY });
    assert.deepEqual([status, headers.Allow], [405, "POST"]);
  }
  for (const url of [`${HISTORY}/`, `${PATH}/histories`, `${PATH}//history`, `${HISTORY}/x`]) {
    assert.equal((await send({ url })).status, 404);
  }
});

Deno.test("`createPushHandler()` reads no body before the caller is authorized", async () => {
  const { handle } = handlerBench();
  let reads = 0;
  const unread = (sent: Sent): HttpRequest => ({
    ...request(sent),
    readBody: () => {
      reads += 1;
      return Promise.resolve(new Uint8Array());
    },
  });
  const wrong: Sent[] = [
    { token: null },
    { token: "a.b.c" },
    { url: HISTORY.replace("job-1", "job-9") },
    { url: HISTORY.replace("/team/", "/other/") },
    { headers: { "content-encoding": "br" } },
  ];
  for (const sent of wrong) assert((await handle(unread({ url: HISTORY, ...sent }))).status > 400);
  assert.equal(reads, 0);
});

Deno.test("`createPushHandler()` limits the histories of a pod, and still accepts its pushes", async () => {
  const { send, clock } = handlerBench();
  const history: Sent = { url: HISTORY, body: { samples: [at(1)] } };
  for (let i = 0; i < HISTORY_LIMITS.perPod.burst; i++) {
    assert.equal((await send(history)).status, 200);
  }
  const { status, headers } = await send(history);
  assert.deepEqual([status, headers["Retry-After"]], [429, "1"]);
  assert.equal((await send()).status, 200);
  await clock.advance(1000);
  assert.equal((await send(history)).status, 200);
});

Deno.test("`createPushHandler()` limits the histories of a service account, and still accepts its pushes", async () => {
  const { send, objects } = handlerBench();
  const first = objects.pod.get("team/job-1-node-0-0-abcde");
  const { burst: ofPod } = HISTORY_LIMITS.perPod;
  const { burst: ofSubject } = HISTORY_LIMITS.perSubject;
  const codes: number[] = [];
  for (let index = 0; index <= ofSubject / ofPod; index++) {
    const pod = { name: `job-1-node-0-0-x${index}`, uid: `uid-x${index}` };
    const owners = first?.metadata?.ownerReferences ?? [];
    objects.pod.set(`team/${pod.name}`, { ...owned(pod.name, pod.uid, ...owners), status: {} });
    const token = await sign(KEY, claims({ "kubernetes.io": bound({ pod }) }));
    for (let one = 0; one < ofPod; one++) {
      const { status } = await send({ token, url: HISTORY, body: { samples: [at(1)] } });
      codes.push(status);
    }
  }
  assert.deepEqual(codes.slice(0, ofSubject), Array(ofSubject).fill(200));
  assert.deepEqual(codes.slice(ofSubject), Array(ofPod).fill(429));
  assert.equal((await send()).status, 200);
});

Deno.test("`createPushHandler()` limits the histories that it handles at a time, but not pushes", async () => {
  const gate = Promise.withResolvers<void>();
  let held = 0;
  const { send, clock } = handlerBench({
    acceptDeadlineMs: 3_600_000,
    accept: async ({ earlier }) => {
      if (earlier !== undefined) {
        held += 1;
        await gate.promise;
      }
      return { ok: true };
    },
  });
  const history: Sent = { url: HISTORY, body: { samples: [at(1)] } };
  const begun: ReturnType<typeof send>[] = [];
  // One service account may have a half of all.
  while (begun.length < HISTORY_LIMITS.atOnce / 2) {
    // One pod may send so many a second.
    await clock.advance(1000);
    begun.push(send(history));
    while (held < begun.length) await new Promise((resolve) => setTimeout(resolve, 0));
  }
  await clock.advance(1000);
  const refused = await send(history);
  assert.deepEqual([refused.status, refused.headers["Retry-After"]], [503, "1"]);
  assert.equal((await send()).status, 200);
  gate.resolve();
  for (const answer of await Promise.all(begun)) assert.equal(answer.status, 200);
  await clock.advance(1000);
  assert.equal((await send(history)).status, 200);
});

/** A pod of the job with a service account of its own. Returns its token. */
async function podOf(objects: TestCluster, account: string, name: string): Promise<string> {
  const pod = { name: `job-1-node-0-0-${name}`, uid: `uid-${name}` };
  const owners = objects.pod.get("team/job-1-node-0-0-abcde")?.metadata?.ownerReferences ?? [];
  objects.pod.set(`team/${pod.name}`, { ...owned(pod.name, pod.uid, ...owners), status: {} });
  const { uid = `uid-${account}` } = objects.serviceAccount.get(`team/${account}`)?.metadata ?? {};
  const serviceaccount = { name: account, uid };
  objects.serviceAccount.set(`team/${account}`, owned(account, uid));
  const sub = `system:serviceaccount:team:${account}`;
  return await sign(KEY, claims({ sub, "kubernetes.io": bound({ pod, serviceaccount }) }));
}

const full = (count = 1000) => ({ samples: Array.from({ length: count }, () => at(1)) });

Deno.test("`createPushHandler()` gives no place to a history whose body does not arrive", async () => {
  const { send, handle, clock, objects } = handlerBench();
  const pending: Promise<unknown>[] = [];
  const gone = Promise.withResolvers<undefined>();
  const tokens = await Promise.all(["a", "b", "c"].map((name) => podOf(objects, "slow", name)));
  while (pending.length < 2 * HISTORY_LIMITS.atOnce) {
    await clock.advance(1000);
    for (const token of tokens) {
      const sent = request({ token, url: HISTORY, body: full(1) });
      pending.push(handle({ ...sent, readBody: () => gone.promise }));
    }
  }
  const token = await podOf(objects, "honest", "d");
  assert.equal((await send({ token, url: HISTORY, body: full(1) })).status, 200);
  gone.resolve(undefined);
  await Promise.all(pending);
});

Deno.test("`createPushHandler()` leaves places for the histories of other service accounts", async () => {
  const gate = Promise.withResolvers<void>();
  let held = 0;
  const { send, clock, objects } = handlerBench({
    acceptDeadlineMs: 3_600_000,
    accept: async ({ pod }) => {
      if (pod.name.endsWith("other")) return { ok: true };
      held += 1;
      await gate.promise;
      return { ok: true };
    },
  });
  const begun: ReturnType<typeof send>[] = [];
  for (let sent = 1; sent <= HISTORY_LIMITS.atOnce; sent++) {
    await clock.advance(1000);
    begun.push(send({ url: HISTORY, body: full(1) }));
  }
  while (held < HISTORY_LIMITS.atOnce / 2) await new Promise((resolve) => setTimeout(resolve, 0));
  const token = await podOf(objects, "second", "other");
  assert.equal((await send({ token, url: HISTORY, body: full(1) })).status, 200);
  gate.resolve();
  const codes = (await Promise.all(begun)).map(({ status }) => status);
  assert.equal(codes.filter((status) => status === 503).length, HISTORY_LIMITS.atOnce / 2);
});

Deno.test("`createPushHandler()` limits the samples of a pod, not of its neighbours, and still accepts its pushes", async () => {
  const { send, clock, objects } = handlerBench();
  const history: Sent = { url: HISTORY, chunks: packed(full()), headers: GZIP };
  const { burst, ratePerSecond } = HISTORY_LIMITS.samplesPerPod;
  let passed = 0;
  for (let second = 0; second < 10; second++) {
    passed += (await send(history)).status === 200 ? 1000 : 0;
    await clock.advance(1000);
  }
  assert(passed >= burst && passed <= burst + 10 * ratePerSecond + 1000, String(passed));
  const refused = await send(history);
  assert.equal(refused.status, 429);
  assert.match(refused.body.message, /too many samples/);
  assert(Number(refused.headers["Retry-After"]) >= 1);
  assert.equal((await send()).status, 200);
  const token = await podOf(objects, "default", "neighbour");
  assert.equal((await send({ ...history, token })).status, 200);
  await clock.advance(1000 * Number(refused.headers["Retry-After"]));
  assert.equal((await send(history)).status, 200);
});

Deno.test("`createPushHandler()` lets 40 pods of a service account send what they kept in an outage, and bounds what they send on", async () => {
  const { send, clock, objects } = handlerBench();
  const names = Array.from({ length: 40 }, (_, index) => `p${index}`);
  const tokens = await Promise.all(names.map((name) => podOf(objects, "many", name)));
  for (const token of tokens) {
    assert.equal((await send({ token, url: HISTORY, body: full(500) })).status, 200);
  }
  const codes: number[] = [];
  for (let second = 0; second < 5; second++) {
    await clock.advance(1000);
    for (const token of tokens.slice(0, 20)) {
      codes.push((await send({ token, url: HISTORY, body: full(500) })).status);
    }
  }
  const taken = 500 * codes.filter((status) => status === 200).length;
  const { ratePerSecond } = HISTORY_LIMITS.samplesPerSubject;
  assert(taken >= 5 * ratePerSecond && taken <= 5 * ratePerSecond + 1000, String(taken));
});

Deno.test("`createPushHandler()` counts the bytes of histories without samples, and of those that are wrong", async () => {
  const bodies = {
    "nothing but spaces": JSON.stringify({ samples: [] }).padEnd(HISTORY_LIMITS.bodyBytes),
    "what is not JSON": "x".repeat(HISTORY_LIMITS.bodyBytes),
    "more than it may hold": "x".repeat(HISTORY_LIMITS.bodyBytes + 1),
  };
  for (const [sentence, text] of Object.entries(bodies)) {
    const { send, clock } = handlerBench();
    const codes: number[] = [];
    for (let second = 0; second < 20; second++) {
      codes.push((await send({ url: HISTORY, chunks: [gzipSync(text)], headers: GZIP })).status);
      await clock.advance(1000);
    }
    const worked = codes.filter((status) => status !== 429).length;
    assert(worked <= 10, `${sentence}: ${codes.join()}`);
  }
});

/** A bench whose pod started an hour ago. */
function startedBench() {
  const bench = handlerBench();
  for (const pod of bench.objects.pod.values()) {
    pod.status = { phase: "Running", startTime: new Date(NOW_MS - 3_600_000).toISOString() };
  }
  return bench;
}

Deno.test("`createPushHandler()` replaces implausible times by now and the pod's start, with a warning", async () => {
  const { send, accepted } = startedBench();
  const future = { trainerStatus: at(-600) };
  const first = await send({ body: future });
  const { warnings, ...echoed } = first.body;
  assert.deepEqual([first.status, echoed], [200, future]);
  assert.match(warnings[0], /is in the future/);
  const past = { trainerStatus: at(7200), sequence: 3 };
  const second = await send({ body: past });
  assert.match(second.body.warnings[0], /is before the pod's start/);
  assert.deepEqual({ ...second.body, warnings: undefined }, { ...past, warnings: undefined });
  assert.deepEqual(accepted.map(({ trainerStatus }) => trainerStatus), [at(0), at(3600)]);
  assert.deepEqual((await send({ body: { trainerStatus: at(60) } })).body, {
    trainerStatus: at(60),
  });
});

Deno.test("`createPushHandler()` puts its own warnings before the owner's", async () => {
  const { send } = handlerBench({ answer: { ok: true, warnings: ["of the owner"] } });
  const { body } = await send({ body: { trainerStatus: at(-600) } });
  assert.equal(body.warnings.length, 2);
  assert.equal(body.warnings[1], "of the owner");
});

Deno.test("`createPushHandler()` moves the times of a history, and keeps its order", async () => {
  const { send, accepted } = startedBench();
  const samples = [at(9000), at(7200), at(60), at(-60)];
  const { body } = await send({ url: HISTORY, body: { samples } });
  assert.deepEqual([body.trainerStatus, body.count], [at(-60), 4]);
  assert.equal(body.warnings.length, 2);
  assert.deepEqual(accepted[0]?.earlier, [at(3600), at(3600), at(60)]);
  assert.deepEqual(accepted[0]?.trainerStatus, at(0));
  const sent = samples.map((sample) => sample.lastUpdatedTime);
  assert.deepEqual(accepted[0]?.sentTimes, [sent[0], sent[1], undefined, sent[3]]);
});

Deno.test("`createPushHandler()` passes on the client's own time only if it moved it", async () => {
  const { send, accepted } = startedBench();
  await send({ body: { trainerStatus: at(-60) } });
  await send({ body: { trainerStatus: at(60) } });
  assert.deepEqual(accepted.map(({ sentTimes }) => sentTimes), [
    [at(-60).lastUpdatedTime],
    undefined,
  ]);
});

Deno.test("`createPushHandler()` accepts pods without a start time, or with an invalid one", async () => {
  for (const startTime of [undefined, "", "yesterday"]) {
    const { send, objects } = handlerBench();
    for (const pod of objects.pod.values()) pod.status = { phase: "Running", startTime };
    const { status, body } = await send();
    assert.deepEqual([status, body], [200, PUSH]);
  }
});
