/** Tests of the details of a job: pods stand by their rank, and events by their time. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { jobDetails } from "../../../views/details/details_of_job.ts";
import { answeringClient } from "../../support/answering_client.ts";
import { FakeClock } from "../../support/fake_clock.ts";

const pod = (index: string) => ({
  metadata: {
    name: `p-${index}`,
    uid: index,
    labels: { "batch.kubernetes.io/job-completion-index": index },
  },
  spec: { containers: [] },
});
const event = (reason: string, lastTimestamp: string) => ({
  metadata: { name: reason },
  involvedObject: { kind: "TrainJob", name: "a", uid: "u" },
  reason,
  lastTimestamp,
});
const ITEMS: Readonly<Record<string, readonly object[]>> = {
  pods: [pod("10"), pod("2")],
  events: [event("Old", "2026-01-01T00:00:00Z"), event("New", "2026-01-02T00:00:00Z")],
};

Deno.test("jobDetails() orders pods by rank and events by time", async () => {
  const client = answeringClient(({ path }) => {
    const { pathname, search } = new URL(path, "http://a");
    const items = search.includes("involvedObject.kind")
      ? []
      : ITEMS[pathname.split("/").at(-1) ?? ""];
    const object = { metadata: { name: "a", namespace: "ml", uid: "u" } };
    return Response.json(items === undefined ? object : { metadata: {}, items });
  }, new FakeClock());
  const reads = boundedReads(client, new AbortController().signal);
  const { pods, events } = await jobDetails(reads, { kind: TRAINJOB, namespace: "ml", name: "a" });
  assert.deepEqual(pods.map(({ name }) => name), ["p-2", "p-10"]);
  assert.deepEqual(events.map(({ reason }) => reason), ["New", "Old"]);
});
