/** Tests of the event recorder. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import type { Patch } from "../../../platform/kube/connection/request.ts";
import { KubeError, TransportError } from "../../../platform/kube/errors.ts";
import { createEventRecorder, type DropCause } from "../../../platform/kube/events.ts";
import type { EventText } from "../../../platform/kube/event_object.ts";
import type { Kind, KubeObject, ObjectKey } from "../../../platform/kube/resource.ts";
import { FakeClock, settle, settlePromises, until } from "../../support/fake_clock.ts";
import { logged } from "../../support/logged.ts";

const JOB = { apiVersion: "batch/v1", kind: "Job", namespace: "ns", name: "job", uid: "u1" };
const STARTED: EventText = { type: "Normal", reason: "Started", message: "the job started" };

/** A recorder on a fake clock over a store of events; `faults` are thrown by the next writes. */
function world() {
  const clock = new FakeClock(Date.parse("2026-03-01T10:00:00Z"));
  const store = new Map<string, KubeObject>();
  const writes: string[] = [];
  const faults: Error[] = [];
  /** Thrown by the next creations, after the object is stored. */
  const lostAnswers: Error[] = [];
  const dropped: DropCause[] = [];
  const attempt = () => {
    const fault = faults.shift();
    if (fault) throw fault;
  };
  const client = {
    async create<T extends KubeObject>(_kind: Kind<T>, object: T): Promise<T> {
      writes.push("create");
      await Promise.resolve();
      attempt();
      const { name = "" } = object.metadata ?? {};
      if (store.has(name)) throw new KubeError("exists", { code: 409, reason: "AlreadyExists" });
      store.set(name, object);
      const lost = lostAnswers.shift();
      if (lost) throw lost;
      return object;
    },
    async patch<T>(kind: Kind<T>, key: ObjectKey, patch: Patch): Promise<T> {
      writes.push("patch");
      await Promise.resolve();
      attempt();
      const old = store.get(key.name);
      if (old === undefined || patch.type !== "merge") {
        throw new KubeError("no event", { code: 404, reason: "NotFound" });
      }
      const next = Object.assign({}, old, patch.body);
      store.set(key.name, next);
      return kind.parse(next);
    },
  };
  let seed = 0;
  const recorder = createEventRecorder({
    client,
    component: "tester",
    clock,
    random: () => (seed += 0.001) % 1,
    onDropped: (cause) => dropped.push(cause),
  });
  const events = () => [...store.values()].map(KINDS.event.parse);
  return { clock, store, writes, faults, lostAnswers, dropped, recorder, events };
}

Deno.test("`record()` writes a core/v1 event with its times", async () => {
  const { recorder, events } = world();
  recorder.record(JOB, STARTED);
  await recorder.flush();
  const [event] = events();
  assert.match(event?.metadata?.name ?? "", /^job\.[0-9a-f]{13}$/);
  assert.deepEqual({ ...event, metadata: event?.metadata?.namespace }, {
    metadata: "ns",
    involvedObject: JOB,
    ...STARTED,
    count: 1,
    firstTimestamp: "2026-03-01T10:00:00Z",
    lastTimestamp: "2026-03-01T10:00:00Z",
    source: { component: "tester" },
    reportingComponent: "tester",
    reportingInstance: "",
  });
});

Deno.test("`record()` writes who says an event, if that is not the recorder", async () => {
  const { recorder, events } = world();
  recorder.record(JOB, { ...STARTED, component: "tfjob-controller" });
  await recorder.flush();
  assert.deepEqual(events().map(({ source, reportingComponent }) => [source, reportingComponent]), [
    [{ component: "tfjob-controller" }, "tfjob-controller"],
  ]);
});

Deno.test("`record()` counts the same event within ten minutes, and writes a new one after that", async () => {
  const { clock, recorder, events, writes } = world();
  recorder.record(JOB, STARTED);
  recorder.record(JOB, STARTED);
  await recorder.flush();
  await clock.advance(60_000);
  recorder.record(JOB, STARTED);
  await recorder.flush();
  assert.deepEqual(writes, ["create", "patch"]);
  assert.equal(events()[0]?.count, 3);
  assert.equal(events()[0]?.firstTimestamp, "2026-03-01T10:00:00Z");
  assert.equal(events()[0]?.lastTimestamp, "2026-03-01T10:01:00Z");
  recorder.record(JOB, { ...STARTED, message: "another" });
  recorder.record({ ...JOB, uid: "u2" }, STARTED);
  await clock.advance(600_001);
  recorder.record(JOB, STARTED);
  await recorder.flush();
  assert.deepEqual(events().map((event) => event.count), [3, 1, 1, 1]);
});

Deno.test("`record()` writes an event again that the server has deleted", async () => {
  const { recorder, store, events } = world();
  recorder.record(JOB, STARTED);
  await recorder.flush();
  store.clear();
  recorder.record(JOB, STARTED);
  await recorder.flush();
  assert.deepEqual(events().map((event) => event.count), [2]);
});

