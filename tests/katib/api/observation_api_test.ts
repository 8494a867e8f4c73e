/** Tests of the observation API in memory: answers to each kind of request, and their cost. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { z } from "zod";
import { failureSchema, observationSchema } from "../../../katib/api/messages.ts";
import { SinkError } from "../../../owner/observations/sink.ts";
import { settle } from "../../support/fake_clock.ts";
import { apiBench, requestOf, runningJob, tokenWith } from "./api_bench.ts";

type Bench = ReturnType<typeof apiBench>;

const bodySchema = z.record(z.string(), z.unknown());

async function send({ api }: Pick<Bench, "api">, changes: Parameters<typeof requestOf>[0] = {}) {
  const { status, headers, body, stream } = await api.handle(requestOf(changes));
  return { status, headers, stream, body: body === "" ? {} : bodySchema.parse(JSON.parse(body)) };
}

Deno.test("a reader gets state, pod, metrics and log", async () => {
  const bench = apiBench();
  bench.log.push(1, "0.5");
  bench.log.push(2, "0.25");
  const { status, headers, body } = await send(bench);
  assert.equal(status, 200);
  assert.equal(headers["Content-Type"], "application/json");
  assert.equal(headers["Cache-Control"], "no-store");
  assert.deepEqual(body, {
    state: "Running",
    trial: "a-trial",
    primaryPod: "pod-1",
    metrics: [{ name: "loss", latest: "0.25", min: "0.25", max: "0.25" }],
    log: [
      { time: "2026-01-01T00:00:01.000Z", name: "loss", value: "0.5" },
      { time: "2026-01-01T00:00:02.000Z", name: "loss", value: "0.25" },
    ],
  });
  observationSchema.parse(body);
  assert.deepEqual(bench.counted, ["observation accepted"]);
});

Deno.test("a job without recorded rows has no metrics and no log", async () => {
  const { status, body } = await send(apiBench());
  assert.equal(status, 200);
  assert.deepEqual(body, { state: "Running", metrics: [], log: [] });
});

Deno.test("pages lead through the log, and the last one leads nowhere", async () => {
  const bench = apiBench();
  for (let second = 0; second < 5; second++) bench.log.push(second);
  const first = await send(bench, { query: "?limit=3" });
  assert.equal(observationSchema.parse(first.body).log.length, 3);
  const rest = await send(bench, { query: `?limit=3&continue=${first.body.continue}` });
  const { log, continue: next } = observationSchema.parse(rest.body);
  assert.deepEqual(log.map(({ value }) => value), ["3", "4"]);
  assert.equal(next, undefined);
  const since = await send(bench, { query: "?since=2026-01-01T00:00:04Z" });
  assert.deepEqual(observationSchema.parse(since.body).log.map(({ value }) => value), ["4"]);
});

const states: Readonly<
  Record<string, { status: Record<string, unknown>; want: Record<string, unknown> }>
> = {
  "one that has not started": {
    status: { state: "Created" },
    want: { state: "Running", reason: "Created" },
  },
  "one that is suspended": {
    status: {
      state: "Suspended",
      conditions: [condition("Suspended", "Suspended", "TrainJob is suspended")],
    },
    want: { state: "Running", reason: "Suspended", message: "TrainJob is suspended" },
  },
  "one that is complete": {
    status: { conditions: [condition("Complete", "AllJobsCompleted", "done")] },
    want: { state: "Succeeded", reason: "AllJobsCompleted", message: "done" },
  },
  "one that has failed": {
    status: { conditions: [condition("Failed", "FailedJobs", "no memory")] },
    want: { state: "Failed", reason: "FailedJobs", message: "no memory" },
  },
  "one whose runtime is not supported yet": {
    status: { conditions: [condition("Failed", "TrainingRuntimeNotSupported", "no such runtime")] },
    want: { state: "Running", reason: "TrainingRuntimeNotSupported", message: "no such runtime" },
  },
  "one that was stopped": {
    status: {
      conditions: [
        condition("Complete", "EarlyStopped", "stopped"),
        condition("EarlyStopped", "RulesMet", "loss > 1 at report 3"),
      ],
    },
    want: { state: "EarlyStopped", reason: "RulesMet", message: "loss > 1 at report 3" },
  },
};

function condition(type: string, reason: string, message: string) {
  return { type, status: "True", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" };
}

for (const [what, { status, want }] of Object.entries(states)) {
  Deno.test(`the state of a job: ${what}`, async () => {
    const bench = apiBench();
    bench.jobs.set("team/job", runningJob(status));
    const { body } = await send(bench);
    assert.deepEqual({ ...body, metrics: undefined, log: undefined }, {
      ...want,
      metrics: undefined,
      log: undefined,
    });
  });
}

const UNREADABLE = '{"successCondition": "a.#(b"}';
const NEVER_MET = '{"successCondition": "status.never", "failureCondition": "status.neither"}';
const DONE = { conditions: [condition("Complete", "AllJobsCompleted", "done")] };
const templates: Readonly<
  Record<
    string,
    { status?: Record<string, unknown>; template: string; want: Record<string, unknown> }
  >
> = {
  "that cannot be read, while it runs": { template: UNREADABLE, want: { state: "Running" } },
  "that cannot be read, when it has ended": {
    status: DONE,
    template: UNREADABLE,
    want: { state: "Failed", reason: "TrialTemplateInvalid" },
  },
  "whose conditions are not met, when it has ended": {
    status: DONE,
    template: NEVER_MET,
    want: { state: "Failed", reason: "TrialConditionsNotMet" },
  },
  "whose conditions are not met, when it has failed": {
    status: { conditions: [condition("Failed", "FailedJobs", "no memory")] },
    template: NEVER_MET,
    want: { state: "Failed", reason: "TrialConditionsNotMet" },
  },
  "that is met before the job has ended": {
    status: { state: "Running", conditions: [condition("Custom", "Enough", "")] },
    template: '{"succeededCondition": "Custom"}',
    want: { state: "Succeeded", reason: "Enough" },
  },
};
for (const [what, { status, template, want }] of Object.entries(templates)) {
  Deno.test(`the state of a job with a template ${what}`, async () => {
    const bench = apiBench();
    const job = runningJob(status);
    const annotations = { "trainer.kubeflow.org/trial-template": template };
    bench.jobs.set("team/job", { ...job, metadata: { ...job.metadata, annotations } });
    const { body } = await send(bench);
    assert.partialDeepStrictEqual(body, want);
    if (template === UNREADABLE) assert.match(String(body.message), /successCondition/);
    if (template === NEVER_MET) assert.match(String(body.message), /neither condition/);
  });
}

const refused: Readonly<
  Record<
    string,
    {
      changes?: Parameters<typeof requestOf>[0];
      set?: (bench: Bench) => void;
      code: number;
      header?: [string, RegExp];
      asks?: number;
    }
  >
> = {
  "no token": {
    changes: { authorization: null },
    code: 401,
    header: ["WWW-Authenticate", /^Bearer$/],
  },
  "a token for pushes": {
    changes: { authorization: `Bearer ${tokenWith({ aud: "trainer.kubeflow.org" })}` },
    code: 401,
  },
  "a token that has expired": {
    changes: { authorization: `Bearer ${tokenWith({ exp: 1 })}` },
    code: 401,
  },
  "a token that the API server refuses": {
    set: ({ server }) => server.accepts = false,
    code: 401,
    asks: 1,
  },
  "a reader without the right to get the job": {
    set: ({ server }) => server.allows = false,
    code: 403,
    asks: 2,
  },
  "a missing job, for a reader with the right to get it": {
    set: ({ jobs }) => jobs.clear(),
    code: 404,
    asks: 2,
  },
  "a missing job, for a reader without the right to get it": {
    set: ({ jobs, server }) => {
      jobs.clear();
      server.allows = false;
    },
    code: 403,
    asks: 2,
  },
  "a query that is not known": { changes: { query: "?sinec=1" }, code: 422 },
  "a huge limit": { changes: { query: "?limit=99999999" }, code: 422 },
  "an unknown page": { changes: { query: "?continue=%00" }, code: 422 },
  "an API server that does not answer": {
    set: ({ server }) => server.isAway = true,
    code: 503,
    header: ["Retry-After", /^1$/],
    asks: 1,
  },
  "a log that is out of reach": {
    set: ({ log }) =>
      log.fault.error = new SinkError("unavailable", "down", { retryAfterMs: 7000 }),
    code: 503,
    header: ["Retry-After", /^7$/],
    asks: 2,
  },
  "a bug": { set: ({ log }) => log.fault.error = new Error("secret"), code: 500, asks: 2 },
  "another path": { changes: { url: "/openapi/v3/" }, code: 404 },
};

for (const [what, { changes, set, code, header, asks = 0 }] of Object.entries(refused)) {
  Deno.test(`${what}: ${code}`, async () => {
    const bench = apiBench();
    set?.(bench);
    const { status, headers, body } = await send(bench, changes);
    assert.equal(status, code, JSON.stringify(body));
    assert.equal(failureSchema.parse(body).code, code);
    assert.ok(!JSON.stringify(body).includes("secret"));
    if (header !== undefined) assert.match(headers[header[0]] ?? "", header[1]);
    assert.equal(bench.server.asked.length, asks);
  });
}

for (const method of ["POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", ""]) {
  Deno.test(`the method "${method}": 405, before anything is asked`, async () => {
    const bench = apiBench();
    for (const url of [requestOf().url, "/openapi/v3"]) {
      const { status, headers } = await send(bench, { method, url });
      assert.equal(status, 405);
      assert.equal(headers.Allow, "GET");
    }
    assert.equal(bench.server.asked.length, 0);
  });
}

Deno.test("a caller that fails repeatedly is limited, but not other readers at its address", async () => {
  const bench = apiBench();
  assert.equal((await send(bench)).status, 200);
  bench.server.accepts = false;
  const codes: number[] = [];
  for (let jti = 0; jti < 8; jti++) {
    const token = tokenWith({ jti: `forged-${jti}` });
    codes.push((await send(bench, { authorization: `Bearer ${token}` })).status);
  }
  assert.deepEqual(codes, [401, 401, 401, 401, 401, 429, 429, 429]);
  assert.equal((await send(bench)).status, 200, "a token that was good before");
  assert.equal((await send(bench, { peer: "10.0.0.2", authorization: null })).status, 401);
});

Deno.test("failures of IPv6 addresses count for each, and for their /64, as those of pushes do", async () => {
  const bench = apiBench();
  const from = async (peer: string) => (await send(bench, { peer, authorization: null })).status;
  const own: number[] = [];
  for (let times = 0; times < 6; times++) own.push(await from("2001:db8::1"));
  assert.deepEqual(own, [401, 401, 401, 401, 401, 429]);
  const shared: number[] = [];
  for (let times = 0; times < 16; times++) shared.push(await from(`2001:db8::2:${times}`));
  assert.deepEqual(shared, [...Array<number>(15).fill(401), 429]);
  assert.equal(await from("2001:db8:0:1::1"), 401);
});

Deno.test("a token that was refused a moment ago costs nothing, and its address little", async () => {
  const bench = apiBench();
  await send(bench);
  bench.server.accepts = false;
  const authorization = `Bearer ${tokenWith({ jti: "revoked" })}`;
  for (let times = 0; times < 20; times++) {
    assert.equal((await send(bench, { authorization })).status, 401);
  }
  assert.equal(bench.server.asked.length, 3);
});

Deno.test("every request is answered as the OpenAPI document says", async () => {
  const text = fc.string({ unit: "binary", maxLength: 200 });
  const name = fc.constantFrom("since", "limit", "continue", "watch", "x", "");
  const query = fc.array(fc.tuple(name, text), { maxLength: 4 })
    .map((pairs) => `?${new URLSearchParams(pairs)}`);
  const authorization = fc.oneof(
    fc.constant(null),
    text,
    fc.record({ aud: fc.jsonValue(), exp: fc.jsonValue(), nbf: fc.jsonValue() }, {
      requiredKeys: [],
    }).map((claims) => `Bearer ${tokenWith(claims)}`),
  );
  const method = fc.oneof({ weight: 9, arbitrary: fc.constant("GET") }, text);
  const path = fc.oneof(fc.constant(requestOf().url), fc.constant("/openapi/v3"), text);
  await fc.assert(
    fc.asyncProperty(
      fc.record({ path, query: fc.oneof(query, text), method, authorization }),
      async ({ path, query, method, authorization }) => {
        const bench = apiBench({ slots: { take: () => ({ release() {} }) } });
        const { status, body, stream } = await send(bench, {
          url: path + query,
          method,
          authorization,
        });
        if (stream !== undefined) return assert.equal(status, 200);
        if (status === 200) return assert.ok("openapi" in body || observationSchema.parse(body));
        assert.ok([401, 404, 405, 422].includes(status), `${status}`);
        assert.equal(failureSchema.parse(body).code, status);
      },
    ),
    { numRuns: 100 },
  );
});

Deno.test("reads of a subject are limited", async () => {
  const bench = apiBench();
  const answers = await Promise.all(Array.from({ length: 203 }, () => send(bench)));
  const late = answers.filter(({ status }) => status === 429);
  assert.equal(late.length, 3);
  assert.equal(late[0]?.headers["Retry-After"], "1");
});

Deno.test("few pages are read at a time, and within a deadline", async () => {
  const held = Promise.withResolvers<{ metrics: []; rows: []; more: false }>();
  const bench = apiBench({ ask: () => held.promise, maxReads: 2 });
  const waiting = [send(bench), send(bench)];
  // Both are asked once who they are was answered.
  await settle();
  assert.equal((await send(bench)).status, 503);
  await bench.clock.advance(5000);
  for (const { status, body } of await Promise.all(waiting)) {
    assert.equal(status, 503);
    assert.match(String(body.message), /did not answer in time/);
  }
  held.resolve({ metrics: [], rows: [], more: false });
});

Deno.test("streams are limited by subject, and in total", async () => {
  const bench = apiBench();
  const query = "?watch=true";
  const streams = [await send(bench, { query }), await send(bench, { query })];
  assert.deepEqual(streams.map(({ status }) => status), [200, 200]);
  const third = await send(bench, { query });
  assert.equal(third.status, 429);
  assert.match(String(third.body.message), /max-streams-per-subject/);
  assert.equal(third.headers["Retry-After"], "10");
  assert.equal(bench.slots.open(), 2);
  // The server calls each stream once, also where the client has gone already.
  const gone = AbortSignal.abort();
  await Promise.all(
    streams.map(({ stream }) => stream?.({ signal: gone, write: () => Promise.resolve() })),
  );
  assert.equal(bench.slots.open(), 0);
  assert.deepEqual(bench.counted, [
    "observation_watch accepted",
    "observation_watch accepted",
    "observation_watch toomanyrequests",
  ]);
});

Deno.test("the API knows its own paths", () => {
  const { api } = apiBench();
  assert.ok(api.handles(requestOf({ query: "?watch=true" }).url));
  assert.ok(api.handles("/openapi/v3"));
  for (
    const url of ["/", "/openapi", "/openapi/v2", requestOf().url.replace("observation", "status")]
  ) {
    assert.ok(!api.handles(url), url);
  }
});

Deno.test("the observation API names the audience that a refused token should have had", async () => {
  for (const authorization of [null, `Bearer ${tokenWith({ aud: "trainer.kubeflow.org" })}`]) {
    const { body } = await send(apiBench(), { authorization });
    assert.match(String(body.message), /observation\.trainer\.kubeflow\.org/);
  }
});
