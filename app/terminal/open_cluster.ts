/** Opening of the cluster for a command of the terminal, and its end with the command. */
import type { z } from "zod";
import { MANAGER } from "../../crds/names.ts";
import { createKeptPods } from "../../views/details/kept_pods.ts";
import { createJobList } from "../../views/list/job_list.ts";
import { listSearches, SEARCH_KINDS } from "../../page/trials/search_kinds.ts";
import type { SearchReader } from "../../page/trials/search.ts";
import { shownSearch } from "../../page/trials/shown_search.ts";
import { boundedReads } from "../../views/details/bounded_reads.ts";
import { connectAsReader } from "../reader_connection.ts";
import type { topSettings } from "../configuration/terminal_settings.ts";
import { openUserCluster, type UserClusterOptions } from "../../page/user_cluster/user_cluster.ts";
import type { TerminalCluster } from "../../terminal/terminal_cluster.ts";

type TopSettings = z.infer<typeof topSettings>;

/** Where it is, as far as a command has settings for it. */
export type OpenedAs =
  & Pick<TopSettings, "kubeconfig" | "context" | "namespace">
  & Partial<Pick<TopSettings, "allNamespaces" | "managerNamespace" | "managerService">>;

/** The cluster, until it is disposed of. */
export interface OpenedCluster extends TerminalCluster, AsyncDisposable {}

/** Opens it. Throws an error that says what is wrong, or when `signal` aborts, and leaves nothing running. */
export async function openCluster(
  given: OpenedAs,
  signal: AbortSignal,
  without: UserClusterOptions["without"] = [],
): Promise<OpenedCluster> {
  const { namespace, allNamespaces = false } = given;
  const { managerNamespace = MANAGER.namespace, managerService = MANAGER.name } = given;
  const connection = await connectAsReader(given);
  const cluster = await openUserCluster(
    { managerNamespace, managerService, namespaces: namespace, noOthers: !allNamespaces, without },
    { connection, signal },
  );
  const { client, kinds, jobs, manager, mirror, missing } = cluster;
  const list = createJobList({
    jobs: new Map([...jobs.caches].map(([kind, cache]) => [kind, { jobs: cache }])),
  });
  const readerOf = (signal: AbortSignal): SearchReader => ({
    ...boundedReads(client, signal),
    kinds,
    viewer: "the user",
    manager: manager.client(),
  });
  return {
    client,
    kinds,
    searches: {
      kinds: SEARCH_KINDS.map(({ kind }) => kind),
      list: (signal) => listSearches(readerOf(signal), allNamespaces ? [] : cluster.namespaces),
      async read(kind, { namespace = "", name }, signal) {
        const found = await SEARCH_KINDS.find((it) => it.kind === kind)
          ?.read(readerOf(signal), { namespace, name });
        return found && shownSearch(found);
      },
    },
    keptPods: createKeptPods(),
    list,
    ask: mirror.ask,
    follow: mirror.follow,
    namespaces: allNamespaces ? [] : cluster.namespaces,
    manager: manager.client,
    missingOfManager: manager.missing,
    managerSearched: manager.polled,
    isThere: () => [...jobs.caches.values()].every(({ synced, resting }) => synced || resting),
    missing,
    async [Symbol.asyncDispose]() {
      list.close();
      await cluster.close();
    },
  };
}
