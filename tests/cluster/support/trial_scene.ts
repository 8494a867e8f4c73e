/** A trial on a real control plane, from its first push to its early stop, read by the observation API. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import { CA_KEY, childNames } from "../../../crds/names.ts";
import { observer } from "../../support/observer.ts";
import { trainJobThat } from "../../support/standalone.ts";
import {
  createTrial,
  createTrialsJob,
  installTrials,
  lossAbove,
  trialThat,
} from "../../support/trials.ts";
import { until } from "../../support/until.ts";
import type { Cluster } from "./installation.ts";
import { reporterOf } from "./pushing.ts";

const NAME = "tried";

/** A trial on that runtime, whose pods run until SIGTERM, is stopped by its second report. */
export async function trialStopsEarly(
  { plane, manager }: Pick<Cluster, "plane" | "manager">,
  runtime: string,
): Promise<void> {
  const { client } = plane;
  await installTrials(client);
  const spec = { earlyStoppingRules: [lossAbove("0.5", 2)] };
  await createTrialsJob(client, await createTrial(client, NAME, runtime, { spec }));
  await trainJobThat(client, NAME, "runs", ({ status }) => status?.state === "Running");
  using reporter = await reporterOf(client, { trainJob: NAME });
  const push = (value: string) =>
    reporter.send(manager.statusUrl, {
      metrics: [{ name: "loss", value }],
      lastUpdatedTime: new Date().toISOString(),
    });
  await until("the first push is taken", async () => {
    if (await push("0.8") === 200) return true;
    throw new Error(reporter.lastAnswer);
  });
  assert.doesNotMatch(reporter.lastAnswer, /"stop"/);
  assert.equal(await push("0.7"), 200, reporter.lastAnswer);
  assert.match(reporter.lastAnswer, /"stop":true/);
  const stopped = { type: "EarlyStopped", status: "True" };
  const trial = await trialThat(
    client,
    NAME,
    "is stopped",
    ({ status }) => status?.conditions?.some((it) => it.type === stopped.type) ?? false,
  );
  assert.partialDeepStrictEqual(trial.status, {
    conditions: [{ ...stopped, reason: "TrialEarlyStopped" }],
    observation: { metrics: [{ name: "loss", latest: "0.7", min: "0.7", max: "0.8" }] },
  });
  await trainJobThat(client, NAME, "is over", ({ status }) => status?.state === "EarlyStopped");
  const config = { namespace: "default", name: childNames.tlsConfig(NAME) };
  const ca = (await client.get(KINDS.configMap, config)).data?.[CA_KEY] ?? "";
  const reader = await observer(client);
  const seen = await until("its observation can be read", async () => {
    const answer = await reader.read({ status: manager.statusUrl, caBundle: () => ca }, NAME);
    if (answer.status === 200) return answer.body;
    throw new Error(JSON.stringify(answer.body));
  });
  assert.partialDeepStrictEqual(seen, {
    state: "EarlyStopped",
    trial: NAME,
    log: [{ name: "loss", value: "0.8" }, { name: "loss", value: "0.7" }],
  });
}
