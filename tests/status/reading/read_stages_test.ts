/** Tests of reading through the whole chain: access, answers, and the duration of a stream. */
import type { JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import assert from "node:assert/strict";
import type { ResponseSink } from "../../../platform/http/message.ts";
import type { JobEnd } from "../../../status/reading/status_stream.ts";
import type { ReadingParts } from "../../../status/reading/read_stages.ts";
import type { JobStatus, ReadAnswer } from "../../../owner/ledger/reading.ts";
import {
  createStreamSlots,
  type StreamLimits,
} from "../../../platform/http/limits/stream_limits.ts";
import { settle } from "../../support/fake_clock.ts";
import { until } from "../../support/until.ts";
import {
  type BenchOptions,
  handlerBench,
  KEY,
  PATH,
  request,
  type Sent,
} from "../chain/handler_bench.ts";
import { bound, claims, NOW_MS, sign } from "../../platform/http/callers/tokens.ts";

const STATUS: JobStatus = {
  trainerStatus: { progressPercentage: 45, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  receivedTime: "2026-01-01T00:00:00.250Z",
  pod: "job-1-node-0-0-abcde",
};
const JOB: JobRef = { kind: TRAINJOB, namespace: "team", name: "job-1", uid: "uid-trainjob" };
const WATCH = `${PATH}?watch=true`;

/** A handler that reads `answer`, and what it asked for. */
function readerBench(
  answer: ReadAnswer | Promise<ReadAnswer> = { ok: true, status: STATUS },
  options: BenchOptions & { readonly streams?: StreamLimits } = {},
) {
  const slots = createStreamSlots(options.streams ?? { total: 1000, perSubject: 20 });
  const asked: JobRef[] = [];
  const reads: string[] = [];
  const ends = new Set<(end: JobEnd) => void>();
  const follows = { count: 0 };
  const reading: ReadingParts = {
    read: (job) => {
      asked.push(job);
      return answer;
    },
    follow: (_job, listener) => {
      follows.count += 1;
      listener(STATUS);
      return () => void (follows.count -= 1);
    },
    slots,
    onJobEnd: (_job, listener) => {
      ends.add(listener);
      return () => void ends.delete(listener);
    },
  };
  const onRead = (kind: string, result: string) => void reads.push(`${kind} ${result}`);
  const bench = handlerBench({ reading, onRead, ...options });
  const get = (sent: Sent = {}) => bench.send({ method: "GET", chunks: [], ...sent });

  /** Opens a stream, and returns its output. */
  async function watch(sent: Sent = {}) {
    const { status, headers, body, stream } = await bench.handle(
      request({ method: "GET", url: WATCH, chunks: [], ...sent }),
    );
    const written: string[] = [];
    const gone = new AbortController();
    const sink: ResponseSink = {
      signal: gone.signal,
      write: (text) => Promise.resolve(void written.push(String(text))),
    };
    const done = { is: false };
    const ended = stream?.(sink).then(() => void (done.is = true));
    await settle();
    return { status, headers, body, written, gone, done, ended };
  }
  return { ...bench, asked, reads, ends, follows, slots, get, watch };
}

Deno.test("GET answers the owner's newest status, by the UID of the job", async () => {
  const { get, asked, reads, results } = readerBench();
  const { status, headers, body } = await get();
  assert.equal(status, 200);
  assert.equal(headers["Content-Type"], "application/json");
  assert.deepEqual(body, {
    trainerStatus: STATUS.trainerStatus,
    receivedTime: "2026-01-01T00:00:00.250Z",
    pod: "job-1-node-0-0-abcde",
  });
  assert.deepEqual([asked, reads, results], [[JOB], ["read accepted"], []]);
});

Deno.test("GET answers what the job goes on from, also where nothing was pushed", async () => {
  const checkpoint = { step: 7, location: "/a", time: "2026-01-01T00:00:00Z" };
  const restart = { count: 2, reason: "Stalled", message: "", time: "2026-01-01T00:00:00Z" };
  const both = await readerBench({ ok: true, status: STATUS, checkpoint, restart }).get();
  assert.deepEqual([both.status, both.body], [200, { ...STATUS, checkpoint, restart }]);
  const { status, body } = await readerBench({ ok: true, restart }).get();
  assert.deepEqual([status, body], [200, { restart }]);
});

Deno.test("GET answers 404 if nothing was pushed yet, and says what to do", async () => {
  const { get, reads } = readerBench({ ok: true });
  const { status, body } = await get();
  assert.deepEqual([status, body.reason, reads], [404, "NotFound", ["read notfound"]]);
  assert.match(body.message, /nothing was pushed for this TrainJob yet: push, or wait/);
});

Deno.test("GET answers 503 with Retry-After if there is no owner", async () => {
  const { get } = readerBench({ retryAfterMs: 2000, reason: "no replica owns it" });
  const { status, headers, body } = await get();
  assert.deepEqual([status, headers["Retry-After"], body.message], [
    503,
    "2",
    "no replica owns it",
  ]);
});

Deno.test("GET answers 503 if the owner does not answer within the deadline", async () => {
  const { get, clock } = readerBench(new Promise(() => {}));
  const answered = get();
  await until("the owner is waited for", () => clock.sleeping > 0);
  await clock.advance(3000);
  assert.equal((await answered).status, 503);
  assert.equal(clock.sleeping, 0);
});

const refused: Record<string, { sent: () => Sent | Promise<Sent>; want: number }> = {
  "no token": { sent: () => ({ token: null }), want: 401 },
  "another key's token": {
    sent: async () => ({ token: await sign({ ...KEY, kid: "other" }) }),
    want: 401,
  },
  "a token of another namespace": {
    sent: async () => ({
      token: await sign(
        KEY,
        claims({
          sub: "system:serviceaccount:other:default",
          "kubernetes.io": bound({ namespace: "other" }),
        }),
      ),
    }),
    want: 403,
  },
  "a token of a pod that is gone": {
    sent: async () => ({
      token: await sign(
        KEY,
        claims({ "kubernetes.io": bound({ pod: { name: "gone", uid: "uid-gone" } }) }),
      ),
    }),
    want: 403,
  },
  "a job that is not there": {
    sent: () => ({ url: PATH.replace("job-1", "job-2") }),
    want: 404,
  },
  "a query that is not known": { sent: () => ({ url: `${PATH}?limit=1` }), want: 422 },
  "a query that goes on after another question mark": {
    sent: () => ({ url: `${PATH}?watch=true?limit=1` }),
    want: 422,
  },
  "a body over the limit": {
    sent: () => ({ headers: { "content-length": "9999999" } }),
    want: 413,
  },
};
for (const [sentence, { sent, want }] of Object.entries(refused)) {
  Deno.test(`GET, once or as a stream, refuses ${sentence} and reads nothing`, async () => {
    const { get, watch, asked, slots, follows } = readerBench();
    const given = await sent();
    assert.equal((await get(given)).status, want);
    const url = given.url ?? PATH;
    const stream = await watch({
      ...given,
      url: url.includes("?") ? `${url}&watch=true` : `${url}?watch=true`,
    });
    assert.deepEqual([stream.status, stream.headers["Content-Type"]], [want, "application/json"]);
    assert.deepEqual([asked, slots.open(), follows.count], [[], 0, 0]);
  });
}

Deno.test("reads are counted among a pod's pushes by its rate limit", async () => {
  const { get } = readerBench({ ok: true, status: STATUS }, {
    limits: { pushesPerPod: { ratePerSecond: 1, burst: 2 } },
  });
  assert.deepEqual([(await get()).status, (await get()).status], [200, 200]);
  const { status, headers } = await get();
  assert.deepEqual([status, headers["Retry-After"]], [429, "1"]);
});

Deno.test("a GET whose query means nothing is counted as a read, not as a push", async () => {
  const { get, reads, results } = readerBench();
  assert.equal((await get({ url: `${PATH}?watch=perhaps` })).status, 422);
  assert.deepEqual([reads, results], [["read invalid"], []]);
});

for (const method of ["HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
  Deno.test(`${method} of the status path is answered 405`, async () => {
    const { get, asked } = readerBench();
    const { status, headers } = await get({ method });
    assert.deepEqual([status, headers["Allow"], asked], [405, "GET, POST", []]);
  });
}

Deno.test("GET of a history is answered 405", async () => {
  const { status, headers } = await readerBench().get({ url: `${PATH}/history` });
  assert.deepEqual([status, headers["Allow"]], [405, "POST"]);
});

Deno.test("a stream begins with the current status and ends with the job", async () => {
  const { watch, ends, follows, slots, reads } = readerBench();
  const stream = await watch();
  assert.deepEqual([stream.status, stream.body, stream.headers], [200, "", {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-store",
  }]);
  assert.match(stream.written.join(""), /event: status\nid: \d+\ndata: .*"progressPercentage":45/);
  assert.deepEqual([slots.open(), reads], [1, ["watch accepted"]]);
  for (const end of ends) end("Complete");
  await stream.ended;
  assert.match(stream.written.at(-1) ?? "", /^event: end/);
  assert.deepEqual([slots.open(), follows.count, ends.size], [0, 0, 0]);
});

Deno.test("a client that goes away frees its slot at once", async () => {
  const { watch, slots, clock } = readerBench();
  const stream = await watch();
  stream.gone.abort();
  await stream.ended;
  assert.deepEqual([slots.open(), clock.sleeping], [0, 0]);
});

const limits: Record<string, { streams: StreamLimits; message: RegExp }> = {
  "in all": { streams: { total: 2, perSubject: 20 }, message: /--max-streams\)/ },
  "of the subject": { streams: { total: 9, perSubject: 2 }, message: /--max-streams-per-subject/ },
};
for (const [sentence, { streams, message }] of Object.entries(limits)) {
  Deno.test(`a stream beyond the limit ${sentence} is answered 429 until one ends`, async () => {
    const { watch } = readerBench({ ok: true, status: STATUS }, { streams });
    const open = [await watch(), await watch()];
    const { status, headers, body } = await watch();
    assert.deepEqual([status, headers["Retry-After"]], [429, "10"]);
    assert.match(body, message);
    assert.match(body, /"reason":"TooManyRequests"/);
    open[0]?.gone.abort();
    await open[0]?.ended;
    const next = await watch();
    assert.equal(next.status, 200);
    for (const { gone, ended } of [...open, next]) {
      gone.abort();
      await ended;
    }
  });
}

type Bench = ReturnType<typeof readerBench>;

const changes: Record<string, { change: (bench: Bench) => void; last: RegExp }> = {
  "the pod is gone": {
    change: ({ objects }) => objects.pod.clear(),
    last: /^: ended: the pod .* no longer exists/,
  },
  "the service account is gone": {
    change: ({ objects }) => objects.serviceAccount.clear(),
    last: /^: ended: the service account/,
  },
  "the job is gone": {
    change: ({ objects }) => objects.trainJob.clear(),
    last: /^event: end\ndata: {"reason":"Deleted"}/,
  },
};
for (const [sentence, { change, last }] of Object.entries(changes)) {
  Deno.test(`a stream ends within 60 s after ${sentence}`, async () => {
    const bench = readerBench();
    const stream = await bench.watch();
    await bench.clock.advance(61_000);
    assert.equal(stream.done.is, false);
    change(bench);
    await bench.clock.advance(60_000);
    await stream.ended;
    assert.match(stream.written.at(-1) ?? "", last);
    assert.equal(bench.slots.open(), 0);
  });
}

Deno.test("a stream ends within 60 s after the API server refused its token", async () => {
  const bench = readerBench({ ok: true, status: STATUS }, { ask: () => Promise.resolve(false) });
  const stream = await bench.watch();
  assert.equal(stream.status, 200);
  await bench.clock.advance(60_000);
  await stream.ended;
  assert.match(stream.written.at(-1) ?? "", /^: ended: the API server no longer accepts/);
});

Deno.test("a stream continues while the right cannot be checked", async () => {
  const state = { isAway: false };
  const bench = readerBench({ ok: true, status: STATUS }, {
    ownership: {
      decide: () =>
        state.isAway
          ? Promise.reject(new Error("away"))
          : Promise.resolve({ ok: true, jobUid: JOB.uid }),
    },
  });
  const stream = await bench.watch();
  state.isAway = true;
  await bench.clock.advance(150_000);
  assert.equal(stream.done.is, false);
  stream.gone.abort();
  await stream.ended;
});

Deno.test("a stream ends if another job has the name now", async () => {
  const state = { uid: JOB.uid };
  const bench = readerBench({ ok: true, status: STATUS }, {
    ownership: { decide: () => Promise.resolve({ ok: true, jobUid: state.uid }) },
  });
  const stream = await bench.watch();
  state.uid = "uid-next";
  await bench.clock.advance(60_000);
  await stream.ended;
  assert.match(stream.written.at(-1) ?? "", /^event: end\ndata: {"reason":"Deleted"}/);
});

Deno.test("a stream ends when its token expires", async () => {
  const bench = readerBench();
  const token = await sign(KEY, claims({ exp: NOW_MS / 1000 + 90 }));
  const stream = await bench.watch({ token });
  await bench.clock.advance(89_999);
  assert.equal(stream.done.is, false);
  await bench.clock.advance(1);
  await stream.ended;
  assert.match(stream.written.at(-1) ?? "", /^: ended: the token has expired/);
});
