/** Test of the demo at a terminal: its jobs can be watched, its page is there until Ctrl-C, and nothing is left behind. */
import assert from "node:assert/strict";
import { WATCHED_SECONDS } from "../../../app/demo/demo_stage.ts";
import { milepostCommand } from "../../support/milepost_process.ts";
import { openSession } from "../../support/page_client.ts";
import { type AtTerminal, atTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";

const ADDRESS = /http:\/\/\S+#code=[\w-]+/g;
const JOB = "/objects/trainjobs.trainer.kubeflow.org/default/softmax";

/** Runs `work` with a demo, and checks that it leaves nothing. */
async function withDemo(args: readonly string[], work: (screen: AtTerminal) => Promise<void>) {
  const temporary = await Deno.makeTempDir({ prefix: "milepost-demo-" });
  try {
    await using screen = atTerminal(milepostCommand("demo", ...args), { TMPDIR: temporary });
    await screen.shows(/#code=\S+\s/);
    await work(screen);
    await screen.type("\x03");
    assert.equal(await screen.ended(), 0, screen.text());
    assert.deepEqual([...Deno.readDirSync(temporary)], []);
  } finally {
    await Deno.remove(temporary, { recursive: true });
  }
}

const addresses = (screen: AtTerminal) => screen.text().match(ADDRESS) ?? [];

Deno.test("at a terminal the page of the demo outlives the jobs, Enter prints another address, Ctrl-C ends it", () =>
  withDemo(["--seconds", "2"], async (screen) => {
    const session = await openSession(addresses(screen)[0] ?? "");
    await screen.shows(/stays until you press Ctrl-C/);
    const { rows } = JSON.parse((await session.get("/view/v1/jobs")).text);
    const states = rows.map(({ name, state }: Record<string, string>) => `${name} ${state}`);
    assert.deepEqual(states.sort(), ["failing Failed", "paused Complete", "softmax Complete"]);
    await screen.type("\r");
    const [, second = ""] = await until("another address", () => {
      const found = addresses(screen);
      return found.length === 2 && found;
    });
    assert.equal((await (await openSession(second)).get("/view/v1/jobs")).status, 200);
  }));

Deno.test("at a terminal the jobs train long enough to be watched, and an end before is no error", () =>
  withDemo([], async (screen) => {
    const session = await openSession(addresses(screen)[0] ?? "");
    await screen.shows(/softmax +Running/);
    const { object } = JSON.parse((await session.get(JOB)).text);
    const env = object.spec.trainer.env.find(({ name }: { name: string }) =>
      name === "TRAIN_SECONDS"
    );
    assert.equal(env?.value, String(WATCHED_SECONDS));
  }));
