/** Tests of heartbeats on their way to the owner. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import type { Beat } from "../../../crds/wire/push.ts";
import { beatAsks, type BeatsAsk, createBeatOutbox } from "../../../owner/stalls/beat_asks.ts";
import { ASK_MAX_BYTES } from "../../../owner/replicas/forward_asks.ts";
import { comeAgain } from "../../../platform/http/replicas/owner_router.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const beatOf = (pod: string, place: string, step = 1): Beat => ({
  job: { kind: TRAINJOB, namespace: "n".repeat(63), name: "j".repeat(63), uid: "u" },
  pod: { name: pod, uid: pod },
  ranks: Array.from({ length: 16 }, (_, rank) => [rank, step, 0.123456789012345, place]),
});

/** An outbox of a replica that does not lead, for a second at a time. */
async function withOutbox(
  answer: (ask: BeatsAsk) => object,
  work: (outbox: ReturnType<typeof createBeatOutbox>, second: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const clock = new FakeClock();
  const over = new AbortController();
  const outbox = createBeatOutbox({
    here: () => undefined,
    ask: (ask) => {
      const given = answer(ask);
      return "taken" in given ? { taken: 0 } : comeAgain("no");
    },
    clock,
  });
  const running = outbox.run(over.signal);
  await work(outbox, () => clock.advance(1_000));
  over.abort();
  await clock.advance(0);
  await running;
}

Deno.test("the newest heartbeat of each pod goes once a second, in questions that fit, however long they are", async () => {
  const { write, schemas } = beatAsks(JOB_KINDS);
  const asked: BeatsAsk[] = [];
  await withOutbox((ask) => (asked.push(ask), { taken: 1 }), async (outbox, second) => {
    for (let pod = 0; pod < 50; pod++) {
      outbox.take(beatOf(`p${pod}`, "x", 0));
      outbox.take(beatOf(`p${pod}`, "\u8a9e".repeat(48)));
    }
    await second();
    await second();
  });
  const beats = asked.flatMap((it) => it.beats);
  assert.deepEqual(beats.map(({ pod, ranks }) => [pod.uid, ranks[0]?.[1]]), [
    ...Array.from({ length: 50 }, (_, pod) => [`p${pod}`, 1]),
  ]);
  for (const ask of asked) {
    const text = JSON.stringify({ transitions: Number.MAX_SAFE_INTEGER, ask: write(ask) });
    assert.ok(new TextEncoder().encode(text).length <= ASK_MAX_BYTES);
    assert.equal(schemas.ask.safeParse(JSON.parse(JSON.stringify(write(ask)))).success, true);
  }
});

Deno.test("an owner that does not answer is asked once a round, and told nothing that is old", async () => {
  const asked: number[] = [];
  await withOutbox(({ beats }) => (asked.push(beats.length), {}), async (outbox, second) => {
    for (let pod = 0; pod < 50; pod++) outbox.take(beatOf(`p${pod}`, "\u8a9e".repeat(48)));
    await second();
    await second();
    assert.equal(asked.length, 1);
    outbox.take(beatOf("p0", "x"));
    await second();
  });
  assert.equal(asked.length, 2);
  assert.equal(asked[1], 1);
});
