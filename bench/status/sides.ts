/** Sides of the status benchmark: a bare endpoint, upstream's in two settings, and Milepost's. */
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, MANAGER } from "../../crds/names.ts";
import { bundle, V8_FLAGS } from "../../build/bundle.ts";
import type { ControlPlane } from "../../tests/cluster/control_plane/control_plane.ts";
import { createDaemon, type Daemon } from "../../tests/cluster/control_plane/daemon.ts";
import { startUpstreamTrainer } from "../../tests/cluster/parity/upstream_trainer.ts";
import type { Installation, TestManager } from "../../tests/cluster/support/installation.ts";
import { freePort } from "../../tests/support/free_port.ts";
import { until } from "../../tests/support/until.ts";
import { z } from "zod";
import type { SideName } from "./options.ts";

/** An endpoint that serves. */
export interface Side {
  /** `https://127.0.0.1:PORT`. */
  readonly url: string;
  readonly caPem: string;
  /** Its process; of two replicas, each. */
  readonly pids: readonly number[];
  /** The managers, if the side is Milepost. */
  readonly managers: readonly TestManager[];
  /** Address of the inspector of the first of them, when it is profiled. */
  readonly inspector?: number;
  stop(): Promise<void>;
}

/** Control plane of all sides. */
export interface Ground {
  readonly plane: ControlPlane;
  readonly installation: Installation;
  /** Arguments of Deno that run Milepost. */
  readonly program: readonly string[];
  /** Folder for profiles of it. */
  readonly profiles?: string | undefined;
}

/** Runs the bundle as the shipped executable does, unless V8 is to have other flags. */
export async function shippedProgram(folder: string, v8Flags = V8_FLAGS): Promise<string[]> {
  const file = `${folder}/milepost.js`;
  await bundle(file);
  const program = ["run", "-A", "--no-config", v8Flags, file];
  // The first run of a file looks for its imports, which takes 70 MB that stay; an executable has none.
  await new Deno.Command(Deno.execPath(), { args: [...program, "version"] }).output();
  return program;
}

/** Limits that no load reaches: the bench sends more for a pod than a pod ever does. */
export const LIFTED = {
  pushQpsPerPod: "1000000",
  pushBurstPerPod: "1000000",
  pushQpsPerSubject: "1000000",
  pushBurstPerSubject: "1000000",
} as const;

/** Whether something takes connections. */
async function listens(port: number): Promise<boolean> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  connection.close();
  return true;
}

/** Returns the side of one process, which serves with a certificate of the control plane's CA. */
function sideOf(plane: Ground["plane"], port: number, daemon: Daemon): Side {
  return {
    url: `https://127.0.0.1:${port}`,
    caPem: plane.ca.cert,
    pids: [daemon.pid ?? 0],
    managers: [],
    stop: () => daemon.stop(),
  };
}

async function startBare({ plane }: Ground): Promise<Side> {
  const port = freePort();
  const { cert, key } = await plane.ca.server("bare-endpoint", ["127.0.0.1"]);
  const [certFile, keyFile] = [`${plane.folder}/bare.crt`, `${plane.folder}/bare.key`];
  await Deno.writeTextFile(certFile, cert);
  await Deno.writeTextFile(keyFile, key, { mode: 0o600 });
  const script = new URL("./bare_endpoint.ts", import.meta.url).pathname;
  const daemon = createDaemon({
    name: "bare endpoint",
    program: Deno.execPath(),
    args: ["run", "-A", "--no-check", script, String(port), certFile, keyFile],
    env: { NO_COLOR: "1" },
    logFile: `${plane.folder}/bare.log`,
    isReady: () => listens(port),
  });
  await daemon.start();
  return sideOf(plane, port, daemon);
}

async function startUpstream(
  { plane }: Ground,
  limits: { qps: number; burst: number },
): Promise<Side> {
  const port = freePort();
  const user = { user: "upstream", groups: ["system:masters"] };
  const kubeconfig = await plane.kubeconfigFor("upstream", user);
  const daemon = await startUpstreamTrainer({ ...plane, kubeconfig }, {
    statusServer: { port, ...limits },
    installs: false,
  });
  await until("upstream's status server", () => listens(port), { timeoutMs: 60_000 });
  return sideOf(plane, port, daemon);
}

const authoritySchema = z.looseObject({ data: z.record(z.string(), z.string()) });

/** The CA that Milepost has made for itself. */
async function milepostAuthority({ plane }: Ground): Promise<string> {
  const key = { namespace: MANAGER.namespace, name: MANAGER.certificateSecret };
  const { data } = authoritySchema.parse(await plane.client.get(KINDS.secret, key));
  return atob(data[CA_KEY] ?? "");
}

/** Starts `replicas` managers; progress is on, everything else but limits of pushes as shipped. */
export async function startMilepost(
  ground: Ground,
  { replicas = 1, limits = LIFTED }: {
    readonly replicas?: number;
    readonly limits?: Readonly<Record<string, string>>;
  } = {},
): Promise<Side> {
  const { installation, program } = ground;
  const inspector = ground.profiles === undefined ? undefined : freePort();
  const start = (number: number) => {
    const [run = "run", ...rest] = program;
    const args = number === 0 && inspector !== undefined
      ? [run, `--inspect=127.0.0.1:${inspector}`, ...rest]
      : program;
    return installation.startManager({ flags: limits, program: args });
  };
  // One after the other, so that the first makes the certificates and leads.
  const managers: TestManager[] = [];
  for (let number = 0; number < replicas; number++) managers.push(await start(number));
  return {
    url: managers[0]?.statusUrl ?? "",
    caPem: await milepostAuthority(ground),
    pids: managers.map(({ pid }) => pid ?? 0),
    managers,
    ...inspector === undefined ? {} : { inspector },
    stop: async () => {
      await Promise.all(managers.map((manager) => manager.kill()));
    },
  };
}

/** Starts one of them. */
export function startSide(name: SideName, ground: Ground): Promise<Side> {
  switch (name) {
    case "bare":
      return startBare(ground);
    case "upstream as shipped":
      return startUpstream(ground, { qps: 5, burst: 10 });
    case "upstream":
      return startUpstream(ground, { qps: 100_000, burst: 100_000 });
    case "milepost":
      return startMilepost(ground);
  }
}
