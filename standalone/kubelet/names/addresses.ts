/** Pod addresses: one loopback address per pod, known from the pod's name before the pod exists. */
import { DNS_LABEL_MAX } from "../../../crds/names.ts";

/** The identity of an address: pods with equal identities have equal addresses. */
export interface PodIdentity {
  readonly namespace: string;
  /** `spec.hostname`; a pod without one is known by its name. */
  readonly hostname: string;
  /** `spec.subdomain`; empty for a pod that no headless Service names. */
  readonly subdomain: string;
}

/** The two faces of a pod's address. */
export interface PodAddress {
  /** The address that its processes bind and reach, in `127.64.0.0/10`. */
  readonly loopback: string;
  /** The address in the API: the same in `100.64.0.0/10`, because EndpointSlices refuse loopback. */
  readonly podIP: string;
}

/** Addresses of one kubelet. */
export type AddressBook = ReturnType<typeof createAddressBook>;

/** Most addresses that one book hands out; the range has four million. */
const MOST_ADDRESSES = 65_536;
/** Hosts of a /10. */
const HOST_BITS = 22;

/** FNV-1a over UTF-16 code units, with a final mix: spreads names over the range. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  value = Math.imul(value ^ (value >>> 12), 0x297a2d39);
  return (value ^ (value >>> 15)) >>> 0;
}

/** The nth address of the /10 that starts at `first`.64. */
function dotted(first: number, host: number): string {
  return `${first}.${64 + (host >>> 16)}.${(host >>> 8) & 255}.${host & 255}`;
}

/** Whether it is neither the network nor the broadcast address of its /24. */
function isUsable(host: number): boolean {
  return (host & 255) !== 0 && (host & 255) !== 255;
}

/** Both faces of one host number. */
function addressAt(host: number): PodAddress {
  return { loopback: dotted(127, host), podIP: dotted(100, host) };
}

/** One text for one identity; no part of it can hold a slash. */
export function identityKey(identity: PodIdentity): string {
  return `${identity.namespace}/${identity.subdomain}/${identity.hostname}`;
}

/**
 * A book whose addresses derive from the identity and `salt` (the data folder), so that kubelets
 * with folders of their own share a machine; inside one book no two pods share an address.
 */
export function createAddressBook(salt: string) {
  const hosts = new Map<string, { host: number; identity: PodIdentity }>();
  const taken = new Set<number>();

  function allocate(key: string): number {
    if (hosts.size >= MOST_ADDRESSES) {
      throw new RangeError(`cannot address another pod: ${MOST_ADDRESSES} addresses are in use`);
    }
    let host = hash(`${salt}\n${key}`) >>> (32 - HOST_BITS);
    while (!isUsable(host) || taken.has(host)) host = (host + 1) % 2 ** HOST_BITS;
    taken.add(host);
    return host;
  }

  return {
    /** The address of a pod, the same at every call until it is released. Throws when 65536 are in use. */
    addressOf(identity: PodIdentity): PodAddress {
      const key = identityKey(identity);
      const known = hosts.get(key);
      if (known) return addressAt(known.host);
      const host = allocate(key);
      hosts.set(key, { host, identity });
      return addressAt(host);
    },
    /** The identities that have an address, in the order in which they came. */
    identities: (): PodIdentity[] => [...hosts.values()].map(({ identity }) => identity),
    /** Forgets the pods for which `keep` returns false. */
    prune(keep: (identity: PodIdentity) => boolean): void {
      for (const [key, { host, identity }] of hosts) {
        if (keep(identity)) continue;
        hosts.delete(key);
        taken.delete(host);
      }
    },
  };
}

/** The host name that a pod's processes see: `spec.hostname`, else as much of its name as Kubernetes takes. */
export function hostnameOf(
  pod: { metadata?: { name?: string }; spec?: { hostname?: string } },
): string {
  const name = pod.spec?.hostname || (pod.metadata?.name ?? "");
  return name.length <= DNS_LABEL_MAX ? name : name.slice(0, DNS_LABEL_MAX).replace(/[-.]+$/, "");
}

/** The identity of a pod: its hostname (else its name) and its subdomain. */
export function identityOf(
  pod: {
    metadata?: { name?: string; namespace?: string };
    spec?: { hostname?: string; subdomain?: string };
  },
): PodIdentity {
  return {
    namespace: pod.metadata?.namespace ?? "",
    hostname: pod.spec?.hostname || (pod.metadata?.name ?? ""),
    subdomain: pod.spec?.subdomain ?? "",
  };
}
