/** Test of `standalone --notify`: a job that fails is told, and told again after a restart, under the same id. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../../crds/kinds.ts";
import { shellRuntime, trainJob, withStandalone } from "../../support/standalone.ts";
import { until } from "../../support/until.ts";

const bodySchema = z.looseObject({
  id: z.string(),
  event: z.string(),
  text: z.string().optional(),
});

Deno.test("a failure is told with what the program said, and again by the next manager", async () => {
  const dataDir = await Deno.makeTempDir();
  const received: z.infer<typeof bodySchema>[] = [];
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, async (request) => {
    received.push(bodySchema.parse(await request.json()));
    return new Response("ok");
  });
  const start = { dataDir, notify: `http://127.0.0.1:${server.addr.port}/hook` };
  await withStandalone(async ({ client }) => {
    const runtime = shellRuntime("broken", "echo 'ValueError: no data' >&2; exit 3");
    await client.create(KINDS.clusterTrainingRuntime, runtime);
    await client.create(KINDS.trainJob, trainJob("broken", "broken"));
    await until("it is told", () => received.length > 0);
  }, start);
  await withStandalone(async () => {
    await until("it is told again", () => received.length > 1);
  }, start);
  await server.shutdown();
  await Deno.remove(dataDir, { recursive: true });
  assert.deepEqual(received.map(({ event, text }) => [event, text]), [
    ["Failed", "node-0 exited 3: ValueError: no data"],
    ["Failed", "node-0 exited 3: ValueError: no data"],
  ]);
  assert.equal(received[0]?.id, received[1]?.id);
});
