/** Tests of runs: what a pod reported counts for that pod, at every owner, and over every kind of log. */
import assert from "node:assert/strict";
import type { Stop } from "../../../owner/observations/observations.ts";
import type { Push } from "../../../crds/wire/push.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { mappingOf } from "../../../trials/mapping/trial_template.ts";
import { createMemorySink } from "../../../katib/log/sqlite_sink.ts";
import type { ObservationRow } from "../../../trials/recording/observation_row.ts";
import { NO_RUN, type PresentRun } from "../../../trials/recording/present_run.ts";
import {
  katibsLog,
  type ObservationsFixture,
  pushOf,
  trialPlan,
  withObservations,
} from "./observations_fixture.ts";

const RULE = { name: "loss", value: "0.5", comparison: "greater", startStep: 4 } as const;
const plan = trialPlan("a", { rules: [RULE] });
/** Returns the number of the report that decided. */
const reportOf = ({ decision }: Stop) => /at report (\d+)$/.exec(decision.message)?.[1];

const never = new AbortController().signal;

const podOf = (uid: string): Partial<Push> => ({ pod: { name: `pod-${uid}`, uid } });

/** The second on which a pod of {@link pushOf} pushes its n-th report. */
const timeOf = (step: number) =>
  new Date(Date.UTC(2026, 0, 1) - 60_000 + step * 1000).toISOString();
const runFrom = (run: string, step: number): PresentRun => ({
  run,
  since: timeOf(step).replace("Z", "000Z"),
});

/** Pushes the reports of pods, `POD LOSS` each, a second apart; returns which of them were told to stop. */
async function pushAll({ push }: ObservationsFixture, reports: readonly string[], from = 1) {
  const stopped: string[] = [];
  for (const [index, report] of reports.entries()) {
    const [pod = "", loss = ""] = report.split(" ");
    const answer = await push(plan, from + index, loss, podOf(pod));
    assert.equal(answer?.ok, true, JSON.stringify(answer));
    if (answer.ok && answer.control !== undefined) stopped.push(report);
  }
  return stopped;
}

const CASES: Readonly<Record<string, { reports: readonly string[]; stopped: readonly string[] }>> =
  {
    "a new pod begins at its first report": {
      reports: ["one 0.91", "one 0.92", "one 0.93", "two 0.94", "two 0.95"],
      stopped: [],
    },
    "a new pod is stopped at its own fourth report": {
      reports: ["one 0.91", "one 0.92", "two 0.93", "two 0.94", "two 0.95", "two 0.96"],
      stopped: ["two 0.96"],
    },
    "what a former pod achieved is not the best of a new one": {
      reports: ["one 0.1", "two 0.93", "two 0.94", "two 0.95", "two 0.96"],
      stopped: ["two 0.96"],
    },
    "two primary pods count apart": {
      reports: ["one 0.91", "two 0.92", "one 0.93", "two 0.94", "one 0.95", "two 0.96"],
      stopped: [],
    },
    "a container restarted in its pod goes on": {
      reports: ["one 0.91", "one 0.92", "one 0.93", "one 0.94"],
      stopped: ["one 0.94"],
    },
  };

for (const [says, { reports, stopped }] of Object.entries(CASES)) {
  Deno.test(`${says}, at one owner`, async () => {
    await withObservations({ plans: [plan] }, async (fixture) => {
      assert.deepEqual(await pushAll(fixture, reports), stopped);
    });
  });

  Deno.test(`${says}, at a new owner for each report`, async () => {
    const sink = createMemorySink();
    const told: string[] = [];
    for (const [index, report] of reports.entries()) {
      await withObservations({ plans: [plan], sink }, async (fixture) => {
        told.push(...await pushAll(fixture, [report], index + 1));
      });
    }
    assert.deepEqual(told, stopped);
  });
}

const rowAt = (step: number, run?: string): ObservationRow => ({
  time: timeOf(step),
  name: "loss",
  value: `0.9${step}`,
  ...run !== undefined && { run },
});

/** Logs of ours with rows from a version that kept no runs; the fourth report of the present pod is the sixth row. */
const WITHOUT_RUNS: Readonly<Record<string, readonly ObservationRow[]>> = {
  "no row has one": [rowAt(1), rowAt(2), rowAt(3)],
  "the last row has none": [rowAt(1, "one"), rowAt(2, "one"), rowAt(3)],
};

