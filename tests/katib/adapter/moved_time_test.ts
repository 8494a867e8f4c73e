/** Pods whose clock is ahead: their times are moved to now, and a retry is a retry even so. */
import assert from "node:assert/strict";
import { createMemorySink } from "../../../katib/log/memory_sink.ts";
import { planOf, withAdapter } from "./adapter_scene.ts";

Deno.test("a push whose time was moved is recorded once, although its retry is moved elsewhere", async () => {
  const plan = planOf("a");
  const sink = createMemorySink();
  await withAdapter({ plans: [plan], sink }, async ({ push }) => {
    const sentTimes = ["2026-01-01T00:00:09.5Z"];
    assert.deepEqual(await push(plan, 1, "0.4", { sentTimes }), { ok: true });
    assert.deepEqual(await push(plan, 2, "0.4", { sentTimes }), { ok: true });
    assert.deepEqual(await push(plan, 3, "0.4", { sentTimes: ["2026-01-01T00:00:10Z"] }), {
      ok: true,
    });
    const rows = await sink.read(plan.key, AbortSignal.timeout(30_000));
    assert.deepEqual(rows.map(({ time }) => time.slice(17)), ["01Z", "03Z"]);
  });
});
