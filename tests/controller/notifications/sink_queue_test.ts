/** Tests of a sink's queue: rate, retries, bounds. */
import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import type { Answer, Message } from "../../../controller/notifications/post.ts";
import type { Sink } from "../../../controller/notifications/notified_sink.ts";
import {
  createSinkQueue,
  type NotificationResult,
  QUEUE_LIMITS,
} from "../../../controller/notifications/sink_queue.ts";
import { FakeClock, settlePromises } from "../../support/fake_clock.ts";
import { logged } from "../../support/logged.ts";
import { notice, sink } from "./builders.ts";

const MINUTE = 60_000;
const SENT: Answer = { kind: "sent" };

interface World {
  readonly clock: FakeClock;
  readonly queue: ReturnType<typeof createSinkQueue>;
  /** The ids that were tried, and when, in seconds. */
  readonly tried: { readonly id: string; readonly body: string; readonly at: number }[];
  readonly results: Map<NotificationResult, number>;
}

/** Runs `work` with a queue whose sink answers so. */
async function withQueue(
  answer: (message: Message, tries: number, signal: AbortSignal) => Answer | Promise<Answer>,
  work: (world: World) => Promise<void>,
  more: Partial<Sink> = {},
): Promise<void> {
  const clock = new FakeClock(undefined, () => settlePromises());
  const [tried, results]: [World["tried"], World["results"]] = [[], new Map()];
  const queue = createSinkQueue({
    sink: sink(more),
    clock,
    random: () => 1,
    log: getLogger(["milepost", "notifications"]),
    onResult: (it) => void results.set(it, (results.get(it) ?? 0) + 1),
    post: async (message, signal) => {
      tried.push({ ...message, at: clock.monotonic() / 1000 });
      return await answer(message, tried.length, signal);
    },
  });
  const over = new AbortController();
  const running = queue.run(over.signal);
  await work({ clock, queue, tried, results });
  over.abort();
  await running;
  assert.equal(clock.sleeping, 0);
}

const names = (count: number, prefix = "job") =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

Deno.test("a notice is sent once, and what the sink does not want is not", () =>
  withQueue(() => SENT, async ({ clock, queue, tried, results }) => {
    queue.offer(notice("a"));
    queue.offer(notice("b", { event: "Complete" }));
    queue.offer(notice("c", {}, "team-b"));
    await clock.advance(2 * MINUTE);
    assert.deepEqual(tried.map(({ id }) => id), [notice("a").id]);
    assert.deepEqual([...results], [["sent", 1]]);
  }, { events: ["Failed", "Stalled"], namespaces: ["team-a"] }));

Deno.test("of a storm ten are told a minute and namespace, and the others together", () =>
  withQueue(() => SENT, async ({ clock, queue, tried, results }) => {
    for (const name of names(1_000)) queue.offer(notice(name));
    queue.offer(notice("late", { event: "Stalled" }));
    queue.offer(notice("other", {}, "team-b"));
    await clock.advance(MINUTE - 1);
    assert.equal(tried.length, QUEUE_LIMITS.perWindow + 1);
    await clock.advance(MINUTE);
    assert.equal(tried.length, QUEUE_LIMITS.perWindow + 2);
    assert.deepEqual(JSON.parse(tried.at(-1)?.body ?? ""), {
      id: "team-a-Summary-2026-01-01T00:01:00Z",
      event: "Summary",
      namespace: "team-a",
      more: 991,
      counts: { Failed: 990, Stalled: 1 },
    });
    queue.offer(notice("next"));
    await clock.advance(1);
    assert.equal(tried.at(-1)?.id, notice("next").id);
    assert.deepEqual([...results], [["summarised", 991], ["sent", 13]]);
  }));

Deno.test("a storm in many namespaces is bounded, too", () =>
  withQueue(() => SENT, async ({ clock, queue, tried, results }) => {
    const others = names(QUEUE_LIMITS.namespaces + 100, "team");
    for (const team of others) queue.offer(notice("a", { text: undefined }, team));
    await clock.advance(2 * MINUTE);
    assert.equal(results.get("summarised"), 90);
    assert.match(tried.at(-1)?.body ?? "", /^\{"id":"-Summary-[^,]*","event":"Summary","more":90,/);
  }));

Deno.test("a sink that is down is asked more and more rarely, and then told", () =>
  withQueue(
    (_, tries) => tries < 5 ? { kind: "again", why: "it answers 500" } : SENT,
    async ({ clock, queue, tried, results }) => {
      queue.offer(notice("a"));
      await clock.advance(MINUTE);
      assert.deepEqual(tried.map(({ at }) => at), [0, 1, 3, 7, 15]);
      assert.deepEqual([...results], [["sent", 1]]);
    },
  ));

Deno.test("a sink says when to come again", () =>
  withQueue(
    (_, tries) => tries === 1 ? { kind: "again", why: "it answers 429", afterMs: 90_000 } : SENT,
    async ({ clock, queue, tried }) => {
      queue.offer(notice("a"));
      await clock.advance(5 * MINUTE);
      assert.deepEqual(tried.map(({ at }) => at), [0, 90]);
    },
  ));

Deno.test("a notice is given up after ten minutes, and the next one is tried", () =>
  withQueue(
    ({ id }) => id === notice("a").id ? { kind: "again", why: "it answers 500" } : SENT,
    async ({ clock, queue, tried, results }) => {
      queue.offer(notice("a"));
      queue.offer(notice("b"));
      await clock.advance(15 * MINUTE);
      assert.deepEqual([...results], [["failed", 1], ["sent", 1]]);
      const last = tried.filter(({ id }) => id === notice("a").id).at(-1)?.at ?? 0;
      assert.ok(last >= 600 && last <= 661, `${last} s`);
    },
  ));

Deno.test("a refusal is counted each time and logged once", async () => {
  const records = await logged(() =>
    withQueue(
      () => ({ kind: "refused", why: "it answers 404" }),
      async ({ clock, queue, tried, results }) => {
        names(5).forEach((name) => queue.offer(notice(name)));
        await clock.advance(MINUTE);
        assert.equal(tried.length, 5);
        assert.deepEqual([...results], [["refused", 5]]);
      },
    )
  );
  assert.deepEqual(records.map(({ level, properties }) => [level, properties]), [
    ["warning", { sink: "all", problem: "it answers 404" }],
  ]);
});

Deno.test("of what waits for a sink that hangs the oldest goes", () =>
  withQueue(
    (_m, _t, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(SENT))),
    async ({ clock, queue, results }) => {
      queue.offer(notice("in-hand"));
      await clock.advance(1);
      for (const team of names(150, "team")) {
        for (const name of names(10)) queue.offer(notice(name, {}, team));
      }
      assert.equal(results.get("dropped"), 150 * 10 - QUEUE_LIMITS.entries);
      const text = "\\".repeat(1_000);
      for (const team of names(150, "mob")) {
        for (const name of names(10)) queue.offer(notice(name, { text }, team));
      }
      // Fewer of those fit.
      assert.ok((results.get("dropped") ?? 0) > 3_000 - QUEUE_LIMITS.entries);
    },
  ));

Deno.test("a sink without an address is said at once, without what its file has", async () => {
  const records = await logged(() =>
    withQueue(() => SENT, ({ clock }) => clock.advance(1), {
      url: () => Promise.resolve("http://hooks.example/SECRET"),
    })
  );
  assert.equal(records.length, 1);
  assert.match(String(records[0]?.properties["problem"]), /must begin with https:/);
  assert.equal(JSON.stringify(records).includes("SECRET"), false);
});
