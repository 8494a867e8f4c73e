/** Tests of reads of a job's newest status, once and as a stream, against a whole Milepost. */
import assert from "node:assert/strict";
import type { Standalone } from "../../../app/standalone/standalone.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { statusPath } from "../../../crds/job_kind.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../../crds/names.ts";
import { openEvents } from "../../support/event_client.ts";
import {
  progress,
  push,
  requestToken,
  shellRuntime,
  trainJob,
  withStandalone,
} from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

interface Reader {
  readonly token: string;
  readonly pod: string;
  readonly url: string;
  /** One request without body. */
  send(
    query?: string,
    method?: string,
  ): Promise<{ status: number; body: unknown; headers: Headers }>;
  push(percentage: number): Promise<void>;
  watch(): ReturnType<typeof openEvents>;
}

/** A TrainJob, and a reader with the token of its pod. */
async function readerOf(
  standalone: Standalone,
  name: string,
  runtime = "idle",
): Promise<Reader> {
  const { client } = standalone;
  await client.create(KINDS.trainJob, trainJob(name, runtime));
  const { metadata } = await until(`a pod of ${name}`, async () => {
    const labelSelector = `${LABELS.trainJobName}=${name}`;
    return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items[0];
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  const url = `${standalone.status}${statusPath(TRAINJOB, "default", name)}`;
  return {
    token,
    pod: pod.name,
    url,
    async send(query = "", method = "GET") {
      using http = Deno.createHttpClient({ caCerts: [standalone.caBundle()] });
      const answer = await fetch(url + query, {
        method,
        client: http,
        headers: { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      const body: unknown = text === "" ? undefined : JSON.parse(text);
      return { status: answer.status, body, headers: answer.headers };
    },
    async push(percentage) {
      const answer = await push(standalone, { name }, token, progress(percentage, { loss: "0.5" }));
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
    },
    watch: () => openEvents(`${url}?watch=true`, { token, ca: standalone.caBundle() }),
  };
}

const percent = (progressPercentage: number) => ({ trainerStatus: { progressPercentage } });

Deno.test("a pod reads and watches the newest status of its own job only", async (t) => {
  await withStandalone(async (standalone) => {
    const { client } = standalone;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime("idle", "sleep 60"));
    const reader = await readerOf(standalone, "read");
    const other = await readerOf(standalone, "other");

    await t.step("a read before the first push gets 404, and a stream waits for it", async () => {
      const { status, body } = await reader.send();
      assert.equal(status, 404);
      assert.partialDeepStrictEqual(body, { reason: "NotFound" });
      assert.match(JSON.stringify(body), /nothing was pushed/);
      await using events = await reader.watch();
      await reader.push(10);
      assert.partialDeepStrictEqual(await events.next(), { event: "status", data: percent(10) });
    });

    await t.step("the newest status, with its pod and the time of arrival", async () => {
      await reader.push(20);
      const { status, body, headers } = await reader.send();
      assert.equal(status, 200);
      assert.equal(headers.get("content-type"), "application/json");
      assert.partialDeepStrictEqual(body, {
        trainerStatus: { progressPercentage: 20, metrics: [{ name: "loss", value: "0.5" }] },
        pod: reader.pod,
      });
      assert.match(JSON.stringify(body), /"receivedTime":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/);
      assert.deepEqual((await reader.send("?watch=false")).body, body);
    });

    await t.step("another job's pod reads nothing", async () => {
      const ca = standalone.caBundle();
      for (const query of ["", "?watch=true"]) {
        await using answer = await openEvents(reader.url + query, { token: other.token, ca });
        assert.equal(answer.status, 403);
      }
    });

    await t.step("other methods and queries are refused", async () => {
      const wrong: [string, string, number][] = [
        ["", "HEAD", 405],
        ["", "DELETE", 405],
        ["", "PUT", 405],
        ["?watch=maybe", "GET", 422],
        ["?watch=true&watch=true", "GET", 422],
        ["?wacth=true", "GET", 422],
      ];
      for (const [query, method, want] of wrong) {
        const { status, headers } = await reader.send(query, method);
        assert.equal(status, want, `${method} ${query}`);
        if (want === 405) assert.equal(headers.get("allow"), "GET, POST");
      }
    });

    await t.step("a stream sends the current status, each newer one, and the end", async () => {
      await using events = await reader.watch();
      assert.equal(events.status, 200);
      assert.equal(events.headers.get("content-type"), "text/event-stream");
      assert.equal(events.headers.get("cache-control"), "no-store");
      const first = await events.next();
      assert.partialDeepStrictEqual(first, { event: "status", data: percent(20) });
      await reader.push(30);
      const second = await events.next();
      assert.partialDeepStrictEqual(second, {
        event: "status",
        data: { ...percent(30), pod: reader.pod },
      });
      assert("id" in first && "id" in second && Number(first.id) < Number(second.id));
      await client.delete(KINDS.trainJob, { namespace: "default", name: "read" });
      const end = await events.next();
      assert.partialDeepStrictEqual(end, { event: "end", data: { reason: "Deleted" } });
      assert.deepEqual(await events.next(), { closed: true });
    });

    await t.step("the end of the job is sent after its last status", async () => {
      const folder = await Deno.makeTempDir();
      await using cleanup = new AsyncDisposableStack();
      cleanup.defer(() => Deno.remove(folder, { recursive: true }));
      const command = `until [ -e ${folder}/done ]; do sleep 0.1; done`;
      await client.create(KINDS.clusterTrainingRuntime, shellRuntime("until-told", command));
      const ending = await readerOf(standalone, "ending", "until-told");
      await using events = await ending.watch();
      await ending.push(100);
      assert.partialDeepStrictEqual(await events.next(), { event: "status", data: percent(100) });
      await Deno.writeTextFile(`${folder}/done`, "");
      assert.partialDeepStrictEqual(await events.next(), {
        event: "end",
        data: { reason: "Complete" },
      });
      assert.deepEqual(await events.next(), { closed: true });
    });

    await t.step("streams end when the endpoint does", async () => {
      await other.push(5);
      await using events = await other.watch();
      assert.partialDeepStrictEqual(await events.next(), { event: "status", data: percent(5) });
      await standalone.stop();
      assert.deepEqual(await events.next(), { closed: true });
    });
  });
});
