/** Tests of the garbage collection after the caches are filled. */
import assert from "node:assert/strict";
import { V8_FLAGS } from "../../../build/bundle.ts";

const MODULE = new URL("../../../app/manager/heap_collection.ts", import.meta.url).href;

/** Runs it in a process of its own with those flags and number of jobs. Returns the number of collections. */
async function collections(jobs: number, flags: readonly string[]): Promise<string> {
  const script = `
    const own = globalThis.gc;
    let asked = 0;
    if (own) globalThis.gc = (options) => { asked += 1; own(options); };
    const { collectAfterFilling } = await import("${MODULE}");
    collectAfterFilling(${jobs});
    console.log(asked);`;
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", ...flags, script],
    env: { NO_COLOR: "1" },
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trim();
}

const CASES = {
  "once, with many jobs and the executable's flags": {
    jobs: 10_000,
    flags: [V8_FLAGS],
    asked: "1",
  },
  "nothing with few jobs": { jobs: 999, flags: [V8_FLAGS], asked: "0" },
  "nothing if V8 does not expose its collector": { jobs: 10_000, flags: [], asked: "0" },
} as const;

for (const [sentence, { jobs, flags, asked }] of Object.entries(CASES)) {
  Deno.test(`\`collectAfterFilling()\` collects ${sentence}`, async () => {
    assert.equal(await collections(jobs, flags), asked);
  });
}
