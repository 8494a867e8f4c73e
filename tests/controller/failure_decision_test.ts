/** Tests of what a job says of the failures of its pods. */
import { deepEqual, equal } from "node:assert/strict";
import { decideFailure, type FailureInputs } from "../../controller/failure_decision.ts";
import type { SeenFailures } from "../../controller/pod_failures.ts";
import { rfc3339 } from "../../platform/base/timestamps.ts";

const NOW = Date.UTC(2026, 0, 1);
const at = (seconds: number) => rfc3339(NOW + seconds * 1000);
const HEADLINE = "node-0 exited 1: ValueError: b";
const POD = {
  replica: "node-0",
  pod: "p",
  container: "node",
  exitCode: 1,
  message: "ValueError: b",
  time: at(-30),
};
const FAILURE = { headline: HEADLINE, ...POD };
const seen = (
  restarts: number,
  { recovers, withNext = restarts, ...more }: {
    readonly recovers?: number;
    readonly withNext?: number;
    readonly time?: string;
    readonly exitCode?: number | undefined;
  } = {},
): SeenFailures => ({
  first: { failure: { ...POD, ...more }, ranMs: 0, restarts },
  restarts,
  withNext,
  recoversMs: recovers === undefined ? undefined : NOW + recovers * 1000,
});
const old = (more: object = {}) => ({ ...FAILURE, restarts: 2, ...more });
const recovered = (since: number, more: object = {}) =>
  old({ headline: undefined, recoveredTime: at(since), ...more });

interface Want {
  readonly failure: FailureInputs["old"];
  readonly recheckMs?: number;
  readonly event?: string;
}
const CASES: Record<string, readonly [Partial<FailureInputs>, Want]> = {
  "nothing of a job without failures": [{}, { failure: undefined }],
  "nothing of a job that goes on after one": [{ seen: seen(1) }, { failure: undefined }],
  "a second restart that is certain, with an event": [
    { seen: seen(1, { withNext: 2 }) },
    {
      failure: old({ restarts: 1 }),
      event: 'node-0 exited 1: ValueError: b (pod "p", container "node"); started again once',
    },
  ],
  "the second restart, with an event": [
    { seen: seen(2) },
    {
      failure: old(),
      event: 'node-0 exited 1: ValueError: b (pod "p", container "node"); started again 2 times',
    },
  ],
  "the third without one": [
    { old: old(), seen: seen(3, { recovers: 60 }) },
    { failure: old({ restarts: 3 }), recheckMs: 60_000 },
  ],
  "no fewer restarts than another leader saw": [
    { old: old({ restarts: 7 }), seen: seen(1) },
    { failure: old({ restarts: 7 }) },
  ],
  "after how many restarts the job fails, if that is known": [
    { seen: seen(2), restartLimit: 6 },
    {
      failure: old({ restarts: 2, restartLimit: 6 }),
      event: 'node-0 exited 1: ValueError: b (pod "p", container "node"); started again 2 times; ' +
        "the job fails after at most 6",
    },
  ],
  "that it has recovered": [
    { old: old(), seen: seen(2, { recovers: 0 }) },
    { failure: recovered(0) },
  ],
  "history as it is": [
    { old: recovered(-5), seen: seen(2, { recovers: -5 }) },
    { failure: recovered(-5) },
  ],
  "another failure after that": [
    { old: recovered(-20), seen: seen(3, { time: at(-1) }) },
    {
      failure: old({ restarts: 3, time: at(-1) }),
      event: 'node-0 exited 1: ValueError: b (pod "p", container "node"); started again 3 times',
    },
  ],
  "what another leader saw, for ten minutes": [
    { old: old() },
    { failure: old(), recheckMs: 570_000 },
  ],
  "and no longer": [{ old: old({ time: at(-600) }) }, {
    failure: recovered(0, { time: at(-600) }),
  }],
  "history of a job that is suspended": [
    { old: old(), state: "Suspended" },
    { failure: recovered(0) },
  ],
  "the failure of a job that has failed": [
    { seen: seen(0), state: "Failed" },
    { failure: FAILURE },
  ],
  "the one that was known, if its pods are gone": [
    { old: old(), state: "Failed" },
    { failure: old() },
  ],
  "no history as the reason": [
    { old: recovered(-20), seen: seen(2), state: "Failed" },
    { failure: recovered(-20) },
  ],
  "what is heard of late": [
    { seen: seen(0), state: "Failed", hasEnded: true },
    { failure: FAILURE },
  ],
  "nothing else of a job that had failed": [
    { old: old(), seen: seen(9, { time: at(-1) }), state: "Failed", hasEnded: true },
    { failure: old() },
  ],
  "history of a job that succeeded": [
    { old: old(), seen: seen(3), state: "Complete" },
    { failure: recovered(0) },
  ],
  "nothing of a failure that the definition of its job would refuse": [
    { seen: seen(2 ** 31) },
    { failure: undefined },
  ],
  "nor of one that ends the job": [
    { old: old(), seen: seen(2 ** 31, { time: at(-1) }), state: "Failed" },
    { failure: old() },
  ],
  "no word of a program that is not to be told": [
    { seen: seen(0), state: "Failed", tellsMessages: false },
    { failure: { ...FAILURE, headline: "node-0 exited 1", message: undefined } },
  ],
  "words of Kubernetes even so": [
    { seen: seen(0, { exitCode: undefined }), state: "Failed", tellsMessages: false },
    {
      failure: { ...FAILURE, headline: "node-0 failed: ValueError: b", exitCode: undefined },
    },
  ],
};
for (const [sentence, [inputs, want]] of Object.entries(CASES)) {
  Deno.test(`decideFailure() says ${sentence}`, () => {
    const { failure, recheckMs, event } = decideFailure({
      ...{ old: undefined, seen: undefined, state: "Running", hasEnded: false },
      ...{ tellsMessages: true, nowMs: NOW },
      ...inputs,
    });
    const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
    deepEqual(json(failure), json(want.failure));
    equal(recheckMs, want.recheckMs);
    equal(event?.message, want.event);
  });
}
