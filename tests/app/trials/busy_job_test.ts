/** Test of four pods that push every 100 ms: about one write a second, and the last value stays. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import {
  progress,
  push,
  requestToken,
  shellRuntime,
  trainJob,
  trainJobThat,
  withStandalone,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const SECONDS = 6;
const EVERY_MS = 100;

Deno.test("a job of 4 pods that all push every 100 ms costs about a write a second", async () => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    await client.create(
      KINDS.trainJob,
      trainJob("busy", "idle", { spec: { trainer: { numNodes: 4 } } }),
    );
    const pods = await until("four pods", async () => {
      const labelSelector = `${LABELS.trainJobName}=busy`;
      const { items } = await client.list(KINDS.pod, { namespace: "default", labelSelector });
      return items.length === 4 ? items : undefined;
    });
    const tokens = await Promise.all(pods.map((pod) => {
      const { name = "", uid = "" } = pod.metadata ?? {};
      const account = { namespace: "default", name: "default" };
      return requestToken(client, account, { audience: PUSH_AUDIENCE, pod: { name, uid } });
    }));
    let writes = 0;
    const stop = standalone.onManagerRequest(({ verb, resource }) => {
      if (verb === "patch" && resource === "trainjobs/status") writes++;
    });
    const refused: unknown[] = [];
    const began = performance.now();
    const pushes = SECONDS * 1000 / EVERY_MS;
    await Promise.all(tokens.map(async (token, pod) => {
      for (let i = 0; i < pushes; i++) {
        const answer = await push(
          standalone,
          { name: "busy" },
          token,
          progress(i % 100, {
            pod: String(pod),
            push: String(i),
          }),
        );
        if (answer.status !== 200) refused.push(answer.body);
        const next = began + (i + 1) * EVERY_MS - performance.now();
        if (next > 0) await new Promise((resolve) => setTimeout(resolve, next));
      }
    }));
    const last = await push(
      standalone,
      { name: "busy" },
      tokens[0],
      progress(100, { loss: "0.1" }),
    );
    assert.equal(last.status, 200);
    assert.deepEqual(refused, []);
    await trainJobThat(
      client,
      "busy",
      "shows the last value",
      (job) => job.status?.trainerStatus?.metrics?.[0]?.value === "0.1",
    );
    stop();
    const seconds = (performance.now() - began) / 1000;
    assert.ok(writes >= 3, `only ${writes} writes`);
    assert.ok(writes <= seconds + 2 + 4, `${writes} writes in ${seconds.toFixed(1)} s`);
  }, { kubelet: false });
});