Deno.test("`record()` puts events about cluster objects into the default namespace", async () => {
  const { recorder, events } = world();
  const { namespace: _, ...node } = JOB;
  recorder.record(node, STARTED);
  await recorder.flush();
  assert.equal(events()[0]?.metadata?.namespace, "default");
});

Deno.test("`record()` keeps names and messages within the limits", async () => {
  const { recorder, events } = world();
  recorder.record({ ...JOB, name: `${"n".repeat(238)}.${"m".repeat(14)}` }, {
    ...STARTED,
    message: "x".repeat(1022) + "😀😀",
  });
  await recorder.flush();
  const [event] = events();
  assert.match(event?.metadata?.name ?? "", /^n{238}\.[0-9a-f]{13}$/);
  assert.equal(event?.message, "x".repeat(1022) + "…");
});

Deno.test("`record()` lets one object have 25 events at once, and one more each five minutes", async () => {
  const { clock, recorder, events, dropped } = world();
  const burst = (count: number) => {
    for (let number = 0; number < count; number++) {
      recorder.record(JOB, { ...STARTED, message: `event ${number}` });
    }
  };
  burst(30);
  recorder.record({ ...JOB, uid: "other" }, STARTED);
  await recorder.flush();
  assert.equal(events().length, 26);
  assert.deepEqual(dropped, Array(5).fill("rate_limited"));
  await clock.advance(300_000);
  burst(2);
  assert.equal(dropped.length, 6);
  await recorder.flush();
});

Deno.test("`record()` drops what does not fit the queue", async () => {
  const { recorder, dropped, events } = world();
  for (let number = 0; number < 1005; number++) {
    recorder.record({ ...JOB, uid: `u${number}` }, STARTED);
  }
  assert.deepEqual(dropped, Array(5).fill("queue_full"));
  await recorder.flush();
  assert.equal(events().length, 1000);
});

Deno.test("`flush()` tries again after a lost connection and gives up after a refusal", async () => {
  const { clock, recorder, faults, writes, dropped, events } = world();
  faults.push(
    new TransportError("no answer"),
    new KubeError("busy", { code: 503, reason: "ServiceUnavailable" }),
  );
  recorder.record(JOB, STARTED);
  const flushed = recorder.flush();
  await clock.advance(2000);
  await flushed;
  assert.deepEqual(writes, ["create", "create", "create"]);
  assert.equal(events().length, 1);
  faults.push(new KubeError("terminating", { code: 403, reason: "Forbidden" }));
  recorder.record({ ...JOB, uid: "u2" }, STARTED);
  await recorder.flush();
  assert.deepEqual(dropped, ["refused"]);
});

Deno.test("`flush()` makes no second event if the answer to a creation was lost", async () => {
  const { clock, recorder, events, writes, lostAnswers, dropped } = world();
  lostAnswers.push(new TransportError("no answer within 5 s"));
  recorder.record(JOB, STARTED);
  const flushed = recorder.flush();
  await until("it was written twice", async () => {
    await clock.advance(1000);
    return writes.length === 2;
  });
  await flushed;
  assert.equal(events().length, 1);
  assert.deepEqual(dropped, []);
  recorder.record(JOB, STARTED);
  await recorder.flush();
  assert.deepEqual([writes, events()[0]?.count], [["create", "create", "patch"], 2]);
});

Deno.test("`record()` writes as events come, and `close()` what is left", async () => {
  const { clock, recorder, events, dropped } = world();
  recorder.record(JOB, STARTED);
  await until("the first is written", () => events().length === 1);
  for (let number = 2; number <= 11; number++) {
    recorder.record({ ...JOB, uid: `u${number}` }, STARTED);
  }
  await settlePromises(5);
  const left = 11 - events().length;
  assert.ok(left > 0 && left < 10, "one is being written, others wait");
  await recorder.close();
  assert.equal(events().length, 11);
  assert.deepEqual([dropped, clock.sleeping], [[], 0]);
});

Deno.test("`close()` gives an unreachable server two seconds, and nothing is written after it", async () => {
  const { clock, recorder, faults, dropped, writes } = world();
  faults.push(...Array.from({ length: 50 }, () => new TransportError("no answer")));
  recorder.record(JOB, STARTED);
  await settle();
  const closed = recorder.close();
  recorder.record({ ...JOB, uid: "u2" }, STARTED);
  await clock.advance(2000);
  await closed;
  assert.deepEqual(dropped, ["refused", "refused"]);
  const { length } = writes;
  recorder.record({ ...JOB, uid: "u3" }, STARTED);
  await recorder.close();
  assert.deepEqual([dropped.at(-1), writes.length], ["closed", length]);
});

Deno.test("`flush()` says once that events are refused, until one is written", async () => {
  const records = await logged(async () => {
    const { recorder, faults } = world();
    const refusal = new KubeError("events is forbidden", { code: 403, reason: "Forbidden" });
    for (const faulty of [true, true, false, true]) {
      if (faulty) faults.push(refusal);
      recorder.record(JOB, { ...STARTED, message: crypto.randomUUID() });
      await recorder.flush();
    }
  }, "warning");
  const errors = records.map(({ properties }) => String(properties.error));
  assert.deepEqual(errors, ["events is forbidden", "events is forbidden"]);
});
