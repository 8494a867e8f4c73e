/** Tests of the memory of pods' failures. */
import { equal } from "node:assert/strict";
import { createPodFailures, type PodPlace } from "../../controller/pod_failures.ts";

const second = (at: number) => new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
const msOf = (at: number) => Date.parse(second(at));

/** A pod as it is seen: `at` is the time of its failure in seconds. */
interface Seen extends Partial<Pick<PodPlace, "run" | "attempt">> {
  readonly type?: "added" | "updated" | "deleted";
  readonly replica?: string;
  readonly uid?: string;
  readonly at?: number;
  readonly ran?: number;
  readonly times?: number;
  readonly since?: number;
  readonly isFailed?: boolean;
}

function memory(...pods: readonly Seen[]) {
  const failures = createPodFailures(({ place }: {
    readonly place: PodPlace;
    readonly metadata: { readonly uid: string };
    readonly status: { readonly phase?: string; readonly startTime?: string };
  }) => place);
  for (const it of pods) {
    const { type = "added", replica = "a", uid = replica, run = "u1", attempt = 0 } = it;
    const startTime = it.since === undefined ? undefined : second(it.since);
    const failure = it.at === undefined ? undefined : {
      failure: { replica, pod: uid, time: second(it.at) },
      ...{ ranMs: (it.ran ?? 0) * 1000, restarts: it.times ?? 0, runsSince: startTime },
    };
    const phase = it.isFailed ? "Failed" : startTime === undefined ? "Pending" : "Running";
    failures.seen({
      type,
      object: {
        place: { job: "ml/j", run, attempt, replica, failure },
        metadata: { uid },
        status: { phase, ...(startTime !== undefined && { startTime }) },
      },
    });
  }
  return failures;
}

/** What is seen, and in short what is known then: replica, time, restarts. */
const CASES: Record<string, readonly [readonly Seen[], string | undefined]> = {
  "nothing of pods that run": [[{ since: 1 }], undefined],
  "the first of a round": [
    [{ at: 11 }, { replica: "b", at: 10 }, { replica: "c", at: 12 }],
    "b 10 0",
  ],
  "nothing of a pod that is gone": [[{ at: 11, type: "deleted" }], undefined],
  "the same failure once": [
    [{ at: 10 }, { at: 10, type: "updated", since: 12, times: 1 }],
    "a 10 1",
  ],
  "a round that begins with another replica": [
    [
      { at: 10 },
      { replica: "b", at: 11 },
      { replica: "b", at: 20, times: 1, type: "updated" },
      { at: 21, times: 1, type: "updated" },
    ],
    "b 20 1",
  ],
  "what fails after the first one has recovered": [
    [{ at: 10, ran: 1, times: 1, since: 20 }, { replica: "b", at: 200 }],
    "b 200 1",
  ],
  "no straggler of a round before": [
    [
      { at: 10 },
      { replica: "b", at: 12 },
      { at: 20, times: 1, type: "updated" },
      { replica: "c", at: 11 },
    ],
    "a 20 1",
  ],
  "restarts of the replica that had most": [
    [{ at: 10, times: 1 }, { replica: "b", at: 11, times: 4 }],
    "b 11 4",
  ],
  "pods that were made again": [
    [
      { at: 10, uid: "1", isFailed: true },
      { at: 20, uid: "2", isFailed: true },
      { uid: "3", since: 30 },
    ],
    "a 20 2",
  ],
  "no pod that was made again for a change of the one before": [
    [
      { at: 10, uid: "1", isFailed: true },
      { uid: "2", since: 20 },
      { at: 10, uid: "1", isFailed: true, type: "updated" },
      { uid: "2", since: 20, type: "updated" },
    ],
    "a 10 1",
  ],
  "what failed in a pod that is being deleted": [
    [
      { at: 10, times: 3, uid: "1" },
      { type: "updated", uid: "1" },
      { uid: "2", since: 20 },
    ],
    "a 10 4",
  ],
  "attempts of a JobSet beside restarts in one": [
    [
      { at: 10, times: 1 },
      { uid: "2", attempt: 1, since: 20 },
      { at: 30, uid: "2", attempt: 1, type: "updated" },
    ],
    "a 30 2",
  ],
  "attempts before the first pod that was seen": [[{ at: 10, attempt: 3 }], "a 10 3"],
  "no pod of an attempt before": [
    [{ at: 10, attempt: 1 }, { replica: "b", at: 5 }],
    "a 10 1",
  ],
  "only its own run": [[{ at: 10, run: "u0", times: 3 }, { at: 20 }], "a 20 0"],
  "nothing less after a pod of a former run failed late": [
    [{ at: 20, times: 3 }, { at: 30, run: "u0", replica: "b" }],
    "a 20 3",
  ],
};
for (const [sentence, [pods, want]] of Object.entries(CASES)) {
  Deno.test(`the memory of failures has ${sentence}`, () => {
    const seen = memory(...pods).of("ml/j", "u1");
    const { replica, time = "" } = seen?.first.failure ?? {};
    const at = (Date.parse(time) - msOf(0)) / 1000;
    equal(seen && `${replica} ${at} ${seen.restarts}`, want);
  });
}

/** When a replica that goes on has recovered, in seconds. */
const RECOVERIES: Record<string, readonly [readonly Seen[], number | undefined]> = {
  "never while it waits": [[{ at: 10 }], undefined],
  "a minute after it began to run": [[{ at: 10, ran: 2, since: 20 }], 80],
  "after twice the time that it ran before": [[{ at: 1000, ran: 100, since: 1020 }], 1220],
  "after ten minutes at most": [[{ at: 9000, ran: 4000, since: 9010 }], 9610],
  "by the pod in its place": [[{ at: 10, isFailed: true }, { uid: "2", since: 20 }], 80],
  "never while that is Pending": [[{ at: 10, isFailed: true }, { uid: "2" }], undefined],
  "ten minutes after the failure if that is not known": [[{ at: 10, isFailed: true }], 610],
};
for (const [sentence, [pods, want]] of Object.entries(RECOVERIES)) {
  Deno.test(`a replica has recovered ${sentence}`, () => {
    const ms = memory(...pods).of("ml/j", "u1")?.recoversMs;
    equal(ms === undefined ? undefined : (ms - msOf(0)) / 1000, want);
  });
}

Deno.test("failures of another run, and of one that was suspended, are not those of a job", () => {
  const failures = memory({ at: 10 });
  equal(failures.of("ml/j", "u2"), undefined);
  equal(failures.of("ml/other", "u1"), undefined);
  failures.forget("ml/j", "u1");
  equal(failures.of("ml/j", "u1"), undefined);
});

Deno.test("ten thousand replicas that fail are counted as far as a bound", () => {
  const pods = Array.from({ length: 10_000 }, (_, at) => ({ replica: `r${at}`, at: 10_000 - at }));
  equal(memory(...pods).of("ml/j", "u1")?.first.failure.replica, "r1023");
});
