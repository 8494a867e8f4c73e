/** Tests of the limits of open streams. */
import assert from "node:assert/strict";
import {
  createStreamSlots,
  type StreamSlot,
  type StreamSlots,
} from "../../../../platform/http/limits/stream_limits.ts";

const isSlot = (it: StreamSlot | string): it is StreamSlot => typeof it !== "string";

/** Takes so many slots. */
function taken(slots: StreamSlots, subject: string, count: number): StreamSlot[] {
  const all = Array.from({ length: count }, () => slots.take(subject));
  assert(all.every(isSlot), String(all));
  return all;
}

Deno.test("`createStreamSlots()` has room up to both limits, and again after a release", () => {
  const opens: number[] = [];
  const slots = createStreamSlots({ total: 3, perSubject: 2 }, (open) => opens.push(open));
  const [first] = taken(slots, "a", 2);
  assert.equal(slots.take("a"), "subject_stream_limit");
  taken(slots, "b", 1);
  assert.equal(slots.take("b"), "stream_limit");
  first?.release();
  first?.release();
  assert.equal(slots.open(), 2);
  taken(slots, "b", 1);
  assert.deepEqual(opens, [1, 2, 3, 2, 3]);
});

Deno.test("`createStreamSlots()` gives a subject that released all its slots as many again, and no more", () => {
  const slots = createStreamSlots({ total: 10, perSubject: 2 });
  const [other] = taken(slots, "b", 1);
  for (let round = 0; round < 4; round++) {
    const held = taken(slots, "a", 2);
    assert.equal(slots.take("a"), "subject_stream_limit", `round ${round}`);
    for (const slot of [...held, ...held]) slot.release();
    assert.equal(slots.open(), 1);
  }
  other?.release();
  assert.equal(slots.open(), 0);
});

Deno.test("`createStreamSlots()` with a limit of 0 has no room at all", () => {
  assert.equal(createStreamSlots({ total: 0, perSubject: 20 }).take("a"), "stream_limit");
  assert.equal(createStreamSlots({ total: 9, perSubject: 0 }).take("a"), "subject_stream_limit");
});

Deno.test("`createStreamSlots()` keeps the last slots for subjects that have none", () => {
  const slots = createStreamSlots({ total: 20, perSubject: 9 });
  taken(slots, "a", 9);
  taken(slots, "b", 9);
  taken(slots, "c", 1);
  assert.equal(slots.take("c"), "stream_limit");
  taken(slots, "d", 1);
  assert.equal(slots.take("e"), "stream_limit");
  assert.equal(slots.open(), 20);
});

Deno.test("`createStreamSlots()` takes the places of several, all or none, and gives them back together", () => {
  const slots = createStreamSlots({ total: 9, perSubject: 6 });
  const first = slots.take("a", 4);
  assert(isSlot(first));
  assert.equal(slots.take("a", 4), "subject_stream_limit");
  assert.equal(slots.take("b", 6), "stream_limit");
  assert.equal(slots.open(), 4);
  first.release();
  first.release();
  assert.equal(slots.open(), 0);
  assert(isSlot(slots.take("b", 6)));
});
