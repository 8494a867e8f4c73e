/** Tests of forwarding between replicas: messages, permitted senders, and the owner that accepts them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { HISTORY_LIMITS } from "../../../crds/names.ts";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import type { AcceptPush } from "../../../crds/wire/push_answer.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { createReplicaCalls } from "../../../platform/http/replicas/calls.ts";
import type { ReplicaTls } from "../../../platform/http/replicas/calls.ts";
import { createForwardClient } from "../../../owner/replicas/forward_client.ts";
import {
  type ForwardListenerOptions,
  startForwardListener,
} from "../../../owner/replicas/forward_listener.ts";
import { type OwnTerm, termRefusal } from "../../../platform/http/replicas/terms.ts";
import {
  createPushDecoder,
  decodeForwardAnswers,
  encodeForwardedPush,
  FORWARD_MAX_BYTES,
  type ForwardResult,
  joinPushes,
  PUSHES_PATH,
} from "../../../owner/replicas/forwarding.ts";
import { parseAddress } from "../../../platform/http/replicas/calls.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";
import type { CertificatePair } from "../../../platform/base/certificates.ts";

const push: Push = {
  job: { kind: TRAINJOB, namespace: "team", name: "job", uid: "uid-job" },
  pod: { name: "pod", uid: "uid-pod" },
  trainerStatus: {
    progressPercentage: 5,
    metrics: [{ name: "loss", value: "0.1" }],
    step: 0,
    lastUpdatedTime: "2026-01-01T00:00:00Z",
  },
  sequence: 4,
  container: "node",
  receivedMs: 17,
};
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));
const decodeForwardedPush = createPushDecoder(JOB_KINDS);
const SERVER = "trainer.ns.svc";
const REPLICA = "milepost-replica";

Deno.test("`decodeForwardedPush()` reads what `encodeForwardedPush()` wrote", () => {
  assert.deepEqual(decodeForwardedPush(encodeForwardedPush({ transitions: 3, push })), {
    transitions: 3,
    push,
  });
});

Deno.test("`decodeForwardedPush()` reads a history that `encodeForwardedPush()` wrote", () => {
  const earlier = ["00", "01"].map((second) => ({
    lastUpdatedTime: `2025-12-31T23:59:${second}Z`,
    step: Number(second),
  }));
  const { sequence: _, ...history } = { ...push, earlier };
  assert.deepEqual(
    decodeForwardedPush(encodeForwardedPush({ transitions: 3, push: history })),
    {
      transitions: 3,
      push: { ...history, sequence: undefined },
    },
  );
});

Deno.test("`decodeForwardedPush()` reads the times that a client wrote", () => {
  const moved = { ...push, sentTimes: ["2026-01-01T00:00:07Z"] };
  const history = {
    ...push,
    earlier: [{ lastUpdatedTime: "2025-12-31T23:59:00Z" }],
    sentTimes: [undefined, "2026-01-01T00:00:07Z"],
    sequence: undefined,
  };
  for (const one of [moved, history]) {
    const read = decodeForwardedPush(encodeForwardedPush({ transitions: 3, push: one }));
    assert.deepEqual(read, { transitions: 3, push: one });
  }
});

Deno.test("the longest history that a pod may send fits when it is forwarded", () => {
  // The values that grow most when they are written again: a short exponent, and a time without fractions.
  const name = "n".repeat(253);
  const sample = {
    estimatedRemainingSeconds: 2_000_000_000,
    lastUpdatedTime: "2026-01-01T00:00:00.000Z",
  };
  const sent = '{"estimatedRemainingSeconds":2e9,"lastUpdatedTime":"2026-01-01T00:00:00Z"}';
  const earlier = Array<typeof sample>(999).fill(sample);
  const job = { kind: TRAINJOB, namespace: name, name, uid: "u".repeat(128) };
  const large = {
    ...push,
    job,
    pod: { name, uid: "u".repeat(128) },
    trainerStatus: sample,
    earlier,
    sentTimes: Array<string>(1000).fill("2026-01-01T00:00:00.000000000000000000000000000+01:00"),
  };
  const body = encodeForwardedPush({ transitions: 2 ** 31, push: large });
  const grown = body.length - `{"samples":[${Array(1000).fill(sent).join(",")}]}`.length;
  assert.ok(grown < FORWARD_MAX_BYTES - HISTORY_LIMITS.bodyBytes, String(grown));
});

Deno.test("the largest push that a pod may send fits when it is forwarded", () => {
  const metrics = Array.from({ length: 256 }, (_, index) => ({
    name: `${index}`.padEnd(64, "\u0001"),
    value: "v".repeat(64),
  }));
  const name = "n".repeat(253);
  const job = { kind: TRAINJOB, namespace: name, name, uid: "u".repeat(128) };
  const large = { ...push, job, trainerStatus: { ...push.trainerStatus, metrics } };
  const body = encodeForwardedPush({ transitions: 2 ** 31, push: large });
  const sent = encode({ trainerStatus: large.trainerStatus, sequence: 4 });
  assert.ok(body.length - sent.length < FORWARD_MAX_BYTES - 65_536);
});

const good = { transitions: 1, job: push.job, pod: push.pod, receivedMs: 1, push: {} };
const wrongPushes: Record<string, Uint8Array> = {
  "no JSON": new TextEncoder().encode("{"),
  "no UTF-8": new Uint8Array([0xff]),
  "nothing to report": encode(good),
  "a push that a pod might not send": encode({
    ...good,
    push: { trainerStatus: { progressPercentage: 101, lastUpdatedTime: "2026-01-01T00:00:00Z" } },
  }),
  "a history that a pod might not send": encode({
    ...good,
    history: { samples: [{ lastUpdatedTime: "2026-01-01T00:00:00Z", progressPercentage: -1 }] },
  }),
  "an empty history": encode({ ...good, history: { samples: [] } }),
  "no term": encode({ ...good, transitions: undefined, push }),
  "a job without UID": encode({ ...good, job: { namespace: "a", name: "b" }, push }),
};
for (const [sentence, bytes] of Object.entries(wrongPushes)) {
  Deno.test(`\`decodeForwardedPush()\` refuses ${sentence}`, () => {
    assert.equal(decodeForwardedPush(bytes), undefined);
  });
}

Deno.test("`decodeForwardAnswers()` reads answers and nothing else", () => {
  const control = { stop: true, reason: "EarlyStopped", message: "enough" };
  const answers = [
    { ok: true },
    { ok: true, warnings: ["w"], control },
    { retryAfterMs: 5, reason: "r" },
    { retryAfterMs: 5, reason: "r", gone: true },
    { refusal: "not_owner" },
    { refusal: "older_transition" },
  ];
  assert.deepEqual(decodeForwardAnswers(encode({ answers })), answers);
  assert.equal(decodeForwardAnswers(encode(answers)), undefined);
  for (const other of [{}, { ok: false }, { refusal: "no" }, [], null]) {
    assert.equal(decodeForwardAnswers(encode({ answers: [other] })), undefined);
  }
});

const addresses: Record<string, { host: string; port: number } | undefined> = {
  "10.0.0.2:8443": { host: "10.0.0.2", port: 8443 },
  "[fd00::2]:8443": { host: "fd00::2", port: 8443 },
  "10.0.0.2": undefined,
  "fd00::2:8443": undefined,
  "10.0.0.2:99999": undefined,
  "": undefined,
};
for (const [text, want] of Object.entries(addresses)) {
  Deno.test(`\`parseAddress()\` reads "${text}"`, () => {
    assert.deepEqual(parseAddress(text), want);
  });
}

const terms: Record<string, { own: OwnTerm; sent: number; want: string | undefined }> = {
  "takes what is meant for its own term": {
    own: { leading: true, transitions: 3 },
    sent: 3,
    want: undefined,
  },
  "refuses what is meant for an older owner": {
    own: { leading: true, transitions: 3 },
    sent: 2,
    want: "older_transition",
  },
  "owns nothing if the sender knows a newer owner": {
    own: { leading: true, transitions: 3 },
    sent: 4,
    want: "not_owner",
  },
  "owns nothing if it did not renew in time": {
    own: { leading: false, transitions: 3 },
    sent: 3,
    want: "not_owner",
  },
};
for (const [sentence, { own, sent, want }] of Object.entries(terms)) {
  Deno.test(`\`termRefusal()\` ${sentence}`, () => {
    const refusal = termRefusal(own, sent);
    assert.equal(refusal && "refusal" in refusal ? refusal.refusal : undefined, want);
  });
}

const tlsOf = (pair: CertificatePair, ca: string): ReplicaTls => ({
  cert: pair.certificate,
  key: pair.key,
  ca,
});

/** State of a replica that takes pushes. */
function ownedBy(accept: AcceptPush): ForwardListenerOptions["owned"] {
  const poll = () => Promise.resolve(undefined);
  return {
    accept,
    ask: () => Promise.resolve(undefined),
    changes: { status: poll, observation: poll, curves: poll },
  };
}

