/** Tests of reviews that are made to cost much: they are refused before anything is computed from them. */
import assert from "node:assert/strict";
import { LABELS } from "../../crds/names.ts";
import { createAdmissionHandlers } from "../../webhook/admission_handlers.ts";
import { ADMISSION_LIMITS, createAdmissionHttp } from "../../webhook/admission_http.ts";
import { WEBHOOK_PATHS } from "../../webhook/webhook_paths.ts";
import { admissionOptions, admissionRequest, manualClock, review, trainJob } from "./builders.ts";

const { bodyBytes, values, depth } = ADMISSION_LIMITS;
const labels = { [LABELS.trainJobName]: "tj" };
const kind = { group: "", version: "v1", kind: "Pod" };

/** The text of a review with `text` in place of the object's field `hostile`. */
function withText(object: object, text: string, overlay: object = {}): string {
  return JSON.stringify(review(object, { ...overlay })).replace('"HERE"', () => text);
}

const podWith = (spec: object, text = "") =>
  withText({ metadata: { labels }, spec: { containers: [{ name: "a" }], ...spec } }, text, {
    kind,
  });
const jobWith = (text: string) =>
  withText({ ...trainJob(), spec: { ...trainJob().spec, runtimePatches: "HERE" } }, text);
const list = (item: string, bytes: number) =>
  `[${`${item},`.repeat(Math.floor(bytes / (item.length + 1)) - 1)}${item}]`;

/** Returns the status of the answer, its message or patch, and its length. */
async function send(path: string, body: string) {
  const handle = createAdmissionHttp(createAdmissionHandlers(admissionOptions()), manualClock());
  const answer = await handle(admissionRequest({ url: path, body: [body] }));
  const { message, response } = JSON.parse(answer.body);
  return {
    code: response?.status?.code ?? answer.status,
    message: response?.status?.message ?? message,
    patched: response?.patch !== undefined,
    length: answer.body.length,
  };
}

const PODS = WEBHOOK_PATHS.mutatePods;
const HOSTILE: Record<string, { path: string; body: string; code: number; message: RegExp }> = {
  "131 kB of empty init containers": {
    path: PODS,
    body: podWith({ initContainers: "HERE" }, list("{}", 131_072)),
    code: 413,
    message: /values/,
  },
  "init containers without a name": {
    path: PODS,
    body: podWith({ initContainers: [{}, {}] }),
    code: 422,
    message: /containers/,
  },
  "too many containers": {
    path: PODS,
    body: podWith({ initContainers: "HERE" }, list('{"name":"a"}', 13 * 256)),
    code: 422,
    message: /at most 256 containers/,
  },
  "variables that are no objects": {
    path: PODS,
    body: podWith({ initContainers: [{ name: "b", env: [null] }] }),
    code: 422,
    message: /containers/,
  },
  "3 MB of empty init containers": {
    path: PODS,
    body: podWith({ initContainers: "HERE" }, list("{}", 3_000_000)),
    code: 413,
    message: new RegExp(`at most ${values} values`),
  },
  "3 MB of lists in lists": {
    path: PODS,
    body: podWith({ hostile: "HERE" }, "[".repeat(1_500_000) + "]".repeat(1_500_000)),
    code: 413,
    message: new RegExp(`at most ${depth} deep`),
  },
  "3 MB of empty runtime patches": {
    path: WEBHOOK_PATHS.validateTrainJobs,
    body: jobWith(list("{}", 3_000_000)),
    code: 413,
    message: /values/,
  },
  "as many empty runtime patches as a review may hold": {
    path: WEBHOOK_PATHS.validateTrainJobs,
    body: jobWith(list("{}", 1.4 * values)),
    code: 422,
    message: /TrainJob is invalid/,
  },
};

for (const [sentence, { path, body, code, message }] of Object.entries(HOSTILE)) {
  Deno.test(`\`createAdmissionHttp()\` refuses a review of ${sentence}`, async () => {
    assert(body.length <= bodyBytes);
    const answer = await send(path, body);
    assert.equal(answer.code, code, answer.message);
    assert.match(answer.message, message);
    assert(answer.length < 20_000, `${answer.length} characters`);
  });
}

Deno.test("`createAdmissionHttp()` patches a large honest pod", async () => {
  const env = Array.from({ length: 100 }, (_, index) => ({ name: `A${index}`, value: "{,[" }));
  const volumeMounts = [{ name: "v", mountPath: "/v" }];
  const containers = Array.from({ length: 50 }, (_, index) => ({
    name: `c${index}`,
    args: ['say "[{,"', "\\"],
    env,
    volumeMounts,
  }));
  const pod = { metadata: { labels }, spec: { containers, initContainers: containers } };
  const answer = await send(PODS, JSON.stringify(review(pod, { kind })));
  assert.deepEqual([answer.code, answer.patched], [200, true], answer.message);
});
