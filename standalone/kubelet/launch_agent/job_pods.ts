/** Pods of MPI jobs that the launch agent can reach: each by its job and its host names, and each with a token. */
import type { Pod } from "../../../platform/kube/kubernetes.ts";
import { identityOf, type PodAddress, type PodIdentity } from "../names/addresses.ts";
import { SUFFIXES } from "../names/name_replacement.ts";
import type { RunningProcess } from "../processes/processes.ts";
import type { MpiPod } from "./mpi_pods.ts";

/** Input and output of a command. */
export interface CommandStreams {
  readonly stdin: ReadableStream<Uint8Array>;
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Uint8Array) => Promise<void>;
}

/** Starts a command for a shell in a container; undefined while the container does not run. */
export type StartCommand = (
  container: string,
  command: string,
  streams: CommandStreams,
) => RunningProcess | undefined;

/** A pod that can be reached. */
export interface Member {
  readonly token: string;
  readonly job: string;
  readonly names: ReadonlySet<string>;
  readonly start: (command: string, streams: CommandStreams) => RunningProcess | undefined;
}

/** All names of a pod's host, and its addresses, by which names in commands and variables may have been replaced. */
export function hostNames(
  { namespace, hostname, subdomain }: PodIdentity,
  { loopback, podIP }: PodAddress,
): Set<string> {
  const names = new Set([hostname, loopback, podIP]);
  if (subdomain === "") return names;
  const short = `${hostname}.${subdomain}`;
  const long = `${short}.${namespace}`;
  for (const suffix of SUFFIXES) names.add(`${long}${suffix}`);
  return names.add(short);
}

/** The pods of all MPI jobs of a kubelet. */
export class Members {
  readonly #byToken = new Map<string, Member>();

  /** Adds a pod under a new token. */
  add(pod: Pod, address: PodAddress, { job, container }: MpiPod, start: StartCommand): Member {
    const member: Member = {
      token: crypto.randomUUID(),
      job,
      names: hostNames(identityOf(pod), address),
      start: (command, streams) => start(container, command, streams),
    };
    this.#byToken.set(member.token, member);
    return member;
  }

  /** Forgets a pod. */
  remove({ token }: Member): void {
    this.#byToken.delete(token);
  }

  /** The pod to which the token was given. */
  holder(token: string): Member | undefined {
    return this.#byToken.get(token);
  }

  /** The pod of that host in the same job, the newest if one follows another of its name. */
  peer({ job }: Member, host: string): Member | undefined {
    const name = host.toLowerCase().replace(/\.$/, "");
    return [...this.#byToken.values()].findLast((one) => one.job === job && one.names.has(name));
  }
}