/** An owner and a replica that forwards to it, with certificates of one CA. */
async function withOwner(
  work: (set: {
    forward: (tls?: ReplicaTls, deadlineMs?: number) => Promise<ForwardResult>;
    authority: CertificatePair;
    listener: { readonly port: number; updateTls(tls: ReplicaTls): void };
    taken: Push[];
    term: { leading: boolean; transitions: number };
  }) => Promise<void>,
  options: Partial<ForwardListenerOptions> = {},
): Promise<void> {
  const now = Date.now();
  const authority = await createAuthority(now);
  const serving = await issueServingCertificate(authority, [SERVER], now);
  const replica = await issueServingCertificate(authority, [REPLICA], now);
  const term = { leading: true, transitions: 3 };
  const taken: Push[] = [];
  const listener = await startForwardListener({
    kinds: JOB_KINDS,
    port: 0,
    hostname: "127.0.0.1",
    tls: tlsOf(serving, authority.certificate),
    clientName: REPLICA,
    term: () => term,
    owned: ownedBy((push) => {
      taken.push(push);
      return Promise.resolve({ ok: true, warnings: ["heard"] });
    }),
    asks: [],
    clock: systemClock,
    ...options,
  });
  const clients: { close(): void }[] = [];
  try {
    await work({
      authority,
      listener,
      taken,
      term,
      forward(tls = tlsOf(replica, authority.certificate), deadlineMs = 5000) {
        const client = createForwardClient({
          tls,
          serverName: SERVER,
          clock: systemClock,
        });
        clients.push(client);
        const target = { address: `127.0.0.1:${listener.port}`, transitions: 3 };
        return client.forward(target, push, { deadlineMs, signal: new AbortController().signal });
      },
    });
  } finally {
    for (const client of clients) client.close();
    await listener.close(0);
  }
}

