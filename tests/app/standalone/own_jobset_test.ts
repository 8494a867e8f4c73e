/** Tests of JobSets that people make themselves in a standalone, where no other controller runs them. */
import assert from "node:assert/strict";
import { KINDS } from "../../../crds/kinds.ts";
import {
  MILEPOST_JOBSET_CONTROLLER,
  UPSTREAM_JOBSET_CONTROLLER,
} from "../../../crds/jobset_names.ts";
import { ownJobSet } from "../../support/own_jobset.ts";
import { shareStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const standalone = shareStandalone();

const ENDS = { "exit 0": "Completed", "exit 7": "Failed" } as const;
for (const [command, end] of Object.entries(ENDS)) {
  Deno.test(`a JobSet that names no controller runs: ${command}`, async () => {
    const { client } = standalone();
    const name = `own-${end.toLowerCase()}`;
    const created = await client.create(KINDS.jobSet, ownJobSet(name, { command, replicas: 2 }));
    assert.equal(created.spec?.managedBy, MILEPOST_JOBSET_CONTROLLER);
    await until(`${name} ends`, async () => {
      const { status } = await client.get(KINDS.jobSet, { namespace: "default", name });
      return status?.terminalState === end;
    });
  });
}

Deno.test("a JobSet that names another controller is left to that one", async () => {
  const { client } = standalone();
  const managedBy = UPSTREAM_JOBSET_CONTROLLER;
  await client.create(KINDS.jobSet, ownJobSet("theirs", { managedBy }));
  // One that was made later has ended: it would have been seen by now.
  await client.create(KINDS.jobSet, ownJobSet("later", { replicas: 2 }));
  const read = (name: string) => client.get(KINDS.jobSet, { namespace: "default", name });
  await until("the later one ends", async () => (await read("later")).status?.terminalState);
  const theirs = await read("theirs");
  assert.deepEqual([theirs.spec?.managedBy, theirs.status], [managedBy, undefined]);
});
