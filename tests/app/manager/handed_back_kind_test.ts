/** Tests of a kind that is handed back and over again: the observation logs of its jobs outlive that. */
import assert from "node:assert/strict";
import { JOB_KINDS } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { V1_KINDS, v1CrdName } from "../../../crds/v1/kinds.ts";
import { V1_RUN_BY, V1_RUN_BY_ANNOTATION } from "../../../crds/v1/names.ts";
import { V1_RESOURCES } from "../../../crds/v1/v1_resources.ts";
import { v1Job } from "../../controller/jobs/v1_jobs.ts";
import { withLogs } from "../../support/logged.ts";
import { observer } from "../../support/observer.ts";
import { programIn, TELL } from "../../support/pod_program.ts";
import { progress, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const RESOURCE = V1_RESOURCES.PyTorchJob;
const DESCRIPTOR = JOB_KINDS.all.find(({ kind }) => kind === "PyTorchJob");

Deno.test("a PyTorchJob keeps its observation log while its kind is handed back", () =>
  withLogs((records) =>
    withStandalone(async (all) => {
      const { client } = all;
      assert.ok(DESCRIPTOR);
      const name = "kept";
      const text = JSON.stringify(v1Job("PyTorchJob", { Master: 1 }))
        .replaceAll(
          '"image":"i"',
          `"image":"none","command":${JSON.stringify(["sh", "-c", TELL])}`,
        );
      const metadata = { name, namespace: "default" };
      await client.create(RESOURCE, { ...RESOURCE.parse(JSON.parse(text)), metadata });
      const pod = await programIn(client, `${name}-master-0`);
      const reader = await observer(client, "reader", DESCRIPTOR);
      for (const loss of ["0.9", "0.5", "0.7"]) await pod.ask(progress(10, { loss }));
      const read = async () => (await reader.read(all, name)).body;
      const before = { metrics: [{ name: "loss", latest: "0.7", min: "0.5", max: "0.9" }] };
      assert.partialDeepStrictEqual(await read(), before);

      const annotate = (runBy: string | null) =>
        client.patch(KINDS.customResourceDefinition, { name: v1CrdName(V1_KINDS.PyTorchJob) }, {
          type: "merge",
          body: { metadata: { annotations: { [V1_RUN_BY_ANNOTATION]: runBy } } },
        });
      const said = (words: RegExp) =>
        records.filter(({ rawMessage, properties }) =>
          properties.kind === "PyTorchJob" && words.test(String(rawMessage))
        ).length;
      await annotate(null);
      await until("the kind is handed back", () => said(/no longer run/) === 1);
      await annotate(V1_RUN_BY);
      await until("the kind is run again", () => said(/^this kind is run/) === 2);
      await pod.ask(progress(20, { loss: "0.4" }));
      const after = { metrics: [{ name: "loss", latest: "0.4", min: "0.4", max: "0.9" }] };
      await until("what was measured before and after is there", async () => {
        assert.partialDeepStrictEqual(await read(), after);
        return true;
      });
    }), "info"));
