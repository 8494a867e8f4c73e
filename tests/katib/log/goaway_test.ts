/** Test of a peer's GOAWAY, which must not end this process. */
import assert from "node:assert/strict";
import { run } from "../../support/command.ts";

const CLIENT = new URL("../../../katib/log/db_manager_client.ts", import.meta.url).href;
const CLOCK = new URL("../../../platform/base/clock.ts", import.meta.url).href;
const FAKE = new URL("./fake_db_manager.ts", import.meta.url).href;

/** Runs in a process of its own, which a failure would end. */
const PROGRAM = `
  const { createDbManagerClient } = await import("${CLIENT}");
  const { systemClock: clock } = await import("${CLOCK}");
  const { startFakeDbManager } = await import("${FAKE}");
  let survived = 0;
  for (; survived < 60; survived++) {
    const manager = await startFakeDbManager();
    const client = createDbManagerClient({ address: manager.address, clock, deadlineMs: 20000 });
    for (let calls = 0; calls < 5; calls++) await client.delete("a");
    gc();
    await manager.sayGoaway();
    client.close();
    await manager.stop();
  }
  console.log("survived " + survived);
  Deno.exit(0);
`;

Deno.test("the sink survives a DB manager that sends GOAWAY repeatedly", async () => {
  const root = new URL("../../../", import.meta.url).pathname;
  const { code, stdout, stderr } = await run(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--v8-flags=--expose-gc", `--config=${root}deno.json`],
      `data:text/javascript,${encodeURIComponent(PROGRAM)}`,
    ],
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  assert.equal(stdout.trim(), "survived 60");
});
