/** Tests of observation logs that Katib's own clients read while servers and connections are killed. */
import assert from "node:assert/strict";
import { z } from "zod";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { run } from "../support/command.ts";
import { freePort } from "../support/free_port.ts";
import { until } from "../support/until.ts";
import {
  type LogServer,
  playObservations,
  type Question,
  type ReadRow,
  ROWS,
} from "./observations.ts";
import { pythonEnvironment } from "../support/python_environment.ts";

const SCRIPT = new URL("db_manager.py", import.meta.url).pathname;
const MAIN = new URL("../../main.ts", import.meta.url).pathname;

const python = await pythonEnvironment("kubeflow-katib==0.19.0");
// deno-lint-ignore no-console -- a word to whoever runs the tests
if ("missing" in python) console.log(`tests with Katib's clients are skipped: ${python.missing}`);
const program = "missing" in python ? "" : `${python.bin}/python`;

/** A program that says "ready" when it is, and can be killed and started again. */
function programServer(
  port: number,
  command: (client: KubeClient) => Promise<readonly [string, readonly string[]]>,
): LogServer {
  let child: Deno.ChildProcess | undefined;
  let output = Promise.resolve();
  return {
    port,
    async start(client) {
      const [program, args] = await command(client);
      const started = child = new Deno.Command(program, {
        args: [...args],
        env: { NO_COLOR: "1" },
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      let said = "";
      output = (async () => {
        for await (const part of started.stdout.pipeThrough(new TextDecoderStream())) said += part;
      })();
      await until("the log's server is ready", () => said.includes("ready"));
    },
    async kill() {
      if (child === undefined) return;
      child.kill("SIGKILL");
      await child.status;
      await output;
      child = undefined;
    },
  };
}

const rowsSchema = z.array(z.tuple([z.string(), z.string(), z.string()]));

/** Asks with Katib's stubs, over plaintext. */
async function readByKatib(
  port: number,
  questions: readonly Question[],
): Promise<readonly (readonly ReadRow[])[]> {
  const { code, stdout, stderr } = await run(program, {
    args: [SCRIPT, "read", `127.0.0.1:${port}`],
    stdin: questions.map((it) => `${JSON.stringify(it)}\n`).join(""),
    timeoutMs: 120_000,
  });
  assert.equal(code, 0, stderr);
  return stdout.trim().split("\n").map((line) => rowsSchema.parse(JSON.parse(line)));
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-observations-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "a DB manager of Katib's stubs has each acknowledged observation, once",
  ignore: program === "",
  fn: () =>
    inFolder(async (folder) => {
      const port = freePort();
      const server = programServer(
        port,
        () => Promise.resolve([program, [SCRIPT, "serve", `${port}`, `${folder}/rows`, "40"]]),
      );
      const rows = await playObservations({
        server,
        flags: (address) => ["--observation-sink=katib", `--katib-db-manager=${address}`],
        read: (questions) => readByKatib(port, questions),
      });
      assert.equal(rows, ROWS);
    }),
});

const text = z.string().transform((it) => atob(it));
const secretSchema = z.looseObject({
  data: z.looseObject({ "ca.crt": text, "tls.crt": text, "tls.key": text }),
});

/** Writes the manager's certificates to files. Returns the flags that name them. */
async function tlsFlags(client: KubeClient, folder: string): Promise<string[]> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = secretSchema.parse(await client.get(KINDS.secret, key));
  const files = { "tls-cert": "tls.crt", "tls-key": "tls.key", "client-ca": "ca.crt" } as const;
  return await Promise.all(
    Object.entries(files).map(async ([flag, name]) => {
      await Deno.writeTextFile(`${folder}/${name}`, data[name]);
      return `--${flag}=${folder}/${name}`;
    }),
  );
}

Deno.test({
  name: "`milepost observation-log` has each acknowledged observation, once, for Katib's clients",
  ignore: program === "",
  fn: () =>
    inFolder(async (folder) => {
      const port = freePort();
      const server = programServer(port, async (client) => [Deno.execPath(), [
        ...["run", "-A", "--no-check", MAIN, "observation-log", "--bind-address=127.0.0.1"],
        ...[`--port=${port}`, `--data-dir=${folder}/data`, ...await tlsFlags(client, folder)],
      ]]);
      const rows = await playObservations({
        server,
        flags: (address) => [`--observation-sink=grpc:${address}`],
        read: (questions) => readByKatib(port, questions),
      });
      assert.equal(rows, ROWS);
    }),
});
