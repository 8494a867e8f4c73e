/** Tests of the admission server's answers, without sockets. */
import assert from "node:assert/strict";
import { z } from "zod";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import {
  ADMISSION_LIMITS,
  type AdmissionHandlers,
  createAdmissionHttp,
} from "../../webhook/admission_http.ts";
import type { HttpResponse } from "../../platform/http/message.ts";
import { TransportError } from "../../platform/kube/errors.ts";
import { ALLOWED } from "../../webhook/reviewed_objects.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { settlePromises } from "../support/fake_clock.ts";
import { admissionOptions, admissionRequest, manualClock, review, trainJob } from "./builders.ts";

const PATH = WEBHOOK_PATHS.validateTrainJobs;
const LIMITS = { ...ADMISSION_LIMITS, bodyBytes: 4096, handlerMs: 1000 };

interface Sent {
  method?: string;
  url?: string;
  contentType?: string;
  contentLength?: number;
  body?: string[];
}

function send(
  sent: Sent,
  handlers: AdmissionHandlers = createAdmissionHandlers(admissionOptions()),
  limits = LIMITS,
): Promise<HttpResponse> {
  const { method = "POST", url = PATH, contentType = "application/json" } = sent;
  const length = sent.contentLength?.toString();
  const headers = { "content-type": contentType, "content-length": length };
  const body = sent.body ?? [JSON.stringify(review(trainJob()))];
  return createAdmissionHttp(handlers, manualClock(), { limits })(
    admissionRequest({ method, url, headers, body }),
  );
}

Deno.test("`createAdmissionHttp()` refuses JSON that is not UTF-8, of which the API server stores none", async () => {
  const request = admissionRequest({ url: PATH, body: [] });
  const readBody = () => Promise.resolve(Uint8Array.of(34, 255, 34));
  const { status, body } = await createAdmissionHttp({ [PATH]: () => ALLOWED }, manualClock())({
    ...request,
    readBody,
  });
  assert.equal(status, 400);
  assert.match(body, /must be JSON/);
});

const refusals: Record<string, { sent: Sent; code: number; message: RegExp }> = {
  "an empty body": { sent: { body: [] }, code: 400, message: /must not be empty/ },
  "what is not JSON": { sent: { body: ["{"] }, code: 400, message: /must be JSON/ },
  "what is no AdmissionReview": {
    sent: { body: ['{"kind": "Pod"}'] },
    code: 400,
    message: /AdmissionReview admission.k8s.io\/v1/,
  },
  "an AdmissionReview of another version": {
    sent: { body: [JSON.stringify({ ...review({}), apiVersion: "admission.k8s.io/v1beta1" })] },
    code: 400,
    message: /apiVersion/,
  },
  "an AdmissionReview without a request": {
    sent: { body: [JSON.stringify({ ...review({}), request: null })] },
    code: 400,
    message: /request/,
  },
  "another content type": {
    sent: { contentType: "text/plain" },
    code: 415,
    message: /application\/json/,
  },
  "a declared length over the limit": {
    sent: { contentLength: 4097 },
    code: 413,
    message: /at most 4096 bytes/,
  },
  "chunks over the limit": {
    sent: { body: ["x".repeat(4000), "x".repeat(97)] },
    code: 413,
    message: /at most 4096 bytes/,
  },
  "another method": { sent: { method: "GET" }, code: 405, message: /POST/ },
  "another path": { sent: { url: "/x" }, code: 404, message: /path/ },
  "a path of every object": { sent: { url: "constructor" }, code: 404, message: /path/ },
};

for (const [sentence, { sent, code, message }] of Object.entries(refusals)) {
  Deno.test(`\`createAdmissionHttp()\` refuses ${sentence}`, async () => {
    const answer = await send(sent);
    const status: unknown = JSON.parse(answer.body);
    assert.equal(answer.status, code);
    assert.equal(answer.headers["Content-Type"], "application/json");
    const parsed = z.object({
      kind: z.literal("Status"),
      status: z.literal("Failure"),
      code: z.literal(code),
      reason: z.string(),
      message: z.string(),
    }).parse(status);
    assert.match(parsed.message, message);
  });
}

Deno.test("`createAdmissionHttp()` names the method that is allowed", async () => {
  assert.equal((await send({ method: "PUT" })).headers.Allow, "POST");
});

Deno.test("`createAdmissionHttp()` takes a query, parameters of the type, and chunks", async () => {
  const text = JSON.stringify(review(trainJob(), { dryRun: true }));
  const answer = await send({
    url: `${PATH}?timeout=10s`,
    contentType: "application/json; charset=utf-8",
    body: [text.slice(0, 10), text.slice(10)],
  });
  assert.deepEqual(JSON.parse(answer.body), {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: { uid: "r1", allowed: true },
  });
});

Deno.test("`createAdmissionHttp()` asks to try again if the API server does not answer a read", async () => {
  const runtime = () => Promise.reject(new TransportError("secret detail"));
  const answer = await send({}, createAdmissionHandlers(admissionOptions({ runtime })));
  const { allowed, status } = JSON.parse(answer.body).response;
  assert.deepEqual([answer.status, allowed, status.code], [200, false, 429]);
  assert.deepEqual(status.details, { retryAfterSeconds: 1 });
  assert.match(status.message, /could not be read in time: try again soon/);
  assert.doesNotMatch(answer.body, /secret/);
});

Deno.test("`createAdmissionHttp()` gives up on a slow handler and aborts it", async () => {
  const clock = manualClock();
  let aborted = false;
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<undefined>();
  const handlers = createAdmissionHandlers(admissionOptions({
    runtime: (_ref, _namespace, { signal }) => {
      signal.addEventListener("abort", () => aborted = true);
      started.resolve();
      return released.promise;
    },
  }));
  const http = createAdmissionHttp(handlers, clock, { limits: LIMITS });
  const answering = http(admissionRequest({
    url: PATH,
    headers: { "content-type": "application/json" },
    body: [JSON.stringify(review(trainJob()))],
  }));
  await started.promise;
  clock.advance(1000);
  assert.equal((await answering).status, 504);
  assert.ok(aborted);
  released.resolve(undefined);
});

Deno.test("`createAdmissionHttp()` lets the reviews of a peer wait for each other, and not for others'", async () => {
  const clock = manualClock();
  const release = Promise.withResolvers<undefined>();
  let running = 0;
  const handlers = createAdmissionHandlers(admissionOptions({
    runtime: async (ref) => {
      running += 1;
      if (ref.name === "slow") await release.promise;
      running -= 1;
      return undefined;
    },
  }));
  const handle = createAdmissionHttp(handlers, clock, {
    limits: { ...LIMITS, handlersPerPeer: 2 },
  });
  const ask = (peer: string, name: string) => {
    const job = { ...trainJob(), spec: { ...trainJob().spec, runtimeRef: { name } } };
    return handle({
      ...admissionRequest({ url: PATH, body: [JSON.stringify(review(job))] }),
      peer,
    });
  };
  const slow = Array.from({ length: 5 }, () => ask("10.0.0.9", "slow"));
  assert.equal((await ask("10.0.0.1", "missing")).status, 200);
  assert.equal(running, 2);
  const waiting = ask("10.0.0.9", "missing");
  await settlePromises();
  clock.advance(LIMITS.handlerMs);
  assert.equal((await waiting).status, 504);
  assert.deepEqual(await Promise.all(slow.map(async (answer) => (await answer).status)), [
    504,
    504,
    504,
    504,
    504,
  ]);
  release.resolve(undefined);
  assert.equal((await ask("10.0.0.9", "missing")).status, 200);
});
