/** Tests of empty pushes: they change nothing, and are answered by what the job's object says. */
import assert from "node:assert/strict";
import type { JobRef } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { sign, signingKey } from "../../platform/http/callers/tokens.ts";
import { handlerBench, PATH, PUSH } from "./handler_bench.ts";

const stranger = await signingKey("k1");

Deno.test("`createPushHandler()` answers an empty push, or history, with what the job's object says", async () => {
  const control = { stop: true, reason: "EarlyStopped", message: "stopped early: m" };
  const asked: JobRef[] = [];
  const { send, accepted } = handlerBench({ controlNow: (job) => (asked.push(job), control) });
  for (const body of [{}, null, { trainerStatus: null }]) {
    assert.deepEqual((await send({ body })).body, { control });
  }
  const history = await send({ url: `${PATH}/history`, body: { samples: [] } });
  assert.deepEqual(history.body, { count: 0, control });
  const job = { kind: TRAINJOB, namespace: "team", name: "job-1", uid: "uid-trainjob" };
  assert.deepEqual(asked, [job, job, job, job]);
  assert.deepEqual(accepted, [], "nothing is handed over");
  assert.deepEqual((await send()).body, PUSH, "a push is answered by its owner alone");
  assert.equal(asked.length, 4);
});

Deno.test("an empty push is checked, and counts for the rate, as any other", async () => {
  let asked = 0;
  const { send } = handlerBench({
    controlNow: () => void asked++,
    limits: { pushesPerPod: { ratePerSecond: 1, burst: 1 } },
  });
  const codes = [];
  for (const token of [null, await sign(stranger)]) {
    codes.push((await send({ token, body: {} })).status);
  }
  codes.push((await send({ url: PATH.replace("job-1", "job-9"), body: {} })).status);
  codes.push((await send({ body: {} })).status);
  assert.deepEqual(codes, [401, 401, 404, 429]);
  assert.equal(asked, 0);
});
