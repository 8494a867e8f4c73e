/** Launch agent of MPI jobs: commands of a launcher run in the other pods of its job, without SSH. */
import { rmSync } from "node:fs";
import { getLogger } from "@logtape/logtape";
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { LAUNCH_AGENT } from "../../../crds/pod_names.ts";
import type { Clock } from "../../../platform/base/clock.ts";
import { messageOf } from "../../../platform/kube/errors.ts";
import type { PodAddress } from "../names/addresses.ts";
import { Members, type StartCommand } from "./job_pods.ts";
import { type AdaptedPod, adaptMpiPod, mpiPodOf } from "./mpi_pods.ts";
import { Session } from "./session.ts";

const logger = getLogger(["milepost", "standalone"]);

/** Most connections at a time. Open MPI and Hydra start one command for each pod of a job. */
const MOST_SESSIONS = 256;
/** Most bytes of a socket's path (unix(7)). */
const MOST_PATH_BYTES = 107;

/** Options of {@link LaunchAgent}. */
export interface LaunchAgentOptions {
  readonly clock: Clock;
  /** Folder of the programs that come with the kubelet. */
  readonly programs: string;
  /** Folders for the socket, only of this user: it goes into the first in which its path is short enough. */
  readonly folders: readonly string[];
}

/** A pod of an MPI job, as it can run here. */
export interface Enrollment extends AdaptedPod {
  /** Ends the way to the pod. */
  leave(): void;
}

/** Writes the program, which runs the executable beside it. */
function writeProgram(folder: string): string {
  const path = `${folder}/${LAUNCH_AGENT.program}`;
  const script = `#!/bin/sh\nexec "\${0%/*}/milepost" ${LAUNCH_AGENT.command} "$@"\n`;
  Deno.writeTextFileSync(path, script, { mode: 0o700 });
  return path;
}

function socketPath(folders: readonly string[]): string {
  const paths = folders.map((folder) => `${folder}/launch.sock`);
  const fits = (path: string) => new TextEncoder().encode(path).length <= MOST_PATH_BYTES;
  return paths.find(fits) ?? paths[0] ?? "";
}

/** Makes the socket, only for this user; one that an earlier run left behind is replaced. */
function listenAt(path: string): Deno.UnixListener {
  rmSync(path, { force: true });
  const listener = Deno.listen({ transport: "unix", path });
  Deno.chmodSync(path, 0o600);
  return listener;
}

/** The agent of one kubelet. It listens from the first pod of an MPI job on. */
export class LaunchAgent {
  readonly #members = new Members();
  readonly #sessions = new Map<Session, Promise<void>>();
  #listening: { program: string; socket: string; listener: Deno.UnixListener } | undefined;

  constructor(private readonly options: LaunchAgentOptions) {}

  /** Takes a pod in; undefined if it is no pod of an MPI job, or if the socket cannot be made. */
  enroll(pod: Pod, podAddress: PodAddress, start: StartCommand): Enrollment | undefined {
    const mpiPod = mpiPodOf(pod);
    if (mpiPod === undefined) return undefined;
    let address;
    try {
      address = this.#listening ??= this.#listen();
    } catch (error) {
      logger.error("Pods of MPI jobs cannot reach each other", { error: messageOf(error) });
      return undefined;
    }
    const member = this.#members.add(pod, podAddress, mpiPod, start);
    return {
      ...adaptMpiPod(pod, { ...address, token: member.token }),
      leave: () => this.#members.remove(member),
    };
  }

  /** Ends everything. */
  async close(): Promise<void> {
    this.#listening?.listener.close();
    for (const session of this.#sessions.keys()) session.close();
    await Promise.all(this.#sessions.values());
  }

  #listen() {
    const { programs, folders } = this.options;
    const socket = socketPath(folders);
    const listener = listenAt(socket);
    this.#accept(listener).catch((error) => {
      logger.error("Commands of MPI launchers are not taken any more", { error: messageOf(error) });
    });
    return { program: writeProgram(programs), socket, listener };
  }

  async #accept(listener: Deno.UnixListener): Promise<void> {
    // The loop ends when the listener is closed.
    for await (const conn of listener) {
      if (this.#sessions.size >= MOST_SESSIONS) {
        conn.close();
        logger.warn("Too many commands of MPI launchers at a time", { most: MOST_SESSIONS });
        continue;
      }
      const session = new Session(conn, this.#members, this.options.clock);
      const ended = session.run().finally(() => this.#sessions.delete(session));
      this.#sessions.set(session, ended);
    }
  }
}
