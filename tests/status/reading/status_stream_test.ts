/** Tests of an event stream: its events, readers of every kind, and its end. */
import assert from "node:assert/strict";
import {
  type EventStreamOptions,
  type JobEnd,
  runEventStream,
  type StreamEnd,
} from "../../../status/reading/status_stream.ts";
import type { JobStatus } from "../../../owner/ledger/reading.ts";
import { FakeClock, settle } from "../../support/fake_clock.ts";

const START = "2026-01-01T00:00:00.000Z";
const START_MS = Date.parse(START);

/** A status with that percentage, received so many milliseconds after the start. */
function status(percentage: number, afterMs = percentage): JobStatus {
  return {
    trainerStatus: { progressPercentage: percentage, lastUpdatedTime: START },
    receivedTime: new Date(START_MS + afterMs).toISOString(),
    pod: "pod-1",
  };
}

/** A stream whose reader, job and clock a test moves. */
function start(options: Partial<EventStreamOptions> = {}) {
  const clock = new FakeClock(START_MS);
  const written: string[] = [];
  const gone = new AbortController();
  const follows = { count: 0 };
  const reader = { stalls: false };
  const waiting: (() => void)[] = [];
  let tell: (status: JobStatus) => void = () => {};
  let end: (reason: JobEnd) => void = () => {};
  const done = { is: false, checks: 0 };
  const running = runEventStream({
    clock,
    sink: {
      signal: gone.signal,
      write(text) {
        written.push(String(text));
        if (!reader.stalls) return Promise.resolve();
        return new Promise((resolve) => waiting.push(resolve));
      },
    },
    expiresMs: START_MS + 3_600_000,
    follow: (listener) => {
      tell = listener;
      follows.count += 1;
      return () => void (follows.count -= 1);
    },
    onJobEnd: (listener) => {
      end = listener;
      return () => {};
    },
    lastStatus: () => Promise.resolve(undefined),
    reauthorize: () => {
      done.checks += 1;
      return Promise.resolve(undefined);
    },
    random: () => 0.5,
    ...options,
  }).then(() => void (done.is = true));
  return {
    clock,
    written,
    gone,
    follows,
    reader,
    done,
    running,
    tell: (...args: Parameters<typeof status>) => tell(status(...args)),
    tellStatus: (it: JobStatus) => tell(it),
    end: (reason: JobEnd) => end(reason),
    /** The reader takes everything again. */
    drain() {
      reader.stalls = false;
      waiting.splice(0).forEach((it) => it());
    },
    /** Percentages of the events so far. */
    seen: () =>
      written.flatMap((text) => {
        const percentage = /"progressPercentage":(\d+)/.exec(text)?.[1];
        return percentage === undefined ? [] : [Number(percentage)];
      }),
    /** Everything that is no status. */
    rest: () => written.filter((text) => !text.startsWith("event: status")),
  };
}

const RETRY = "retry: 2000\n\n";

Deno.test("`runEventStream()` sends the current status, then each newer one, with increasing ids", async () => {
  const { tell, written, gone, running } = start();
  await settle();
  for (const [percentage, afterMs] of [[1, 500], [2, 500], [3, 100], [4, 900]] as const) {
    tell(percentage, afterMs);
    await settle();
  }
  gone.abort();
  await running;
  assert.equal(written[0], RETRY);
  assert.equal(
    written[1],
    `event: status\nid: ${START_MS + 500}\ndata: {"trainerStatus":{"progressPercentage":1,` +
      `"lastUpdatedTime":"${START}"},"receivedTime":"2026-01-01T00:00:00.500Z","pod":"pod-1"}\n\n`,
  );
  const ids = written.slice(1).map((text) => Number(/id: (\d+)/.exec(text)?.[1]) - START_MS);
  assert.deepEqual(ids, [500, 501, 502, 900]);
});

Deno.test("`runEventStream()` keeps one status for a slow reader, the newest", async () => {
  const { tell, seen, reader, drain, gone, running } = start();
  await settle();
  reader.stalls = true;
  for (let percentage = 1; percentage <= 50; percentage++) {
    tell(percentage);
    await settle(1);
  }
  assert.deepEqual(seen(), [1]);
  drain();
  await settle();
  assert.deepEqual(seen(), [1, 50]);
  gone.abort();
  await running;
});

Deno.test("`runEventStream()` disconnects a reader that reads nothing for 30 s", async () => {
  const { tell, reader, clock, done, follows, running } = start();
  await settle();
  reader.stalls = true;
  tell(1);
  await clock.advance(29_999);
  assert.equal(done.is, false);
  await clock.advance(1);
  await running;
  assert.equal(follows.count, 0);
  assert.equal(clock.sleeping, 0);
});