for (const [says, rows] of Object.entries(WITHOUT_RUNS)) {
  Deno.test(`in our own log rows without a run belong to the pod that started last: ${says}`, async () => {
    const sink = createMemorySink();
    await sink.append(plan.key, rows, never);
    const presentRun = () => runFrom("two", 3);
    await withObservations({ plans: [plan], sink, presentRun }, async (fixture) => {
      const told = await pushAll(fixture, ["two 0.94", "two 0.95", "two 0.96"], 4);
      assert.deepEqual(told, ["two 0.96"]);
    });
  });
}

Deno.test("over Katib's log a run begins with the primary pod that started last, at every owner", async () => {
  const sink = katibsLog();
  let present = runFrom("one", 0);
  const presentRun = () => present;
  await withObservations({ plans: [plan], sink, presentRun }, async (fixture) => {
    assert.deepEqual(await pushAll(fixture, ["one 0.91", "one 0.92", "one 0.93"]), []);
    present = runFrom("two", 4);
    assert.deepEqual(await pushAll(fixture, ["two 0.94", "two 0.95"], 4), []);
  });
  await withObservations({ plans: [plan], sink, presentRun }, async (fixture) => {
    assert.deepEqual(await pushAll(fixture, ["two 0.96", "two 0.97"], 6), ["two 0.97"]);
  });
});

Deno.test("over Katib's log the run of a pod that is gone does not fall to the pod before it", async () => {
  let present = runFrom("one", 0);
  const options = { plans: [plan], sink: katibsLog(), presentRun: () => present };
  await withObservations(options, async (fixture) => {
    const { clock, stops } = fixture;
    assert.deepEqual(await pushAll(fixture, ["one 0.91", "one 0.92"]), []);
    present = runFrom("two", 3);
    assert.deepEqual(await pushAll(fixture, ["two 0.93", "two 0.94"], 3), []);
    // The second pod was preempted; the first one, which failed, is still there.
    present = runFrom("one", 0);
    await clock.advance(70_000);
    assert.deepEqual(stops, []);
    present = runFrom("three", 5);
    assert.deepEqual(await pushAll(fixture, ["three 0.95", "three 0.96"], 5), []);
  });
});

Deno.test("over Katib's log nothing is judged while no primary pod is known, and all of a run once one is", async () => {
  const sink = katibsLog();
  let present = NO_RUN;
  await withObservations({ plans: [plan], sink, presentRun: () => present }, async (fixture) => {
    const { clock, stops } = fixture;
    const reports = ["one 0.91", "one 0.92", "one 0.93", "one 0.94", "one 0.95"];
    assert.deepEqual(await pushAll(fixture, reports), []);
    present = runFrom("one", 0);
    await clock.advance(5_000);
    assert.deepEqual(stops.map(reportOf), ["4"]);
  });
});

Deno.test("a job without rules does not wait for its pods to be known", async () => {
  const unruled = { ...plan, rules: [] };
  const presentRun = () => Promise.reject(new Error("no cache"));
  await withObservations({ plans: [unruled], sink: katibsLog(), presentRun }, async ({ push }) => {
    assert.deepEqual(await push(unruled, 1, "0.9"), { ok: true });
    assert.deepEqual(await push(unruled, 2, "0.8"), { ok: true });
  });
});

Deno.test("a push waits for its pods to be known", async () => {
  const sink = katibsLog();
  let isKnown = false;
  const presentRun = () => isKnown ? runFrom("one", 0) : Promise.reject(new Error("no cache"));
  await withObservations({ plans: [plan], sink, presentRun }, async ({ observations }) => {
    const pushOne = async () => await observations.accept(pushOf(plan, 1, "0.9"), never);
    assert.deepEqual(await pushOne(), {
      retryAfterMs: 1_000,
      reason: "the observation log is not available: try again soon",
    });
    isKnown = true;
    assert.deepEqual(await pushOne(), { ok: true });
  });
});

const foreign = (step: number, value: string): ObservationRow => ({
  time: timeOf(step).replace(".000Z", ".5Z"),
  name: "loss",
  value,
});

Deno.test("rows that others wrote into Katib's log are judged within a minute, as on replay", async () => {
  const sink = katibsLog();
  const presentRun = () => runFrom("one", 0);
  await withObservations({ plans: [plan], sink, presentRun }, async (fixture) => {
    const { clock, stops } = fixture;
    assert.deepEqual(await pushAll(fixture, ["one 0.91", "one 0.92"]), []);
    await sink.append(plan.key, [foreign(1, "0.93"), foreign(2, "0.94")], never);
    await clock.advance(65_000);
    assert.deepEqual(stops.map(reportOf), ["4"]);
    assert.match(stops[0]?.decision.message ?? "", /^loss 0\.94, at best 0\.91, is /);
  });
});

