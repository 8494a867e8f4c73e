/** Tests that a tenant's large objects do not exhaust the memory of the page, in a process of its own. */
import assert from "node:assert/strict";
import { z } from "zod";
import { V8_FLAGS } from "../../../build/bundle.ts";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { startLargeObjects } from "../../support/large_objects_server.ts";
import { EXPERIMENTS } from "../../../page/trials/katib_objects.ts";

/** Objects of each kind, and bytes of each. */
const [OBJECTS, BYTES] = [110, 900_000];
/** More than a process of the runtime has at rest, by far less than the objects are. */
const MOST_MB = 256;

const resultSchema = z.object({
  answers: z.array(z.object({ status: z.number(), characters: z.number() })),
  peakMb: z.number(),
});

const DETAILS = `/objects/${TRAINJOB.id}/tenant/job`;
const SEARCH = `/searches/${EXPERIMENTS}/tenant/search`;
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
      await using server = startLargeObjects({ objects: OBJECTS, bytes: BYTES });
      const input = { server: server.url, paths };
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
