/** Tests of properties of every log: no row is lost or doubled, and times increase, with any owners. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { microsOf, timeOf } from "../../../trials/recording/micros.ts";
import { record, type RecordState, startRecord } from "../../../trials/recording/record.ts";
import { recordPush } from "../../../trials/recording/record_push.ts";
import { replay } from "../../../trials/recording/replay.ts";
import type { PodSample } from "../../../trials/recording/pod_sample.ts";
import { applyReport, startRules } from "../../../trials/rules/rules.ts";
import { parsePush } from "../../../crds/wire/push.ts";

const SCOPE = { objective: { name: "loss", type: "minimize" as const } };
const START = microsOf("2026-01-02T03:04:05Z") ?? 0n;

function byTime(one: ObservationRow, other: ObservationRow): number {
  return Number((microsOf(one.time) ?? 0n) - (microsOf(other.time) ?? 0n));
}

/** Each sample is identified by its objective; other metrics may be equal. */
const sampleOf = (index: number, micros: number, pod = "p"): PodSample => ({
  pod,
  time: timeOf(START + BigInt(micros)),
  metrics: [{ name: "loss", value: String(index) }, { name: "acc", value: "1" }],
});

/** Few times, so that they often collide, a microsecond apart or many. */
const anyTime = fc.oneof(fc.nat({ max: 4 }), fc.nat({ max: 4 }).map((it) => it * 1_000_000));

/** A step: sample `index` arrives, for the first time or again, or the owner changes. */
type Happening = { arrives: number } | "another owner";
const happenings = (samples: number, owners: boolean) =>
  fc.array(
    fc.oneof(
      { weight: 9, arbitrary: fc.record({ arrives: fc.nat({ max: samples - 1 }) }) },
      { weight: owners ? 1 : 0, arbitrary: fc.constant("another owner" as const) },
    ),
    { maxLength: 60 },
  );

/** Runs the steps, then sends every sample once more. Returns the rows that each owner wrote. */
function termsOf(samples: readonly PodSample[], story: readonly Happening[]): ObservationRow[][] {
  let state: RecordState = startRecord(SCOPE);
  let log: ObservationRow[] = [];
  const terms = [log];
  for (const one of [...story, ...samples.keys().map((arrives) => ({ arrives }))]) {
    if (one === "another owner") {
      state = replay(SCOPE, terms.flat().sort(byTime));
      log = [];
      terms.push(log);
      continue;
    }
    const sample = samples[one.arrives];
    assert.ok(sample !== undefined);
    const recorded = record(state, sample);
    state = recorded.state;
    log.push(...recorded.rows);
  }
  return terms;
}

const namesAndValues = (rows: readonly ObservationRow[]) =>
  rows.map(({ name, value }) => `${name} ${value}`).sort();
const metricsOf = (samples: readonly PodSample[]) =>
  samples.flatMap(({ metrics }) => metrics.map(({ name, value }) => `${name} ${value}`)).sort();

Deno.test("every sample is recorded once, with any time, any number of retries and any owners", () => {
  const runs = fc.array(anyTime, { minLength: 1, maxLength: 12 }).chain((times) =>
    fc.record({
      samples: fc.constant(times.map((micros, index) => sampleOf(index, micros))),
      story: happenings(times.length, true),
    })
  );
  fc.assert(
    fc.property(runs, ({ samples, story }) => {
      const terms = termsOf(samples, story);
      const log = terms.flat();
      assert.deepEqual(namesAndValues(log), metricsOf(samples));
      const keys = new Set(log.map(({ time, name }) => `${time} ${name}`));
      assert.equal(keys.size, log.length, "no two rows have name and time in common");
      for (const term of terms) {
        const loss = term.filter(({ name }) => name === "loss")
          .map(({ time }) => microsOf(time) ?? 0n);
        assert.ok(loss.every((time, index) => index === 0 || time > (loss[index - 1] ?? 0n)));
      }
      for (const { time, value } of log.filter(({ name }) => name === "loss")) {
        const pushed = microsOf(samples[Number(value)]?.time ?? "") ?? 0n;
        assert.ok((microsOf(time) ?? 0n) >= pushed, "no row is before its sample");
      }
    }),
    { numRuns: 500 },
  );
});

Deno.test("every sample of several pods is recorded once, and no two rows have name and time in common", () => {
  const pods = fc.constantFrom("a", "b", "c");
  const runs = fc.array(fc.tuple(anyTime, pods), { minLength: 1, maxLength: 12 }).chain((all) =>
    fc.record({
      samples: fc.constant(all.map(([micros, pod], index) => sampleOf(index, micros, pod))),
      story: happenings(all.length, false),
    })
  );
  fc.assert(fc.property(runs, ({ samples, story }) => {
    const log = termsOf(samples, story).flat();
    assert.deepEqual(namesAndValues(log), metricsOf(samples));
    const keys = new Set(log.map(({ time, name }) => `${time} ${name}`));
    assert.equal(keys.size, log.length);
  }));
});

/** A push of one of three pods, sent until it is answered, with lost answers and changes of owner. */
const pushOfAny = fc.record({
  pod: fc.nat({ max: 2 }),
  step: fc.integer({ min: 1, max: 40 }),
  loss: fc.constantFrom("0.5", "0.7"),
  lost: fc.array(fc.boolean(), { maxLength: 2 }),
  thenAnother: fc.boolean(),
});

