/** TrainJob whose pod a test pushes for. */
import assert from "node:assert/strict";
import type { Standalone } from "../../app/standalone/standalone.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import { progress, push, requestToken, trainJob } from "./standalone.ts";
import { until } from "./until.ts";

/** A job. */
export interface PushingJob {
  readonly uid: string;
  readonly pod: { readonly name: string; readonly uid: string };
  /** Pushes as its pod. */
  push(percentage: number, loss: string): Promise<void>;
}

/** Creates a TrainJob on the runtime `idle`, and waits for its pod. */
export async function pushingJob(
  all: Pick<Standalone, "client" | "status" | "caBundle">,
  name: string,
  namespace: string,
): Promise<PushingJob> {
  const { client } = all;
  const job = await client.create(KINDS.trainJob, trainJob(name, "idle", { namespace }));
  const { metadata } = await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    const { items } = await client.list(KINDS.pod, { namespace, labelSelector });
    return items.find(({ status }) => status?.startTime !== undefined);
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace, name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  return {
    uid: job.metadata?.uid ?? "",
    pod,
    async push(percentage, loss) {
      const body = progress(percentage, { loss });
      const { status } = await push(all, { name, namespace }, token, body);
      assert.equal(status, 200);
    },
  };
}
