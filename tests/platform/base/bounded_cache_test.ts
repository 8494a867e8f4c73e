/** Tests of the cache with a bound and a lifetime, which most rooms use. */
import assert from "node:assert/strict";
import { createBoundedCache, createSizedCache } from "../../../platform/base/bounded_cache.ts";

Deno.test("createBoundedCache() evicts the least recently used entry", () => {
  const cache = createBoundedCache<number>(2);
  cache.set("a", 1);
  cache.set("b", 2);
  assert.equal(cache.get("a"), 1);
  cache.set("c", 3);
  assert.deepEqual([cache.get("a"), cache.get("b"), cache.get("c")], [1, undefined, 3]);
  assert.equal(cache.size, 2);
});

Deno.test("createBoundedCache() expires an entry by its age", () => {
  let nowMs = 100;
  const perf = { now: () => nowMs };
  const read = createBoundedCache<number>(2, { ttl: 10, perf });
  const used = createBoundedCache<number>(2, { ttl: 10, updateAgeOnGet: true, perf });
  for (const cache of [read, used]) cache.set("a", 1);
  nowMs += 9;
  assert.deepEqual([read.get("a"), used.get("a")], [1, 1]);
  nowMs += 3;
  assert.deepEqual([read.get("a"), used.get("a")], [undefined, 1]);
  nowMs += 11;
  assert.equal(used.get("a"), undefined);
});

Deno.test("createBoundedCache() expires an entry of the time 0", () => {
  let nowMs = 0;
  const cache = createBoundedCache<number>(2, { ttl: 10, perf: { now: () => nowMs } });
  cache.set("a", 1);
  nowMs = 11;
  assert.equal(cache.get("a"), undefined);
});

Deno.test("createBoundedCache() takes no room before there are entries", () => {
  const before = Deno.memoryUsage().heapUsed;
  const caches = Array.from({ length: 50 }, () => createBoundedCache<number>(100_000));
  const bytes = (Deno.memoryUsage().heapUsed - before) / caches.length;
  assert.ok(bytes < 100_000, `${Math.round(bytes)} bytes each`);
});

Deno.test("`createSizedCache()` bounds what entries and keys hold together", () => {
  const cache = createSizedCache<string>(10, (value, key) => value.length + key.length);
  cache.set("a", "1234");
  cache.set("b", "1234");
  assert.deepEqual([...cache.keys()].toSorted(), ["a", "b"]);
  cache.set("long", "1");
  assert.deepEqual([...cache.keys()].toSorted(), ["b", "long"]);
});