Deno.test("a push reaches the owner, and the owner's answer the replica", async () => {
  await withOwner(async ({ forward, taken }) => {
    assert.deepEqual(await forward(), {
      outcome: "accepted",
      acceptance: { ok: true, warnings: ["heard"] },
    });
    assert.deepEqual(taken, [push]);
  });
});

Deno.test("the owner takes pushes while another address holds all the connections that it may", async () => {
  await withOwner(async ({ forward, listener }) => {
    const hogs = Array.from({ length: 520 }, () => {
      const socket = connect({ port: listener.port, host: "127.0.0.1", localAddress: "127.0.0.9" });
      socket.on("error", () => {});
      return socket;
    });
    await Promise.all(hogs.map((socket) => once(socket, "connect")));
    assert.equal((await forward()).outcome, "accepted");
    for (const socket of hogs) socket.destroy();
  });
});

Deno.test("pushes that come at the same time all reach the owner, each with its own answer", async () => {
  const taken: (number | undefined)[] = [];
  await withOwner(async ({ authority, listener }) => {
    const replica = await issueServingCertificate(authority, [REPLICA], Date.now());
    const tls = tlsOf(replica, authority.certificate);
    const client = createForwardClient({
      tls,
      serverName: SERVER,
      clock: systemClock,
    });
    const target = { address: `127.0.0.1:${listener.port}`, transitions: 3 };
    const bounds = { deadlineMs: 30_000, signal: new AbortController().signal };
    const numbers = Array.from({ length: 300 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map((sequence) => client.forward(target, { ...push, sequence }, bounds)),
    );
    client.close();
    assert.deepEqual(
      results.map(({ acceptance }) => acceptance?.ok && acceptance.warnings?.[0]),
      numbers.map((sequence) => `heard ${sequence}`),
    );
    assert.deepEqual(taken.toSorted((a = 0, b = 0) => a - b), numbers);
  }, {
    owned: ownedBy(({ sequence }) => {
      taken.push(sequence);
      return { ok: true, warnings: [`heard ${sequence}`] };
    }),
  });
});

Deno.test("a push that the owner does not understand is refused alone", async () => {
  await withOwner(async ({ authority, listener, taken }) => {
    const replica = await issueServingCertificate(authority, [REPLICA], Date.now());
    const calls = createReplicaCalls({
      tls: tlsOf(replica, authority.certificate),
      serverName: SERVER,
      clock: systemClock,
      maxCalls: 1,
      maxConnections: 1,
      idleMs: 1000,
    });
    const call = (...pushes: Uint8Array[]) =>
      calls.call({
        address: `127.0.0.1:${listener.port}`,
        path: PUSHES_PATH,
        body: joinPushes(pushes),
        maxBytes: 100_000,
      }, { deadlineMs: 30_000, signal: new AbortController().signal });
    const understood = encodeForwardedPush({ transitions: 3, push });
    const { bytes = encode("") } = await call(encode({}), understood);
    const [first, second] = decodeForwardAnswers(bytes) ?? [];
    assert.match(first && "reason" in first ? first.reason : "", /does not understand/);
    assert.deepEqual(second, { ok: true, warnings: ["heard"] });
    assert.equal(taken.length, 1);
    const { bytes: nothing = encode("") } = await call(encode({}));
    assert.equal(decodeForwardAnswers(nothing), undefined);
    calls.close();
  });
});

const refusals: Record<string, { leading: boolean; transitions: number; want: string }> = {
  "a newer owner's term": { leading: true, transitions: 4, want: "older_transition" },
  "a replica that owns nothing": { leading: false, transitions: 3, want: "not_owner" },
};
for (const [sentence, { want, ...now }] of Object.entries(refusals)) {
  Deno.test(`a forward is refused by ${sentence}, and nothing is accepted`, async () => {
    await withOwner(async ({ forward, taken, term }) => {
      Object.assign(term, now);
      assert.deepEqual(await forward(), { outcome: want });
      assert.deepEqual(taken, []);
    });
  });
}

Deno.test("an owner that was paused while it accepted a push does not answer", async () => {
  const own = { leading: true, transitions: 3 };
  await withOwner(async ({ forward }) => {
    assert.deepEqual(await forward(), { outcome: "not_owner" });
  }, {
    term: () => own,
    owned: ownedBy(() => {
      own.leading = false;
      return Promise.resolve({ ok: true });
    }),
  });
});

Deno.test("a slow owner answers 503, and one that hangs is given up at the deadline", async () => {
  const hangs = { owned: ownedBy(() => new Promise(() => {})) };
  await withOwner(async ({ forward }) => {
    const { outcome } = await forward();
    assert.equal(outcome, "refused");
  }, { ...hangs, acceptDeadlineMs: 50 });
  await withOwner(async ({ forward }) => {
    assert.deepEqual(await forward(undefined, 100), { outcome: "timeout" });
  }, hangs);
});

Deno.test("callers without a replica's certificate of the CA are refused", async () => {
  await withOwner(async ({ forward, authority, taken }) => {
    const now = Date.now();
    const foreign = await createAuthority(now);
    const strangers = {
      "another CA": await issueServingCertificate(foreign, [REPLICA], now),
      "another name": await issueServingCertificate(authority, [SERVER], now),
    };
    for (const [what, pair] of Object.entries(strangers)) {
      const { outcome } = await forward(tlsOf(pair, authority.certificate));
      assert.equal(outcome, "unreachable", what);
    }
    const replica = await issueServingCertificate(authority, [REPLICA], now);
    const impostor = await forward(tlsOf(replica, foreign.certificate));
    assert.equal(impostor.outcome, "unreachable", "a server of another CA is not believed");
    assert.deepEqual(taken, []);
  });
});

Deno.test("replicas understand each other through a rotation of the CA", async () => {
  await withOwner(async ({ forward, authority, listener }) => {
    const now = Date.now();
    const next = await createAuthority(now);
    const both = authority.certificate + next.certificate;
    const serving = await issueServingCertificate(next, [SERVER], now);
    listener.updateTls(tlsOf(serving, both));
    for (const signer of [authority, next]) {
      const replica = await issueServingCertificate(signer, [REPLICA], now);
      assert.equal((await forward(tlsOf(replica, both))).outcome, "accepted");
    }
  });
});

Deno.test("`forward()` never throws: connection refused, no address, no room", async () => {
  const now = Date.now();
  const authority = await createAuthority(now);
  const replica = await issueServingCertificate(authority, [REPLICA], now);
  const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
  const { port } = listener.addr;
  listener.close();
  const seen: string[] = [];
  const options = {
    tls: tlsOf(replica, authority.certificate),
    serverName: SERVER,
    clock: systemClock,
    onForward: (outcome: string) => seen.push(outcome),
  };
  const client = createForwardClient(options);
  const full = createForwardClient({ ...options, maxCalls: 0 });
  const bounds = { deadlineMs: 5000, signal: new AbortController().signal };
  await client.forward({ address: `127.0.0.1:${port}`, transitions: 0 }, push, bounds);
  await client.forward({ address: "nowhere", transitions: 0 }, push, bounds);
  await full.forward({ address: `127.0.0.1:${port}`, transitions: 0 }, push, bounds);
  assert.deepEqual(seen, ["unreachable", "unreachable", "saturated"]);
  client.close();
  full.close();
});
