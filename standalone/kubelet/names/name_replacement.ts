/** Replacement of the names of pods and Services in texts by their addresses. Pure. */

/** Addresses by name, for the containers of one namespace. */
export interface NameTable {
  readonly namespace: string;
  /** Subdomains under which pods are named: headless Services, and subdomains of pods. */
  readonly subdomains: ReadonlySet<string>;
  /** Address of the pod `<hostname>.<subdomain>`, whether it is there yet or not. */
  readonly podAddress: (hostname: string, subdomain: string) => string;
  /** Addresses of Services by their name; a Service without a pod is not in it. */
  readonly services: ReadonlyMap<string, string>;
  /** Loopback addresses by the podIP that the API reports. */
  readonly podIPs: ReadonlyMap<string, string>;
}

/** A run of characters that may be a host name or an address. */
const HOST = /[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?/g;
/** Suffixes that may follow the name of a Service or pod with its namespace, the longest first. */
export const SUFFIXES = [".svc.cluster.local", ".svc", ""];

/** Cuts `.<namespace>[.svc[.cluster.local]]` off; undefined if the name has no such end. */
function withoutNamespace(name: string, namespace: string): string | undefined {
  for (const suffix of SUFFIXES) {
    const end = `.${namespace}${suffix}`;
    if (name.endsWith(end)) return name.slice(0, -end.length);
  }
  return undefined;
}

/** The address of `<hostname>.<subdomain>`, if the name is of that form. */
function podAddress(name: string, table: NameTable): string | undefined {
  const [hostname, subdomain, ...rest] = name.split(".");
  if (!hostname || !subdomain || rest.length > 0) return undefined;
  return table.subdomains.has(subdomain) ? table.podAddress(hostname, subdomain) : undefined;
}

/** Whether a bare word at this position is a host: after `://` or `@`, or before a port. */
function standsForHost(before: string, after: string): boolean {
  return before.endsWith("://") || /^:\d/.test(after);
}

/** Whether the word is part of a path, an option's name or a longer word. */
function isInside(before: string, after: string): boolean {
  return /[\w.-]$/.test(before) || /(^|[^/:])\/$/.test(before) || /^[\w]/.test(after);
}

/** The address that a word stands for; undefined if it is no name of ours. */
function resolve(
  word: string,
  table: NameTable,
  before: string,
  after: string,
): string | undefined {
  const name = word.toLowerCase();
  const ip = table.podIPs.get(name);
  if (ip !== undefined) return ip;
  const qualified = withoutNamespace(name, table.namespace);
  if (qualified !== undefined) {
    return podAddress(qualified, table) ?? table.services.get(qualified);
  }
  const pod = podAddress(name, table);
  if (pod !== undefined) return pod;
  return standsForHost(before, after) ? table.services.get(name) : undefined;
}

/**
 * The text with each name of a pod (`<hostname>.<subdomain>[.<ns>[.svc[.cluster.local]]]`), of a
 * Service (`<name>.<ns>[.svc[…]]`) and each podIP of the same namespace replaced by its address.
 * A Service's bare name is replaced only in the position of a host (`://name`, `name:1234`), since
 * a job is often called like its Service. Words inside paths stay.
 */
export function replaceNames(text: string, table: NameTable): string {
  return text.replace(HOST, (word, at: number) => {
    const before = text.slice(Math.max(0, at - 3), at);
    const after = text.slice(at + word.length, at + word.length + 2);
    if (isInside(before, after)) return word;
    return resolve(word, table, before, after) ?? word;
  });
}
