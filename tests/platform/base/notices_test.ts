/** Tests of the memory of notices. */
import { deepEqual, equal } from "node:assert/strict";
import { createNotices } from "../../../platform/base/notices.ts";
import { FakeClock } from "../../support/fake_clock.ts";

Deno.test("`createNotices()` takes a key for news once, until it is forgotten", async () => {
  const clock = new FakeClock();
  const isNews = createNotices(2, { ttl: 1000, perf: { now: () => clock.monotonic() } });
  deepEqual(["a", "a", "b"].map((it) => isNews(it)), [true, false, true]);
  deepEqual(["c", "a"].map((it) => isNews(it)), [true, true], "two are remembered");
  await clock.advance(1001);
  equal(isNews("a"), true);
});

Deno.test("`createNotices()` takes another text about a key for news, also one that was told before it", () => {
  const isNews = createNotices(2);
  deepEqual(["on", "on", "off", "on"].map((it) => isNews("a", it)), [true, false, true, true]);
  equal(isNews("b", "on"), true);
});