Deno.test("`runEventStream()` sends a comment every 15 s, whether there is news or not", async () => {
  const { clock, tell, rest, gone, running } = start();
  for (let second = 1; second <= 46; second++) {
    await clock.advance(1000);
    if (second > 20) tell(second);
  }
  gone.abort();
  await running;
  assert.deepEqual(rest(), [RETRY, ...Array<string>(3).fill(": still there\n\n")]);
});

Deno.test("`runEventStream()` does not repeat a status, nor send an older one from the object", async () => {
  const { tell, tellStatus, seen, gone, running } = start();
  await settle();
  tell(10);
  await settle();
  tell(10);
  await settle();
  const own = (percentage: number, lastUpdatedTime: string): JobStatus => ({
    trainerStatus: { progressPercentage: percentage, lastUpdatedTime },
    receivedTime: lastUpdatedTime,
  });
  tellStatus(own(9, START));
  await settle();
  tellStatus(own(11, "2026-01-01T00:00:01Z"));
  await settle();
  gone.abort();
  await running;
  assert.deepEqual(seen(), [10, 11]);
});

const ends: Record<string, { reason: JobEnd; want: string[] }> = {
  "is complete": {
    reason: "Complete",
    want: [RETRY, 'event: end\ndata: {"reason":"Complete"}\n\n'],
  },
  "has failed": { reason: "Failed", want: [RETRY, 'event: end\ndata: {"reason":"Failed"}\n\n'] },
  "is deleted": { reason: "Deleted", want: [RETRY, 'event: end\ndata: {"reason":"Deleted"}\n\n'] },
};
for (const [sentence, { reason, want }] of Object.entries(ends)) {
  Deno.test(`\`runEventStream()\` ends with an event if the job ${sentence}`, async () => {
    const { end, rest, running, follows, clock } = start();
    await settle();
    end(reason);
    await running;
    assert.deepEqual(rest(), want);
    assert.deepEqual([follows.count, clock.sleeping], [0, 0]);
  });
}

Deno.test("`runEventStream()` sends the last status before the end", async () => {
  const { tell, end, seen, written, running } = start({
    lastStatus: () => Promise.resolve(status(100)),
  });
  await settle();
  tell(98);
  tell(99);
  end("Complete");
  await running;
  assert.deepEqual(seen(), [99, 100]);
  assert.match(written.at(-1) ?? "", /^event: end/);
});

Deno.test("`runEventStream()` ends at once if the job has already ended", async () => {
  const { written, running } = start({
    onJobEnd: (listener) => {
      listener("Failed");
      return () => {};
    },
    lastStatus: () => Promise.resolve(status(70)),
  });
  await running;
  assert.equal(written.length, 3);
});

Deno.test("`runEventStream()` checks every 60 s that the reader may still read", async () => {
  const answers: (StreamEnd | undefined | Error)[] = [
    undefined,
    new Error("the API server is away"),
    { kind: "reader", why: "the pod has finished" },
  ];
  const { clock, tell, rest, done, running } = start({
    reauthorize: () => {
      const answer = answers.shift();
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  await clock.advance(179_999);
  assert.deepEqual([done.is, answers.length], [false, 1]);
  tell(50);
  await clock.advance(1);
  await running;
  assert.equal(rest().at(-1), ": ended: the pod has finished\n\n");
});

Deno.test("`runEventStream()` sends nothing more to a reader that lost the right", async () => {
  const state: { tell?: () => void } = {};
  const { clock, tell, seen, running } = start({
    reauthorize: () => {
      state.tell?.();
      return Promise.resolve({ kind: "reader", why: "revoked" });
    },
  });
  state.tell = () => tell(77);
  await clock.advance(60_000);
  await running;
  assert.deepEqual(seen(), []);
});

Deno.test("`runEventStream()` ends when the token expires, also if the wall clock jumps", async () => {
  const { clock, done, rest, running } = start({ expiresMs: START_MS + 20_000 });
  await clock.advance(19_999);
  assert.equal(done.is, false);
  await clock.advance(1);
  await running;
  assert.equal(rest().at(-1), ": ended: the token has expired: connect again with a new one\n\n");

  const jumped = start();
  jumped.clock.jump(3_600_000);
  await jumped.clock.advance(15_000);
  await jumped.running;
  assert.match(jumped.rest().at(-1) ?? "", /expired/);
});

Deno.test("`runEventStream()` releases everything at once when the reader leaves", async () => {
  const { clock, gone, follows, tell, reader, running } = start();
  await settle();
  reader.stalls = true;
  tell(1);
  await settle();
  gone.abort();
  await running;
  assert.deepEqual([follows.count, clock.sleeping], [0, 0]);
});
