/** Tests of `milepost ui` as its user runs it: at a terminal, as a program's child, and with a wrong kubeconfig. */
import assert from "node:assert/strict";
import { loadKubeconfig } from "../../../platform/kube/connection/kubeconfig.ts";
import { milepost, milepostCommand } from "../../support/milepost_process.ts";
import { openSession } from "../../support/page_client.ts";
import { shareStandalone } from "../../support/standalone.ts";
import { atTerminal } from "../../support/terminal.ts";
import { until } from "../../support/until.ts";

const main = new URL("../../../main.ts", import.meta.url).pathname;
const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/#code=[\w-]+/g;

const standalone = shareStandalone();

Deno.test("at a terminal `milepost ui` prints an address, another at each Enter, and ends with Ctrl-C", async () => {
  const { kubeconfig } = standalone();
  await using screen = atTerminal(milepostCommand("ui", "--kubeconfig", kubeconfig), {});
  await screen.shows(/press Enter for another/);
  await screen.type("\r");
  const [first = "", second = ""] = await until("two addresses", () => {
    const found = screen.text().match(ADDRESS) ?? [];
    return found.length === 2 && found;
  });
  assert.notEqual(first, second);
  assert.equal(new URL(first).origin, new URL(second).origin);
  for (const address of [first, second]) {
    const session = await openSession(address);
    assert.equal((await session.get("/view/v1/jobs")).status, 200);
    await assert.rejects(openSession(address), /no session: 403/);
  }
  const token = loadKubeconfig(kubeconfig).user?.token ?? "";
  assert.ok(token.length > 20 && !screen.text().includes(token));
  await screen.type("\x03");
  assert.equal(await screen.ended(), 0, screen.text());
});

Deno.test("`milepost ui --json` prints one line when it is ready, and ends with SIGTERM", async () => {
  const { kubeconfig, server } = standalone();
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", main, "ui", "--json", "--kubeconfig", kubeconfig],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  let text = "";
  const reading = (async () => {
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) text += part;
  })();
  try {
    const ready = await until("the line", () => text.endsWith("\n") && JSON.parse(text));
    assert.deepEqual([ready.ready, ready.server], [true, server]);
    assert.equal((await (await openSession(ready.ui)).get("/view/v1/jobs")).status, 200);
  } finally {
    child.kill("SIGTERM");
    assert.equal((await child.status).code, 0);
    await reading;
  }
});

interface Wrong {
  readonly args: string[];
  readonly change?: [RegExp, string];
  /** 2 is wrong use. */
  readonly code: number;
  readonly want: RegExp;
}

const WRONG: Readonly<Record<string, Wrong>> = {
  "a context that is not there": {
    args: ["--context", "typo"],
    code: 2,
    want: /has no context typo; its contexts: milepost/,
  },
  "credentials that are not taken": {
    args: [],
    change: [/token: .*/, "token: wrong"],
    code: 2,
    want: /does not accept the credentials of the context milepost: log in again/,
  },
  "a server that is not there": {
    args: [],
    change: [/server: .*/, "server: https://127.0.0.1:9"],
    code: 1,
    want:
      /cannot reach the cluster of the context milepost: .*127\.0\.0\.1:9.*does `milepost standalone` run\?/,
  },
  "a server of another authority": {
    args: [],
    change: [/certificate-authority-data: .*/, ""],
    code: 1,
    want: /cannot reach the cluster of the context milepost: .*certificate/,
  },
};
for (
  const [sentence, { args, change: [from, to] = [/^$/, ""], code: expected, want }] of Object
    .entries(WRONG)
) {
  Deno.test(`\`milepost ui\` says in one line what is wrong with ${sentence}`, async () => {
    const file = await Deno.makeTempFile({ suffix: ".yaml" });
    try {
      const text = await Deno.readTextFile(standalone().kubeconfig);
      await Deno.writeTextFile(file, text.replace(from, to));
      const { code, stdout, stderr } = await milepost(["ui", "--kubeconfig", file, ...args]);
      assert.equal(code, expected, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, want);
      assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
    } finally {
      await Deno.remove(file);
    }
  });
}
