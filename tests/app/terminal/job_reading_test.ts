/** Tests of the reading of one job: it is found by its name, and what is not read of it is said. */
import assert from "node:assert/strict";
import { readJob } from "../../../app/terminal/job_reading.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../../support/api_answers.ts";

const SIGNAL = new AbortController().signal;
const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };

const OBJECT = {
  apiVersion: TRAINJOB.apiVersion,
  kind: "TrainJob",
  metadata: { name: "mnist", namespace: "ml", uid: "u1" },
  spec: { runtimeRef: { name: "torch" } },
};

/** Lists that never end. */
function endless({ path, query }: AskedOf): MadeUp {
  if (path.endsWith("/trainjobs/mnist")) return OBJECT;
  if (!path.endsWith("/pods")) return 403;
  const items = Array.from({ length: Number(query.get("limit")) }, (_, index) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${query.get("continue")}-${index}`, namespace: "ml" },
  }));
  return { kind: "PodList", metadata: { resourceVersion: "1", continue: "more" }, items };
}

Deno.test("what is not read of a job, because there is too much or it may not be, is said", () =>
  withAnswers(endless, async (client) => {
    const { pods, missing } = await readJob({ client }, JOB, SIGNAL);
    assert.equal(pods.length, 1_000);
    assert.deepEqual(missing, ["the user may not list events in ml", "pods beyond 1000"]);
  }));
