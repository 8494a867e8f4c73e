/** Tests of `milepost observation-log` as a process: its files, and new certificates. */
import assert from "node:assert/strict";
import { startObservationLog } from "../../app/observation_log/observation_log.ts";
import { createDbManagerClient } from "../../katib/log/db_manager_client.ts";
import type { ClientTls } from "../../katib/log/peer_protocol.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { makeTls, type TlsFiles } from "../katib/log/tls_files.ts";
import { FakeClock } from "../support/fake_clock.ts";
import { run } from "../support/command.ts";
import { until } from "../support/until.ts";

const MAIN = new URL("../../main.ts", import.meta.url).pathname;
const whole = { trialName: "a", metricName: "", startTime: "", endTime: "" };
const row = { time: "2026-01-01T00:00:00Z", metric: { name: "loss", value: "1" } };

function clientOf(port: number, tls?: ClientTls) {
  return createDbManagerClient({
    address: `127.0.0.1:${port}`,
    clock: systemClock,
    deadlineMs: 20_000,
    ...(tls === undefined ? {} : { tls: () => tls }),
  });
}

async function writeFiles(folder: string, { server }: TlsFiles): Promise<void> {
  await Deno.writeTextFile(`${folder}/tls.crt`, server.cert);
  await Deno.writeTextFile(`${folder}/tls.key`, server.key);
  await Deno.writeTextFile(`${folder}/ca.crt`, server.clientCa);
}

const flagsOf = (folder: string) => ({
  tlsCert: `${folder}/tls.crt`,
  tlsKey: `${folder}/tls.key`,
  // The second is there during a rotation only.
  clientCa: `${folder}/ca.crt,${folder}/ca-next.crt`,
});

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("`startObservationLog()` loads certificates that were replaced, and keeps the old ones if the new ones are invalid", () =>
  inFolder(async (folder) => {
    const [first, second] = await Promise.all([makeTls(), makeTls()]);
    await writeFiles(folder, first);
    const clock = new FakeClock();
    const running = await startObservationLog({
      bindAddress: "127.0.0.1",
      port: 0,
      clock,
      ...flagsOf(folder),
    });
    const clients = [first, second].map(({ client }) => clientOf(running.port, client));
    const [old, young] = clients;
    assert.ok(old && young);
    await old.report("a", [row]);
    await assert.rejects(young.report("a", [row]));

    await Deno.writeTextFile(`${folder}/tls.key`, "no key");
    await clock.advance(15_000);
    await old.report("a", [row]);

    await writeFiles(folder, second);
    await until("the new certificates are taken", async () => {
      await clock.advance(15_000);
      await young.report("a", [row]);
      return true;
    });
    for (const client of clients) client.close();
    await running.stop();
  }));

Deno.test("`milepost observation-log` says when it is ready, survives its death, and ends in time", () =>
  inFolder(async (folder) => {
    const files = await makeTls();
    await writeFiles(folder, files);
    const { tlsCert, tlsKey, clientCa } = flagsOf(folder);
    const start = async () => {
      const child = new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--no-check", MAIN, "observation-log", "--bind-address=127.0.0.1"],
          ...["--port=0", `--data-dir=${folder}/data`],
          ...[`--tls-cert=${tlsCert}`, `--tls-key=${tlsKey}`, `--client-ca=${clientCa}`],
        ],
        env: { NO_COLOR: "1" },
        stdin: "null",
        stdout: "piped",
        stderr: "null",
      }).spawn();
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      let said = "";
      while (!said.includes("\n")) {
        const { value, done } = await reader.read();
        if (done) throw new Error("it ended without a word");
        said += value;
      }
      const port = Number(/^ready: 127\.0\.0\.1:(\d+)\n$/.exec(said)?.[1]);
      async function end(signal: Deno.Signal): Promise<number> {
        child.kill(signal);
        const { code } = await child.status;
        await reader.cancel();
        return code;
      }
      return { port, end };
    };
    const first = await start();
    const writer = clientOf(first.port, files.client);
    await writer.report("a", [row]);
    writer.close();
    await first.end("SIGKILL");
    const second = await start();
    const reader = clientOf(second.port);
    assert.deepEqual(await reader.get(whole), [row]);
    reader.close();
    assert.equal(await second.end("SIGTERM"), 0);
  }));

const WRONG: Readonly<Record<string, { args: string[]; code: number; says: RegExp }>> = {
  "an invalid port": {
    args: ["--port=x"],
    code: 2,
    says: /--port: must be a port from 0 to 65535/,
  },
  "a key without a certificate": {
    args: ["--tls-key=key"],
    code: 2,
    says: /--tls-cert, --tls-key and --client-ca must be given together/,
  },
  "a certificate that is not there": {
    args: ["--tls-cert=/none", "--tls-key=/none", "--client-ca=/none"],
    code: 2,
    says: /--tls-cert \/none cannot be read|--client-ca \/none cannot be read|--tls-key \/none/,
  },
  "a folder that cannot be": {
    args: ["--port=0", "--data-dir=/proc/none"],
    code: 2,
    says: /--data-dir: cannot keep observations in \/proc\/none/,
  },
  "a flag that is not": { args: ["--sink=x"], code: 2, says: /unknown option '--sink=x'/ },
};
for (const [says, { args, code, says: line }] of Object.entries(WRONG)) {
  Deno.test(`\`milepost observation-log\` with ${says} ends with code ${code} and says why`, async () => {
    const result = await run(Deno.execPath(), {
      args: ["run", "-A", "--no-check", MAIN, "observation-log", ...args],
    });
    assert.equal(result.code, code, result.stderr);
    const last = result.stderr.trim().split("\n").at(-1) ?? "";
    assert.match(last, line);
    assert.match(last, /^milepost: /);
  });
}
