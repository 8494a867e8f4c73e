/** Tests that a tenant's large objects do not exhaust the memory of the page, in a process of its own. */
import assert from "node:assert/strict";
import { z } from "zod";
import { V8_FLAGS } from "../../../build/bundle.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KATIB_SEARCH } from "../../../page/trials/katib_search.ts";

/** Objects of each kind, and bytes of each. */
const [OBJECTS, BYTES] = [110, 900_000];
/** More than a process of the runtime has at rest, by far less than the objects are. */
const MOST_MB = 256;

const encoder = new TextEncoder();
const filler = "x".repeat(BYTES);

/** An object of any kind, as large as a tenant may make it. */
const objectOf = (name: string) => ({
  metadata: {
    name,
    namespace: "tenant",
    uid: `uid-${name}`,
    creationTimestamp: "2026-01-01T00:00:00Z",
    labels: { "katib.kubeflow.org/experiment": "search" },
  },
  spec: {
    runtimeRef: { name: "torch" },
    containers: [{ name: "node", env: [{ name: "LARGE", value: filler }] }],
    trainer: { env: [{ name: "LARGE", value: filler.slice(0, BYTES / 2) + name }] },
    parameterAssignments: [{ name: "lr", value: filler.slice(0, BYTES / 2) }],
  },
  status: { phase: "Running" },
});

/** An API server that has so many large objects of every kind, and pages of them. */
function startServer() {
  const once = encoder.encode(JSON.stringify(objectOf("large")));
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, (request) => {
    const { pathname, searchParams } = new URL(request.url);
    const isMetadata = request.headers.get("accept")?.includes("PartialObjectMetadata") ?? false;
    const last = pathname.split("/").at(-1);
    if (last === "job" || last === "search") return Response.json(objectOf(last));
    const from = Number(searchParams.get("continue") ?? 0);
    const until = Math.min(OBJECTS, from + Number(searchParams.get("limit") ?? OBJECTS));
    const metadata = { resourceVersion: "1", ...(until < OBJECTS && { continue: `${until}` }) };
    const { metadata: small } = objectOf("small");
    const item = isMetadata ? encoder.encode(JSON.stringify({ metadata: small })) : once;
    let next = from;
    // As it is read: what the server has of it must not count for the reader.
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (next === from) {
          const head = JSON.stringify({ metadata }).slice(0, -1);
          controller.enqueue(encoder.encode(`${head},"items":[`));
        }
        if (next > from && next < until) controller.enqueue(encoder.encode(","));
        if (next < until) controller.enqueue(item);
        else {
          controller.enqueue(encoder.encode("]}"));
          controller.close();
        }
        next++;
      },
    }, { highWaterMark: 0 });
    return new Response(body, { headers: { "content-type": "application/json" } });
  });
}

const resultSchema = z.object({
  answers: z.array(z.object({ status: z.number(), characters: z.number() })),
  peakMb: z.number(),
});

const DETAILS = `/objects/${TRAINJOB.id}/tenant/job`;
const SEARCH = `/searches/${KATIB_SEARCH.id}/tenant/search`;
const scenes: Record<string, readonly string[]> = {
  "four requests for a job whose pods are large": Array.from({ length: 4 }, () => DETAILS),
  "four requests for searches, their trials and their jobs of all kinds": [
    SEARCH,
    SEARCH,
    "/searches",
    "/searches?namespace=tenant",
  ],
};
for (const [what, paths] of Object.entries(scenes)) {
  Deno.test({
    name: `${what} take less than ${MOST_MB} MB`,
    ignore: Deno.build.os !== "linux",
    async fn() {
      await using server = startServer();
      const input = { server: `http://127.0.0.1:${server.addr.port}`, paths };
      const program = new URL("large_objects_site.ts", import.meta.url).pathname;
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", V8_FLAGS, program, JSON.stringify(input)],
        env: { NO_COLOR: "1" },
        stdin: "null",
      }).output();
      const textOf = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
      assert.ok(stdout.length > 0, textOf(stderr));
      const { answers, peakMb } = resultSchema.parse(JSON.parse(textOf(stdout)));
      assert.deepEqual(answers.map(({ status }) => status), paths.map(() => 200));
      assert.ok(peakMb < MOST_MB, `${peakMb.toFixed(0)} MB`);
    },
  });
}