Deno.test("a stop is confirmed by Katib's log: it is not what the rows in it say", async () => {
  const sink = katibsLog();
  const best = { ...plan, rules: [{ ...RULE, startStep: 2 }] };
  const presentRun = () => runFrom("one", 0);
  await withObservations({ plans: [best], sink, presentRun }, async (fixture) => {
    const { clock, stops } = fixture;
    assert.deepEqual(await pushAll(fixture, ["one 0.91"]), []);
    // The second report, which meets no rule: what is pushed next is the third.
    await sink.append(plan.key, [foreign(1, "0.2")], never);
    assert.deepEqual(await pushAll(fixture, ["one 0.92"], 2), []);
    await clock.advance(120_000);
    assert.equal(stops.length, 0);
  });
});

Deno.test("a stop that Katib's log could not confirm at once is written when it can be read", async () => {
  const sink = katibsLog();
  const presentRun = () => runFrom("one", 0);
  await withObservations({ plans: [plan], sink, presentRun }, async (fixture) => {
    const { clock, stops } = fixture;
    assert.deepEqual(await pushAll(fixture, ["one 0.91", "one 0.92", "one 0.93"]), []);
    sink.failReads(1);
    assert.deepEqual(await pushAll(fixture, ["one 0.94"], 4), []);
    await clock.advance(10_000);
    assert.deepEqual(stops.map(reportOf), ["4"]);
  });
});

Deno.test("a rule that counts steps is tested by the step that a pod pushed, at one owner and at the next", async () => {
  const sink = createMemorySink();
  const stepped = { ...plan, rules: [{ ...RULE, startStep: 100, unit: "step" as const }] };
  async function pushSteps(steps: readonly (number | undefined)[], from: number) {
    const told: unknown[] = [];
    await withObservations({ plans: [stepped], sink }, async ({ observations, stops, settle }) => {
      for (const [index, step] of steps.entries()) {
        const push = pushOf(stepped, from + index, "0.9");
        const trainerStatus = { ...push.trainerStatus, step };
        assert.equal((await observations.accept({ ...push, trainerStatus }, never))?.ok, true);
      }
      await settle();
      told.push(...stops.map(({ decision }) => decision.message));
    });
    return told;
  }
  assert.deepEqual(await pushSteps([10, undefined, 99], 1), []);
  const met = ["loss 0.9 is greater than 0.5, at step 150"];
  assert.deepEqual(await pushSteps([150, 160], 4), met);
  // By the log alone.
  assert.deepEqual(await pushSteps([], 6), met);
});

Deno.test("of a pod's containers only the primary one counts, and one that does not say its name", async () => {
  const read = mappingOf({ primaryContainerName: "node" }, TRAINJOB);
  assert.ok(read.ok);
  const { mapping } = read;
  const stopping = { ...plan, mapping, rules: [{ ...RULE, startStep: 3 }] };
  const sink = createMemorySink();
  await withObservations({ plans: [stopping], sink }, async ({ push }) => {
    const from = (container?: string) => ({ ...podOf("one"), container });
    assert.deepEqual(await push(stopping, 1, "0.9", from("node")), { ok: true });
    assert.deepEqual(await push(stopping, 2, "0.8", from("sidecar")), {
      ok: true,
      warnings: ['not recorded: container "sidecar" pushed it, and primaryContainerName is "node"'],
    });
    await push(stopping, 3, "0.7", from("sidecar"));
    assert.deepEqual(await push(stopping, 4, "0.6", from()), { ok: true });
    const stopped = await push(stopping, 5, "0.9", from("node"));
    assert.ok(stopped?.ok && stopped.control !== undefined);
    assert.deepEqual(await push(stopping, 6, "0.7", from("sidecar")), stopped);
    const rows = await sink.read(plan.key, never);
    assert.deepEqual(rows.map(({ value }) => value), ["0.9", "0.6", "0.9"]);
  });
  await withObservations({ plans: [{ ...plan, mapping: undefined }] }, async ({ push }) => {
    assert.deepEqual(await push(plan, 1, "0.9", { container: "sidecar" }), { ok: true });
  });
});
