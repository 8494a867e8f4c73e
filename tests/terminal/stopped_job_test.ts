/** Tests of a stop by hand: what it says where the manager cannot be asked, and that it waits for nobody who has gone. */
import assert from "node:assert/strict";
import { BY_HAND, stopJobByHand } from "../../terminal/stopped_job.ts";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { answeringClient, never } from "../support/answering_client.ts";

const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };

const stop = (client: ManagerClient | undefined, signal: AbortSignal) => {
  const missingOfManager = () => ["the manager does not accept this user's token"];
  return stopJobByHand({ manager: () => client, missingOfManager }, JOB, BY_HAND, signal);
};

Deno.test("a stop says why the manager is not asked, such as that it does not take the token", () =>
  assert.rejects(
    stop(undefined, new AbortController().signal),
    { message: "the manager does not accept this user's token" },
  ));

Deno.test("a stop that nobody waits for any more is over", async () => {
  const gone = new AbortController();
  const client = answeringClient((_, signal) => {
    const ended = never(signal);
    gone.abort(new Error("ended"));
    return ended;
  });
  await assert.rejects(stop(client, gone.signal), { message: "ended" });
});
