/** Tests of the headline of a failure. */
import { equal } from "node:assert/strict";
import { fullHeadlineOf, headlineOf } from "../../crds/failure_headline.ts";
import { FAILURE_LIMITS, type JobFailure } from "../../crds/job_failure.ts";

const TRACEBACK = 'Traceback (most recent call last):\n  File "t.py", line 1, in <module>\n' +
  "    import tochr\nModuleNotFoundError: No module named 'tochr'";

const CASES: readonly (readonly [Partial<JobFailure>, string])[] = [
  [
    { exitCode: 1, reason: "Error", message: TRACEBACK },
    "node-0 exited 1: ModuleNotFoundError: No module named 'tochr'",
  ],
  [{ exitCode: 3, reason: "Error" }, "node-0 exited 3"],
  [{ exitCode: 137, reason: "OOMKilled" }, "node-0 ran out of memory (OOMKilled)"],
  [{ exitCode: 137, reason: "Error" }, "node-0 was ended by SIGKILL"],
  [
    {
      exitCode: 137,
      reason: "TerminationByKubelet",
      message: "Milepost was killed while this ran",
    },
    "node-0 was ended by its kubelet: Milepost was killed while this ran",
  ],
  [{ exitCode: 139, message: "epoch 3" }, "node-0 was ended by SIGSEGV"],
  [
    { exitCode: 137, reason: "OOMKilled", message: `${TRACEBACK}\nepoch 3` },
    "node-0 ran out of memory (OOMKilled)",
  ],
  [{ exitCode: 143, reason: "Error", message: TRACEBACK }, "node-0 was ended by SIGTERM"],
  [
    {
      exitCode: 134,
      reason: "Error",
      message: `${TRACEBACK}\nterminate called after throwing an instance of 'c10::Error'\n` +
        "  what():  CUDA error: x\n\nframe #0: f\nFatal Python error: Aborted\n",
    },
    "node-0 was ended by SIGABRT: what(): CUDA error: x",
  ],
  [
    { exitCode: 137, reason: "ContainerStatusUnknown", message: "it could not be located" },
    "node-0 was ended by SIGKILL: it could not be located",
  ],
  [{ reason: "Evicted", message: "low on memory" }, "node-0 was evicted: low on memory"],
  [
    { exitCode: 128, reason: "StartError", message: 'exec: "pyhton3": not found' },
    'node-0 could not start: exec: "pyhton3": not found',
  ],
  [{ reason: "UnexpectedAdmissionError" }, "node-0 failed (UnexpectedAdmissionError)"],
  [{ reason: "constructor" }, "node-0 failed (constructor)"],
  [{}, "node-0 failed"],
  [{ replica: undefined, pod: "p-1", exitCode: 1 }, "p-1 exited 1"],
  [
    { replica: undefined, reason: "DeadlineExceeded", message: "it may run for 600 s" },
    "the job exceeded its deadline: it may run for 600 s",
  ],
];
for (const [failure, want] of CASES) {
  Deno.test(`the headline "${want}"`, () => {
    const { replica = "node-0", ...others } = failure;
    const named = "replica" in failure && failure.replica === undefined ? {} : { replica };
    equal(headlineOf({ time: "2026-01-01T00:00:00Z", ...named, ...others }), want);
  });
}

Deno.test("a headline is one line of bounded length, and the full one says where", () => {
  const failure = {
    replica: "node-0",
    pod: "a-node-0-0-x",
    node: "n1",
    container: "node",
    exitCode: 1,
    message: `ValueError: a\tb ${"x".repeat(3000)}`,
    time: "2026-01-01T00:00:00Z",
  };
  const text = headlineOf(failure);
  equal(/^node-0 exited 1: ValueError: a b x+…$/.test(text) && text.length < 300, true, text);
  const where = '(pod "a-node-0-0-x", on node "n1", container "node")';
  equal(fullHeadlineOf(failure), `${text} ${where}`);
});

/** Failures of the longest texts, and what their headlines end with. */
const LONG: Record<string, readonly [Partial<JobFailure>, RegExp]> = {
  "a message that is cut in a pair of code units": [
    { replica: "a", exitCode: 1, message: `ValueError: ${"x".repeat(242)}${"😀".repeat(9)}` },
    /x…$/,
  ],
  "the longest reason": [{ replica: "a".repeat(253), reason: "r".repeat(256) }, /r…$/],
};
for (const [sentence, [failure, end]] of Object.entries(LONG)) {
  Deno.test(`a headline of ${sentence} is whole and within its limit`, () => {
    const text = headlineOf({ time: "2026-01-01T00:00:00Z", ...failure });
    equal(text.isWellFormed() && end.test(text), true, text);
    equal(text.length <= FAILURE_LIMITS.headlineLength, true, `${text.length}`);
  });
}
