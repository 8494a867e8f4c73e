/** Tests of the order of the checks: of two problems of a request the cheaper one to find is reported (docs/decisions/0015). */
import assert from "node:assert/strict";
import { handlerBench, KEY, PATH, type Sent } from "./handler_bench.ts";
import { owned } from "../ownership/ownership_cluster.ts";
import { bound, claims, forge, sign } from "../../platform/http/callers/tokens.ts";

const stranger = { name: "stranger", uid: "uid-stranger" };
const BAD = forge({ alg: "RS256", kid: "k1" }, claims(), "AAAA");
const OTHER_POD = await sign(KEY, claims({ "kubernetes.io": bound({ pod: stranger }) }));
const UNBOUND = await sign(KEY, claims({ "kubernetes.io": bound({ pod: undefined }) }));
const TOO_LONG = { "content-length": "65537" };
const other = (path: string) => PATH.replace("/team/", `/${path}/`);

/** What is wrong, cheapest first; the answer is that of the first. */
interface Case {
  readonly sent: Sent;
  readonly code: number;
  readonly message: RegExp;
  /** Requests before it: they use up what the limits give. */
  readonly before?: readonly Sent[];
  /** Whether anything of the cluster is looked at for it. */
  readonly looksUp?: boolean;
}

const LIMITS = {
  failuresPerPeer: { ratePerSecond: 0.001, burst: 1 },
  pushesPerPod: { ratePerSecond: 0.001, burst: 2 },
  pushesPerSubject: { ratePerSecond: 0.001, burst: 2 },
};

const CASES: Readonly<Record<string, Case>> = {
  "a peer over its budget before the path": {
    before: [{ token: BAD }],
    sent: { url: "/", token: BAD },
    code: 429,
    message: /failed authentications/,
  },
  "the path before the method": {
    sent: { url: "/", method: "PUT" },
    code: 404,
    message: /no such path/,
  },
  "the method before the length": {
    sent: { method: "PUT", headers: TOO_LONG },
    code: 405,
    message: /does not allow that method/,
  },
  "the length before the token": {
    sent: { headers: TOO_LONG, token: "hunter2" },
    code: 413,
    message: /at most 65536 bytes/,
  },
  "the form of the token before its namespace": {
    sent: { token: "hunter2", url: other("elsewhere") },
    code: 401,
    message: /not valid here/,
  },
  "the signature before the namespace": {
    sent: { token: BAD, url: other("elsewhere") },
    code: 401,
    message: /not valid here/,
  },
  "the namespace before the binding to a pod": {
    sent: { token: UNBOUND, url: other("elsewhere") },
    code: 403,
    message: /another namespace/,
  },
  "the namespace before the limit of the pod": {
    before: [{}, {}],
    sent: { url: other("elsewhere") },
    code: 403,
    message: /another namespace/,
  },
  "the limit of the pod before that of the service account": {
    before: [{}, {}],
    sent: {},
    code: 429,
    message: /this pod/,
  },
  "the limit of the service account before any lookup": {
    before: [{}, {}],
    sent: { token: OTHER_POD },
    code: 429,
    message: /this service account/,
  },
  "ownership before the body": {
    sent: { token: OTHER_POD, body: "{" },
    code: 403,
    message: /not part of this TrainJob/,
    looksUp: true,
  },
};

for (
  const [sentence, { before = [], sent, code, message, looksUp = false }] of Object.entries(CASES)
) {
  Deno.test(`\`createPushHandler()\` answers ${sentence}`, async () => {
    const { send, objects, counts } = handlerBench({ limits: LIMITS });
    objects.pod.set(`team/${stranger.name}`, {
      ...owned(stranger.name, stranger.uid),
      status: { phase: "Running" },
    });
    for (const one of before) await send(one);
    const lookupsBefore = counts.lookups.lookups;
    const answer = await send(sent);
    assert.equal(answer.status, code);
    assert.match(answer.body.message, message);
    assert.equal(counts.lookups.lookups > lookupsBefore, looksUp);
  });
}
