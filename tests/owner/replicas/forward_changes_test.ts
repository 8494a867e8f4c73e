/** Tests of reads between replicas: messages, the owner that answers, and how long it waits for news. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { type Clock, systemClock } from "../../../platform/base/clock.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { createForwardClient } from "../../../owner/replicas/forward_client.ts";
import { startForwardListener } from "../../../owner/replicas/forward_listener.ts";
import {
  createPollReader,
  POLL_ANSWER_MAX_BYTES,
  POLL_MAX_BYTES,
  pollMessage,
  readingsThatFit,
  readReadings,
} from "../../../owner/replicas/forward_changes.ts";
import { encodeAsk } from "../../../owner/replicas/forward_asks.ts";
import type { PollAsk } from "../../../owner/owner_poll.ts";
import { createHeldStatuses } from "../../../owner/ledger/held_statuses.ts";
import type { Reading } from "../../../owner/ledger/reading.ts";
import {
  createAuthority,
  issueServingCertificate,
} from "../../../webhook/certificate_authority.ts";
import { until } from "../../support/until.ts";

const SERVER = "trainer.ns.svc";
const REPLICA = "milepost-replica";
const named = { namespace: "team", name: "job", uid: "uid-job" };
const sent = { kind: TRAINJOB.id, ...named };
const job = { kind: TRAINJOB, ...named };
const readPoll = createPollReader(JOB_KINDS);
const push = (progressPercentage: number): Push => ({
  job,
  pod: { name: "pod", uid: "uid-pod" },
  trainerStatus: { progressPercentage, lastUpdatedTime: "2026-01-01T00:00:00Z" },
  receivedMs: 1_767_225_600_000 + progressPercentage,
});
const encode = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

const ask: PollAsk = {
  waitMs: 10_000,
  entries: [{ job, cursor: "t.4" }, { job: { ...job, uid: "uid-other" } }],
};

Deno.test("`readPoll()` reads what `pollMessage()` wrote", () => {
  assert.deepEqual(readPoll(JSON.parse(JSON.stringify(pollMessage(ask)))), ask);
});

const written = { ...ask, entries: [{ job: sent }] };
const wrongAsks: Record<string, unknown> = {
  "nothing": undefined,
  "a wait without end": { ...written, waitMs: 3_600_000 },
  "a job without UID": { ...ask, entries: [{ job: { ...sent, uid: undefined } }] },
  "a job without kind": { ...ask, entries: [{ job: named }] },
  "a cursor without end": { ...ask, entries: [{ job: sent, cursor: "c".repeat(257) }] },
  "too many jobs": { ...ask, entries: Array.from({ length: 1001 }, () => ({ job: sent })) },
};
for (const [sentence, value] of Object.entries(wrongAsks)) {
  Deno.test(`\`readPoll()\` refuses ${sentence}`, () => {
    assert.equal(readPoll(value), undefined);
  });
}

Deno.test("the longest names of as many jobs as a call has fit when they are read", () => {
  const long = {
    kind: TRAINJOB,
    namespace: "n".repeat(63),
    name: "n".repeat(253),
    uid: "u".repeat(36),
  };
  const entries = Array.from({ length: 500 }, () => ({ job: long, cursor: "c".repeat(80) }));
  const question = { transitions: Number.MAX_SAFE_INTEGER, ask: pollMessage({ ...ask, entries }) };
  assert.ok(encodeAsk(question).length < POLL_MAX_BYTES);
});

/** As large as a push may be. */
function largeReading(index: number): Reading {
  const metrics = Array.from({ length: 256 }, (_, metric) => ({
    name: `${metric}`.padEnd(64, "\u0001"),
    value: "\u20ac".repeat(64),
  }));
  return {
    uid: `uid-${index}`,
    cursor: `t.${index}`,
    status: {
      trainerStatus: { metrics, lastUpdatedTime: "2026-01-01T00:00:00Z" },
      receivedTime: "2026-01-01T00:00:00Z",
      pod: "pod",
    },
  };
}

Deno.test("`readingsThatFit()` leaves readings beyond the limit of an answer to the next one", () => {
  const all = Array.from({ length: 200 }, (_, index) => largeReading(index));
  const first = readingsThatFit(all);
  assert.ok(first.readings.length > 0 && first.readings.length < all.length);
  const bytes = encode(first);
  assert.ok(bytes.length < POLL_ANSWER_MAX_BYTES, `${bytes.length} bytes`);
  assert.deepEqual(readReadings(JSON.parse(JSON.stringify(first))), first.readings);
  assert.deepEqual(readingsThatFit([]).readings, []);
});

Deno.test("`readReadings()` reads readings and nothing else", () => {
  for (const other of [{}, { refusal: "not_owner" }, { readings: [{}] }, null, []]) {
    assert.equal(readReadings(other), undefined);
  }
});

