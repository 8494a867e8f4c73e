/** The observation log of the benchmark's trials, and its rows after the load. */
import { z } from "zod";
import { createMetrics, sinkMetrics } from "../../app/manager/metrics.ts";
import { createSink } from "../../katib/log/sink_choice.ts";
import { KINDS } from "../../crds/kinds.ts";
import { MANAGER } from "../../crds/names.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { systemClock } from "../../platform/base/clock.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { until } from "../../tests/support/until.ts";
import type { SinkChoice } from "../../katib/log/sink_choice.ts";

/** A sink that the bench knows. */
export type SinkName = "memory" | "sqlite" | "grpc";

/** The log of one run. */
export interface BenchLog {
  /** `--observation-sink`. */
  readonly flag: string;
  /** To be called when the manager has made its certificates. Returns the server's process, if there is one. */
  start(client: KubeClient, program: readonly string[]): Promise<number | undefined>;
  /** Rows of these trials, after the manager has stopped; undefined if they ended with it. */
  rows(trials: readonly { name: string; uid: string }[]): Promise<number | undefined>;
  stop(): Promise<void>;
}

const text = z.string().transform((it) => atob(it));
const secretSchema = z.looseObject({
  data: z.looseObject({ "ca.crt": text, "tls.crt": text, "tls.key": text }),
});

async function countRows(
  setting: SinkChoice,
  namespace: string,
  trials: readonly { name: string; uid: string }[],
): Promise<number> {
  const sink = await createSink({
    setting,
    katibDbManager: "127.0.0.1:1",
    trialsExist: () => true,
    clock: systemClock,
    metrics: sinkMetrics(createMetrics()),
    deadlineMs: 30_000,
  });
  let rows = 0;
  try {
    for (const { name, uid } of trials) {
      const key = { kind: "trial", namespace, name, uid } as const;
      rows += (await sink.read(key, AbortSignal.timeout(30_000))).length;
    }
  } finally {
    await sink.close();
  }
  return rows;
}

/** `milepost observation-log`, as a process of its own. */
function grpcLog(folder: string, namespace: string): BenchLog {
  const port = freePort();
  const address = `127.0.0.1:${port}`;
  let server: Deno.ChildProcess | undefined;

  async function start(client: KubeClient, program: readonly string[]) {
    const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
    const { data } = secretSchema.parse(await client.get(KINDS.secret, key));
    const files: Record<string, string> = {
      "ca.crt": data["ca.crt"],
      "tls.crt": data["tls.crt"],
      "tls.key": data["tls.key"],
    };
    for (const [name, content] of Object.entries(files)) {
      await Deno.writeTextFile(`${folder}/${name}`, content, { mode: 0o600 });
    }
    server = new Deno.Command(Deno.execPath(), {
      args: [
        ...program,
        "observation-log",
        ...["--data-dir", folder, "--port", String(port)],
        ...["--tls-cert", `${folder}/tls.crt`, "--tls-key", `${folder}/tls.key`],
        ...["--client-ca", `${folder}/ca.crt`],
      ],
      stdout: "null",
      stderr: "null",
    }).spawn();
    await until("the observation log listens", async () => {
      const connection = await Deno.connect({ hostname: "127.0.0.1", port });
      connection.close();
      return true;
    });
    return server.pid;
  }

  return {
    flag: `grpc:${address}`,
    start,
    rows: (trials) => countRows({ kind: "grpc", address }, namespace, trials),
    async stop() {
      server?.kill("SIGTERM");
      await server?.status;
    },
  };
}

/** The log of that name; its files are in the folder. */
export function benchLog(name: SinkName, folder: string, namespace: string): BenchLog {
  if (name === "grpc") return grpcLog(folder, namespace);
  const path = `${folder}/observations.sqlite`;
  return {
    flag: name === "sqlite" ? `sqlite:${path}` : name,
    start: () => Promise.resolve(undefined),
    rows: (trials) =>
      name === "sqlite"
        ? countRows({ kind: "sqlite", path }, namespace, trials)
        : Promise.resolve(undefined),
    stop: () => Promise.resolve(),
  };
}