Deno.test("no row is lost or doubled of pods with increasing times, different clocks and repeated values", () => {
  const clocks = fc.array(fc.nat({ max: 100 }), { minLength: 3, maxLength: 3 });
  fc.assert(
    fc.property(clocks, fc.array(pushOfAny, { maxLength: 40 }), (starts, pushes) => {
      // No two pods share a time, or have adjacent ones.
      const times = starts.map((start, pod) => 1000 * start + 10 * pod);
      let state = startRecord(SCOPE);
      const log: ObservationRow[] = [];
      const want: string[] = [];
      for (const { pod, step, loss, lost, thenAnother } of pushes) {
        const micros = times[pod] = (times[pod] ?? 0) + 1000 * step;
        const time = timeOf(START + BigInt(micros));
        const sample = { pod: `p${pod}`, time, metrics: [{ name: "loss", value: loss }] };
        want.push(`${time} ${loss}`);
        for (const isNewOwner of [...lost, thenAnother]) {
          const recorded = record(state, sample);
          log.push(...recorded.rows);
          state = isNewOwner ? replay(SCOPE, log.toSorted(byTime)) : recorded.state;
        }
      }
      assert.deepEqual(log.map(({ time, value }) => `${time} ${value}`), want);
    }),
    { numRuns: 1000 },
  );
});

const valueText = fc.constantFrom("0.1", "0.5", "NaN", "inf", "-1e400", "2", "high", "1_0");
const runOfSamples = fc.array(
  fc.record({
    step: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 3_000_000 })),
    loss: valueText,
    acc: valueText,
  }),
  { maxLength: 20 },
).map((all) => {
  let micros = 0;
  return all.map(({ step, loss, acc }): PodSample => ({
    pod: "p",
    time: timeOf(START + BigInt(micros += step)),
    metrics: [{ name: "loss", value: loss }, { name: "acc", value: acc }],
  }));
});

function recordAll(state: RecordState, samples: readonly PodSample[]) {
  return recordPush(state, { pod: "p", samples });
}

Deno.test("an owner that replays the log continues as the former one would have, if times increase", () => {
  fc.assert(
    fc.property(runOfSamples, fc.nat({ max: 20 }), (samples, cut) => {
      const whole = recordAll(startRecord(SCOPE), samples);
      const before = recordAll(startRecord(SCOPE), samples.slice(0, cut));
      const again = recordAll(replay(SCOPE, before.rows), samples);
      assert.deepEqual([...before.rows, ...again.rows], whole.rows);
    }),
    { numRuns: 1000 },
  );
});

Deno.test("rules decide the same from the log as from the pushes", () => {
  const rules = fc.array(
    fc.record({
      name: fc.constantFrom("loss", "acc"),
      value: fc.constantFrom("0.3", "1", "5"),
      comparison: fc.constantFrom("less" as const, "greater" as const, "equal" as const),
      startStep: fc.nat({ max: 4 }),
    }),
    { minLength: 1, maxLength: 3 },
  );
  fc.assert(fc.property(rules, runOfSamples, (given, samples) => {
    const state = startRules(SCOPE.objective, given);
    const { rows, reports } = recordAll(startRecord(SCOPE), samples);
    const byPushes = applyReport(state, reports);
    const byLog = applyReport(state, rows);
    const essence = ({ met }: typeof byLog) => met.map(({ rule, step }) => ({ rule, step }));
    assert.deepEqual(essence(byLog), essence(byPushes));
    assert.equal(byLog.state.stopped?.step, byPushes.state.stopped?.step);
  }));
});

Deno.test("`timeOf()` writes every microsecond that `microsOf()` reads, with Katib's precision", () => {
  const first = microsOf("0000-01-01T00:00:00Z") ?? 0n;
  const last = microsOf("9999-12-31T23:59:59.999999Z") ?? 0n;
  fc.assert(fc.property(fc.bigInt({ min: first, max: last }), (micros) => {
    const text = timeOf(micros);
    assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,5}[1-9])?Z$/);
    assert.equal(microsOf(text), micros);
  }));
});

Deno.test("every time that a push may have can be recorded", () => {
  const two = (max: number) => fc.nat({ max }).map((it) => String(it).padStart(2, "0"));
  const text = fc.tuple(
    fc.nat({ max: 9999 }).map((it) => String(it).padStart(4, "0")),
    two(12),
    two(31),
    fc.tuple(two(24), two(60), two(60)),
    fc.constantFrom("", ".1", ".1234567891", ".000", "."),
    fc.constantFrom("Z", "z", "+00:00", "-23:59", "+14:00", "+24:00", "+0100", ""),
  ).map(([year, month, day, time, fraction, zone]) =>
    `${year}-${month}-${day}T${time.join(":")}${fraction}${zone}`
  );
  let taken = 0;
  fc.assert(
    fc.property(text, (lastUpdatedTime) => {
      if (!parsePush({ trainerStatus: { lastUpdatedTime } }).ok) return;
      taken += 1;
      const micros = microsOf(lastUpdatedTime);
      assert.ok(micros !== undefined, lastUpdatedTime);
      assert.ok(Math.abs(Number(micros / 1000n) - Date.parse(lastUpdatedTime)) <= 1);
    }),
    { numRuns: 3000 },
  );
  assert.ok(taken > 100, String(taken));
});
