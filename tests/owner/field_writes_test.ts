/** Tests of writes of the owner that wait: one that fails is tried again, and slows no other. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { createFieldWrites } from "../../owner/field_writes.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import { FakeClock, settlePromises } from "../support/fake_clock.ts";

const job = (uid: string) => ({ job: { kind: TRAINJOB, namespace: "default", name: uid, uid } });

/** Writes of which those of some jobs fail as long as they are `failing`. */
function scene(error: () => Error = () => new KubeError("too large", { code: 413, reason: "" })) {
  const clock = new FakeClock(undefined, () => settlePromises(20));
  const failing = new Set<string>();
  const tries: string[] = [];
  const written: string[] = [];
  const writes = createFieldWrites<ReturnType<typeof job>>({
    what: "fields",
    clock,
    leading: () => true,
    isWanted: () => true,
    write({ job: { uid } }) {
      tries.push(uid);
      if (failing.has(uid)) return Promise.reject(error());
      written.push(uid);
      return Promise.resolve();
    },
  });
  const over = new AbortController();
  const running = writes.run(over.signal);
  const end = async () => {
    over.abort();
    await clock.advance(0);
    await running;
  };
  return { clock, failing, tries, written, writes, end };
}

Deno.test("a job that cannot be written does not slow the others, and is tried ever more rarely", async () => {
  const it = scene();
  it.failing.add("bad");
  it.writes.add(job("bad"));
  await it.clock.advance(300_000);
  const first = it.tries.length;
  assert.ok(first >= 10 && first <= 40, `${first} tries`);
  for (let at = 0; at < 20; at++) {
    it.writes.add(job(`good-${at}`));
    await it.clock.advance(2_000);
    assert.equal(it.written.at(-1), `good-${at}`, "within two seconds");
  }
  it.failing.clear();
  await it.clock.advance(31_000);
  assert.equal(it.written.at(-1), "bad");
  await it.end();
});

Deno.test("what is refused as it stands is not tried again, nor what is dropped", async () => {
  const it = scene(() => new KubeError("invalid", { code: 422, reason: "Invalid" }));
  it.failing.add("bad");
  it.writes.add(job("bad"));
  await it.clock.advance(60_000);
  assert.deepEqual(it.tries, ["bad"]);
  await it.end();
  const other = scene();
  other.failing.add("gone");
  other.writes.add(job("gone"));
  await other.clock.advance(1_500);
  other.writes.drop("gone");
  await other.clock.advance(60_000);
  assert.deepEqual(other.tries, ["gone"]);
  await other.end();
});

Deno.test("a last flush tries those that wait for their turn, too", async () => {
  const it = scene();
  it.failing.add("a");
  it.writes.add(job("a"));
  await it.clock.advance(120_000);
  it.failing.clear();
  await it.end();
  await it.writes.flush(1_000);
  assert.deepEqual(it.written, ["a"]);
});
