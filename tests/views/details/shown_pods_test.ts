/** Tests of how a container of a shown pod ended last. */
import assert from "node:assert/strict";
import { shownPod } from "../../../views/details/shown_pods.ts";

const ended = (exitCode: number) => ({ terminated: { exitCode } });
const status = (name: string, state: object, lastState?: object) => ({
  name,
  image: "",
  imageID: "",
  ready: false,
  restartCount: 0,
  state,
  ...(lastState !== undefined && { lastState }),
});
const cases: Record<string, { containers: ReturnType<typeof status>[]; want?: number }> = {
  "none has ended": { containers: [status("a", { running: {} })] },
  "it waits to be started again": {
    containers: [status("a", { waiting: { reason: "CrashLoopBackOff" } }, ended(1))],
    want: 1,
  },
  "it has ended well": { containers: [status("a", ended(0))], want: 0 },
  "another one failed": { containers: [status("a", ended(0)), status("b", ended(137))], want: 137 },
};
for (const [name, { containers, want }] of Object.entries(cases)) {
  Deno.test(`the exit code of a pod: ${name}`, () => {
    const pod = shownPod({ metadata: {}, status: { containerStatuses: containers } });
    assert.equal(pod.exitCode, want);
  });
}
