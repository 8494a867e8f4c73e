/** Tests of the versions of messages between replicas: the exact bytes of the first, and an older owner. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { defineJobKind, type JobRef } from "../../../crds/job_kind.ts";
import { createJobKinds, JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import type { Push } from "../../../crds/wire/push.ts";
import {
  askPath,
  changesPath,
  encodeAsk,
  stopJobPath,
} from "../../../owner/replicas/forward_asks.ts";
import { createForwardClient } from "../../../owner/replicas/forward_client.ts";
import { encodeRead, readPath } from "../../../owner/replicas/forward_reading.ts";
import {
  createPushDecoder,
  encodeForwardedPush,
  forwardPath,
} from "../../../owner/replicas/forwarding.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";

const OTHER = defineJobKind({
  ...TRAINJOB,
  group: "example.com",
  version: "v1",
  kind: "Other",
  plural: "others",
});
const BOTH = createJobKinds(TRAINJOB, OTHER);

const job: JobRef = { uid: "uid-1", kind: TRAINJOB, name: "job", namespace: "team" };
const push: Push = {
  receivedMs: 17,
  sequence: 4,
  trainerStatus: { progressPercentage: 5, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  pod: { uid: "uid-pod", name: "pod" },
  job,
};
const earlier = [{ lastUpdatedTime: "2025-12-31T00:00:00Z" }];
const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** What replicas of earlier versions send, and read: not one byte of it may change. */
const MESSAGES: Record<string, { bytes: Uint8Array; want: string }> = {
  "a push": {
    bytes: encodeForwardedPush(BOTH, { transitions: 3, push }),
    want: '{"transitions":3,"job":{"namespace":"team","name":"job","uid":"uid-1"},' +
      '"pod":{"name":"pod","uid":"uid-pod"},"receivedMs":17,"push":{"trainerStatus":' +
      '{"progressPercentage":5,"lastUpdatedTime":"2026-01-01T00:00:00Z"},"sequence":4}}',
  },
  "a history": {
    bytes: encodeForwardedPush(BOTH, {
      transitions: 3,
      push: { ...push, earlier, sentTimes: [undefined, "2026-01-02T00:00:00Z"] },
    }),
    want: '{"transitions":3,"job":{"namespace":"team","name":"job","uid":"uid-1"},' +
      '"pod":{"name":"pod","uid":"uid-pod"},"receivedMs":17,' +
      '"sentTimes":[null,"2026-01-02T00:00:00Z"],"history":{"samples":[' +
      '{"lastUpdatedTime":"2025-12-31T00:00:00Z"},' +
      '{"progressPercentage":5,"lastUpdatedTime":"2026-01-01T00:00:00Z"}]}}',
  },
  "a read": {
    bytes: encodeRead(BOTH, {
      transitions: 3,
      waitMs: 10,
      entries: [{ job, cursor: "t.4" }, { job }],
    }),
    want: '{"transitions":3,"waitMs":10,"entries":[' +
      '{"job":{"namespace":"team","name":"job","uid":"uid-1"},"cursor":"t.4"},' +
      '{"job":{"namespace":"team","name":"job","uid":"uid-1"}}]}',
  },
  "a question": {
    bytes: encodeAsk({ transitions: 3, ask: { job: jobMessage(BOTH, job), limit: 5 } }),
    want: '{"transitions":3,"ask":{"job":{"namespace":"team","name":"job","uid":"uid-1"},' +
      '"limit":5}}',
  },
};
for (const [what, { bytes, want }] of Object.entries(MESSAGES)) {
  Deno.test(`${what} of a TrainJob keeps its bytes`, () => assert.equal(textOf(bytes), want));
}

Deno.test("the calls of the first version keep their paths", () => {
  const paths = [forwardPath, readPath, askPath, changesPath, stopJobPath];
  assert.deepEqual(paths.map((path) => path("v1")), [
    "/forward/v1/pushes",
    "/forward/v1/read",
    "/forward/v1/observation",
    "/forward/v1/observation/changes",
    "/forward/v1/stop",
  ]);
});

Deno.test("another kind is named in its messages, and read only by a replica that knows it", () => {
  const other = { ...push, job: { ...job, kind: OTHER } };
  const bytes = encodeForwardedPush(BOTH, { transitions: 3, push: other });
  assert.match(textOf(bytes), /"job":\{"kind":"others\.example\.com","namespace":"team",/);
  assert.equal(createPushDecoder(BOTH)(bytes)?.push.job.kind, OTHER);
  assert.equal(createPushDecoder(JOB_KINDS)(bytes), undefined);
});

Deno.test("clients of other kinds get 503 while the owner knows only the first version", async () => {
  const now = Date.now();
  const authority = await createAuthority(now);
  const pair = await issueServingCertificate(authority, ["owner"], now);
  const tls = { cert: pair.certificate, key: pair.key, ca: authority.certificate };
  const paths: string[] = [];
  const owner = createServer(tls, (message, response) => {
    paths.push(message.url ?? "");
    message.resume();
    const isKnown = message.url?.startsWith("/forward/v1/") && message.url !== "/forward/v1/stop";
    response.writeHead(isKnown ? 200 : 404, {
      "content-type": "application/json",
    });
    response.end('{"answers":[{"ok":true}]}');
  });
  owner.listen(0, "127.0.0.1");
  await once(owner, "listening");
  const address = owner.address();
  assert.ok(typeof address === "object" && address !== null);
  const { port } = address;
  const client = createForwardClient({
    kinds: BOTH,
    tls,
    serverName: "owner",
    clock: systemClock,
  });
  try {
    const target = { address: `127.0.0.1:${port}`, transitions: 3 };
    const bounds = { deadlineMs: 10_000, signal: new AbortController().signal };
    assert.deepEqual(await client.forward(target, push, bounds), {
      outcome: "accepted",
      acceptance: { ok: true },
    });
    const other = { ...push, job: { ...job, kind: OTHER } };
    const { outcome, acceptance } = await client.forward(target, other, bounds);
    assert.equal(outcome, "older_owner");
    assert.ok(acceptance && !acceptance.ok);
    assert.match(acceptance.reason, /an older version that does not know this kind of job/);
    assert.ok(acceptance.retryAfterMs > 0);
    assert.equal(await client.ask(target, { job: other.job }, bounds), undefined);
    const read = await client.read(target, { entries: [{ job: other.job }], waitMs: 0 }, bounds);
    assert.equal(read, undefined);
    // Of a TrainJob, too: the call is newer than the first version.
    const stop = await client.stop(target, { job }, bounds);
    assert.match(JSON.stringify(stop), /an older version that cannot stop them/);
    assert.ok(stop !== undefined && "retryAfterMs" in stop && stop.retryAfterMs === 5000);
    assert.deepEqual(paths, [
      "/forward/v1/pushes",
      "/forward/v2/pushes",
      "/forward/v2/observation",
      "/forward/v2/read",
      "/forward/v1/stop",
    ]);
  } finally {
    client.close();
    owner.closeAllConnections();
    owner.close();
    await once(owner, "close");
  }
});
