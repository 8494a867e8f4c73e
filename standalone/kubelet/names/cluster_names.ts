/** Table of the names of a namespace's pods and Services, with their addresses. Pure. */
import type { Pod, Service } from "../../../platform/kube/kubernetes.ts";
import { hasLabels } from "../../../crds/label_selector.ts";
import { isActive, isReady } from "../../jobs/pods.ts";
import { type AddressBook, identityOf } from "./addresses.ts";
import type { NamespaceNames } from "./hosts_file.ts";
import type { NameTable } from "./name_replacement.ts";

/** The pod that stands for a Service: ready ones first, then by name. */
function backendOf(service: Service, pods: readonly Pod[]): Pod | undefined {
  const selector = service.spec?.selector;
  if (!selector || Object.keys(selector).length === 0) return undefined;
  const nameOf = (pod: Pod) => pod.metadata?.name ?? "";
  return pods.filter((pod) => isActive(pod) && hasLabels(pod.metadata?.labels ?? {}, selector))
    .sort((a, b) => Number(isReady(b)) - Number(isReady(a)) || (nameOf(a) < nameOf(b) ? -1 : 1))[0];
}

/**
 * The names of one namespace. A Service stands for the first of its pods (nothing balances load
 * here); one without a pod stays unresolved until a container starts after its pod came.
 */
export function nameTable(
  namespace: string,
  pods: readonly Pod[],
  services: readonly Service[],
  book: AddressBook,
): NameTable {
  const headless = services.filter(({ spec }) => spec?.clusterIP === "None");
  const subdomains = new Set([
    ...headless.map(({ metadata }) => metadata?.name ?? ""),
    ...pods.map(({ spec }) => spec?.subdomain ?? ""),
  ]);
  subdomains.delete("");
  const byService = new Map<string, string>();
  for (const service of services) {
    const backend = backendOf(service, pods);
    const name = service.metadata?.name;
    if (backend && name) byService.set(name, book.addressOf(identityOf(backend)).loopback);
  }
  const addresses = pods.map((pod) => book.addressOf(identityOf(pod)));
  return {
    namespace,
    subdomains,
    podAddress: (hostname, subdomain) =>
      book.addressOf({ namespace, hostname, subdomain }).loopback,
    services: byService,
    podIPs: new Map(addresses.map(({ podIP, loopback }) => [podIP, loopback])),
  };
}

/** The names of all namespaces for hosts files, of pods that are expected too. */
export function namesByNamespace(
  services: readonly Service[],
  book: AddressBook,
  tableOf: (namespace: string) => NameTable,
): NamespaceNames[] {
  const byNamespace = Map.groupBy(book.identities(), ({ namespace }) => namespace);
  const namespaces = new Set([
    ...byNamespace.keys(),
    ...services.map(({ metadata }) => metadata?.namespace ?? ""),
  ]);
  return [...namespaces].map((namespace) => ({
    namespace,
    pods: (byNamespace.get(namespace) ?? []).map((identity) => ({
      ...identity,
      loopback: book.addressOf(identity).loopback,
    })),
    services: tableOf(namespace).services,
  }));
}
