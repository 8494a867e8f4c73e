/** Gang schedulers as peers: what the scenes of `../gangs/` need of each. */
import type { Kind, KubeObject } from "../../../platform/kube/resource.ts";
import type { TrainingRuntimeSpec } from "../../../crds/training_runtime.ts";
import type { ControlPlane } from "../../cluster/control_plane/control_plane.ts";
import {
  createDaemon,
  type Daemon,
  type DaemonOptions,
} from "../../cluster/control_plane/daemon.ts";
import { kubectl } from "../../cluster/support/installation.ts";
import type { Peer, PeerName } from "./peer.ts";

/** A gang scheduler of another project. */
export interface GangScheduler {
  readonly peer: PeerName;
  /** Of the pods. */
  readonly schedulerName: string;
  readonly podGroupPolicy: NonNullable<TrainingRuntimeSpec["podGroupPolicy"]>;
  readonly podGroup: Kind<KubeObject>;
  /** Whether the scheduler counts pods that have succeeded (docs/decisions/0046). */
  readonly countsSucceeded: boolean;
  /** Whether it keeps room for the group of a suspended job. */
  readonly keepsRoom: boolean;
  /** Installs its CRDs and starts its programs. */
  start(plane: ControlPlane, peer: Peer): Promise<readonly Daemon[]>;
}

/** Applies on the server: a CRD is too large for the annotation of a client-side apply. */
export async function applyFiles(plane: ControlPlane, files: readonly string[]): Promise<void> {
  const names = files.flatMap((file) => ["-f", file]);
  await kubectl(plane, ["apply", "--server-side", "--validate=false", ...names]);
}

/** A program of a scheduler, as an administrator; it answers at `healthUrl` when it serves. */
export function schedulerProgram(
  plane: ControlPlane,
  { name, healthUrl, ...rest }: Pick<DaemonOptions, "name" | "program" | "args"> & {
    readonly healthUrl?: string;
  },
): Daemon {
  return createDaemon({
    name,
    ...rest,
    logFile: `${plane.folder}/${name}.log`,
    async isReady() {
      if (healthUrl === undefined) return true;
      const answer = await fetch(healthUrl, { signal: AbortSignal.timeout(2_000) });
      await answer.body?.cancel();
      return answer.ok;
    },
  });
}

/** Starts programs one after the other; if one fails, stops those before it. */
export async function startAll(daemons: readonly Daemon[]): Promise<readonly Daemon[]> {
  try {
    for (const daemon of daemons) await daemon.start();
  } catch (error) {
    for (const daemon of daemons) await daemon.stop();
    throw error;
  }
  return daemons;
}