/** An owner with what it holds, and a replica that reads there. */
async function withOwner(
  work: (set: {
    read: (waitMs?: number, cursor?: string) => Promise<readonly Reading[] | undefined>;
    held: ReturnType<typeof createHeldStatuses>;
    own: { leading: boolean; transitions: number };
    waits: () => number;
    close: (drainMs: number) => Promise<void>;
    gone: AbortController;
  }) => Promise<void>,
): Promise<void> {
  const now = Date.now();
  const authority = await createAuthority(now);
  const pairs = {
    server: await issueServingCertificate(authority, [SERVER], now),
    client: await issueServingCertificate(authority, [REPLICA], now),
  };
  const tls = (pair: typeof authority) => ({
    cert: pair.certificate,
    key: pair.key,
    ca: authority.certificate,
  });
  const own = { leading: true, transitions: 3 };
  let waits = 0;
  const clock: Clock = {
    now: systemClock.now,
    monotonic: systemClock.monotonic,
    async sleep(ms, signal) {
      waits += 1;
      await systemClock.sleep(ms, signal);
      waits -= 1;
    },
  };
  const held = createHeldStatuses({ shown: () => undefined, clock, term: "t" });
  const listener = await startForwardListener({
    kinds: JOB_KINDS,
    port: 0,
    hostname: "127.0.0.1",
    tls: tls(pairs.server),
    clientName: REPLICA,
    term: () => own,
    owned: {
      accept: () => Promise.resolve({ ok: true }),
      ask: () => Promise.resolve(undefined),
      changes: { status: held.poll, observation: held.poll, curves: () => Promise.resolve([]) },
    },
    asks: [],
    clock: systemClock,
  });
  const client = createForwardClient({
    tls: tls(pairs.client),
    serverName: SERVER,
    clock: systemClock,
  });
  const gone = new AbortController();
  try {
    await work({
      held,
      own,
      gone,
      waits: () => waits,
      close: listener.close,
      read: (waitMs = 0, cursor) =>
        client.changes("status")(
          { address: `127.0.0.1:${listener.port}`, transitions: 3 },
          { entries: [{ job, cursor }], waitMs },
          { deadlineMs: 30_000, signal: gone.signal },
        ),
    });
  } finally {
    client.close();
    await listener.close(0);
  }
}

const percentage = (readings: readonly Reading[] | undefined) =>
  readings?.map(({ status }) => status?.trainerStatus.progressPercentage);

Deno.test("a replica reads the owner's statuses, and gets news while it waits", async () => {
  await withOwner(async ({ read, held, waits }) => {
    assert.deepEqual(percentage(await read()), [undefined]);
    held.put(push(5));
    const [first] = await read() ?? [];
    assert.equal(first?.status?.trainerStatus.progressPercentage, 5);
    const waiting = read(20_000, first.cursor);
    await until("the owner waits", () => waits() === 1);
    held.put(push(6));
    assert.deepEqual(percentage(await waiting), [6]);
  });
});

const terms: Record<string, { leading: boolean; transitions: number }> = {
  "a newer owner's term": { leading: true, transitions: 4 },
  "a replica that owns nothing": { leading: false, transitions: 3 },
};
for (const [sentence, now] of Object.entries(terms)) {
  Deno.test(`a read is not answered by ${sentence}, nor by a replica that became so while it waited`, async () => {
    await withOwner(async ({ read, held, own, waits }) => {
      held.put(push(5));
      const [reading] = await read() ?? [];
      const waiting = read(20_000, reading?.cursor);
      await until("the owner waits", () => waits() === 1);
      Object.assign(own, now);
      held.put(push(6));
      assert.equal(await waiting, undefined);
      assert.equal(await read(), undefined);
    });
  });
}

Deno.test("an owner does not wait for callers that are gone, nor beyond its own end", async () => {
  await withOwner(async ({ read, held, waits, gone, close }) => {
    held.put(push(5));
    const [reading] = await read() ?? [];
    const first = read(20_000, reading?.cursor);
    await until("the owner waits", () => waits() === 1);
    gone.abort();
    assert.equal(await first, undefined);
    // Less than it would wait for news.
    await until("the owner waits no more", () => waits() === 0, { timeoutMs: 15_000 });
    await close(30_000);
  });
});

Deno.test("an owner that shuts down answers those that wait at once", async () => {
  await withOwner(async ({ read, held, waits, close }) => {
    held.put(push(5));
    const [reading] = await read() ?? [];
    const waiting = read(20_000, reading?.cursor);
    await until("the owner waits", () => waits() === 1);
    const closed = close(30_000);
    assert.deepEqual(await waiting, []);
    await closed;
  });
});
