/** Names in the serving certificate (docs/decisions/0033). Pure. */

/** Addresses at which clients reach the manager. */
export interface ServingAddress {
  /** The Service's name. */
  readonly service: string;
  readonly namespace: string;
  /** Base URLs given by flag, by whose host clients come. */
  readonly baseUrls?: readonly string[];
}

/** The host of a URL as a certificate names it: an IPv6 address without its brackets. */
function hostOf(url: string): string {
  return new URL(url).hostname.replace(/^\[(.*)\]$/, "$1");
}

/** The DNS names and IP addresses, each once. Throws `TypeError` where a base URL is not one. */
export function servingNames({ service, namespace, baseUrls = [] }: ServingAddress): string[] {
  const inCluster = [
    service,
    `${service}.${namespace}`,
    `${service}.${namespace}.svc`,
    `${service}.${namespace}.svc.cluster.local`,
  ];
  return [...new Set([...inCluster, ...baseUrls.map(hostOf)])];
}
