/** Identity and address of this replica. */
import { isIPv6 } from "node:net";

/** Variables from which identity and address follow; `deploy/` sets them. */
export interface ReplicaEnvironment {
  readonly POD_NAME?: string | undefined;
  readonly POD_UID?: string | undefined;
  readonly POD_IP?: string | undefined;
}

/** Facts of the machine. */
export interface Machine {
  readonly hostname: string;
  /** Addresses of its interfaces, loopback included. */
  readonly addresses: readonly string[];
  /** Unique to the process, without `_`. */
  readonly random: string;
}

/**
 * The `holderIdentity` of the Lease: `<pod name>_<uid>_<random>`, without the UID outside of a pod. A
 * container that is restarted is another candidate than its predecessor, whose last writes may still land.
 */
export function replicaIdentity(environment: ReplicaEnvironment, machine: Machine): string {
  const { POD_NAME, POD_UID } = environment;
  return [POD_NAME || machine.hostname, POD_UID, machine.random].filter(Boolean).join("_");
}

const EVERYWHERE: ReadonlySet<string> = new Set(["0.0.0.0", "::", ""]);
const isLocal = (address: string) => /^(127\.|::1$|fe80:|169\.254\.)/i.test(address);

/**
 * The address under which other replicas reach a port: the one that is listened on if it is a single one,
 * else the pod's, else the first of the machine that is not local to it.
 */
export function replicaHost(
  bindAddress: string,
  environment: ReplicaEnvironment,
  machine: Machine,
): string {
  if (!EVERYWHERE.has(bindAddress)) return bindAddress;
  return environment.POD_IP || machine.addresses.find((it) => !isLocal(it)) || "127.0.0.1";
}

/** `<ip>:<port>`, an IPv6 address in brackets. */
export function addressText(host: string, port: number): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The machine that this process runs on. */
export function thisMachine(): Machine {
  return {
    hostname: Deno.hostname(),
    addresses: Deno.networkInterfaces().map(({ address }) => address),
    random: crypto.randomUUID(),
  };
}
