/** Tests of the protocol between replicas: its exact bytes and paths, and an owner of another one. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { defineJobKind, type JobRef } from "../../../crds/job_kind.ts";
import { createJobKinds, JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { jobMessage } from "../../../crds/wire/job_message.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { observationAsks } from "../../../owner/observations/observation_asks.ts";
import { statusAsks } from "../../../owner/ledger/status_asks.ts";
import { createOwnerClient } from "../../../owner/owner_client.ts";
import { askPath, changesPath, encodeAsk } from "../../../owner/replicas/forward_asks.ts";
import { pollMessage } from "../../../owner/replicas/forward_changes.ts";
import { createForwardClient } from "../../../owner/replicas/forward_client.ts";
import {
  createPushDecoder,
  encodeForwardedPush,
  PUSHES_PATH,
} from "../../../owner/replicas/forwarding.ts";
import { createOwnerRouter } from "../../../platform/http/replicas/owner_router.ts";
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

/** What replicas send, and read: not one byte of it may change, unless the version of the protocol does. */
const MESSAGES: Record<string, { bytes: Uint8Array; want: string }> = {
  "a push": {
    bytes: encodeForwardedPush({ transitions: 3, push }),
    want:
      '{"transitions":3,"job":{"kind":"trainjobs.trainer.kubeflow.org","namespace":"team","name":"job","uid":"uid-1"},' +
      '"pod":{"name":"pod","uid":"uid-pod"},"receivedMs":17,"push":{"trainerStatus":' +
      '{"progressPercentage":5,"lastUpdatedTime":"2026-01-01T00:00:00Z"},"sequence":4}}',
  },
  "a history": {
    bytes: encodeForwardedPush({
      transitions: 3,
      push: { ...push, earlier, sentTimes: [undefined, "2026-01-02T00:00:00Z"] },
    }),
    want:
      '{"transitions":3,"job":{"kind":"trainjobs.trainer.kubeflow.org","namespace":"team","name":"job","uid":"uid-1"},' +
      '"pod":{"name":"pod","uid":"uid-pod"},"receivedMs":17,' +
      '"sentTimes":[null,"2026-01-02T00:00:00Z"],"history":{"samples":[' +
      '{"lastUpdatedTime":"2025-12-31T00:00:00Z"},' +
      '{"progressPercentage":5,"lastUpdatedTime":"2026-01-01T00:00:00Z"}]}}',
  },
  "a poll": {
    bytes: encodeAsk({
      transitions: 3,
      ask: pollMessage({ waitMs: 10, entries: [{ job, cursor: "t.4" }, { job }] }),
    }),
    want: '{"transitions":3,"ask":{"waitMs":10,"entries":[' +
      '{"job":{"kind":"trainjobs.trainer.kubeflow.org","namespace":"team","name":"job","uid":"uid-1"},"cursor":"t.4"},' +
      '{"job":{"kind":"trainjobs.trainer.kubeflow.org","namespace":"team","name":"job","uid":"uid-1"}}]}}',
  },
  "a question": {
    bytes: encodeAsk({ transitions: 3, ask: { job: jobMessage(job), limit: 5 } }),
    want:
      '{"transitions":3,"ask":{"job":{"kind":"trainjobs.trainer.kubeflow.org","namespace":"team","name":"job","uid":"uid-1"},' +
      '"limit":5}}',
  },
};
for (const [what, { bytes, want }] of Object.entries(MESSAGES)) {
  Deno.test(`${what} keeps its bytes`, () => assert.equal(textOf(bytes), want));
}

Deno.test("the calls keep their paths", () => {
  assert.deepEqual([PUSHES_PATH, askPath("curves"), changesPath("curves")], [
    "/owner/v2/pushes",
    "/owner/v2/ask/curves",
    "/owner/v2/changes/curves",
  ]);
});

Deno.test("a push is read only by a replica that knows the kind of its job", () => {
  const other = { ...push, job: { ...job, kind: OTHER } };
  const bytes = encodeForwardedPush({ transitions: 3, push: other });
  assert.match(textOf(bytes), /"job":\{"kind":"others\.example\.com","namespace":"team",/);
  assert.equal(createPushDecoder(BOTH)(bytes)?.push.job.kind, OTHER);
  assert.equal(createPushDecoder(JOB_KINDS)(bytes), undefined);
});

Deno.test("an owner of another protocol gets nothing, and clients are told to come again", async () => {
  const now = Date.now();
  const authority = await createAuthority(now);
  const pair = await issueServingCertificate(authority, ["owner"], now);
  const tls = { cert: pair.certificate, key: pair.key, ca: authority.certificate };
  const paths: string[] = [];
  const owner = createServer(tls, (message, response) => {
    paths.push(message.url ?? "");
    message.resume();
    response.writeHead(404, { "content-type": "application/json" });
    response.end('{"answers":[{"ok":true}]}');
  });
  owner.listen(0, "127.0.0.1");
  await once(owner, "listening");
  const address = owner.address();
  assert.ok(typeof address === "object" && address !== null);
  const { port } = address;
  const client = createForwardClient({ tls, serverName: "owner", clock: systemClock });
  const where = { kind: "elsewhere", address: `127.0.0.1:${port}`, transitions: 3 } as const;
  const leader = { locate: () => where, refresh: () => {} };
  const signal = new AbortController().signal;
  const none = () => Promise.resolve(undefined);
  const questions = createOwnerClient({
    leader,
    owned: { ask: none, changes: { status: none, observation: none, curves: none } },
    forward: client,
    clock: systemClock,
  });
  const accept = createOwnerRouter({
    leader,
    here: () => undefined,
    forward: client.forward,
    clock: systemClock,
  });
  try {
    const bounds = { deadlineMs: 10_000, signal };
    assert.equal((await client.forward(where, push, bounds)).outcome, "older_owner");
    const answers = [
      await accept(push, signal),
      await questions.asks(statusAsks(JOB_KINDS))(job, signal),
      await questions.asks(observationAsks(JOB_KINDS))({ job, limit: 1 }, signal),
    ];
    for (const answer of answers) {
      assert.ok("retryAfterMs" in answer && answer.retryAfterMs === 5000, JSON.stringify(answer));
      assert.match(answer.reason, /of another version/);
    }
    const poll = { entries: [{ job }], waitMs: 0 };
    assert.equal(await client.changes("status")(where, poll, bounds), undefined);
    assert.deepEqual(paths, [
      "/owner/v2/pushes",
      "/owner/v2/pushes",
      "/owner/v2/ask/status",
      "/owner/v2/ask/observation",
      "/owner/v2/changes/status",
    ]);
  } finally {
    client.close();
    owner.closeAllConnections();
    owner.close();
    await once(owner, "close");
  }
});
