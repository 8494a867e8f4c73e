/** The cluster as the commands of the terminal see it: jobs, curves and changes, with the rights of one user. */
import type { JobKinds } from "../crds/job_kinds.ts";
import type { SearchList, ShownSearch } from "../crds/wire/searches.ts";
import type { KubeClient } from "../platform/kube/client.ts";
import type { Kind, ObjectKey } from "../platform/kube/resource.ts";
import type { ReadKeptPods } from "../views/details/kept_pods.ts";
import type { JobList } from "../views/list/job_list.ts";
import type { FollowedCurves, ManagerClient } from "../views/followed_curves.ts";

/** Names of a kind, by one of which it is typed. */
export type KindNames = Pick<Kind<unknown>, "kind" | "plural" | "group">;

/** Searches as the user may read them. */
export interface Searches {
  readonly kinds: readonly KindNames[];
  /** Lists those of the cluster's namespaces. */
  list(signal: AbortSignal): Promise<SearchList>;
  /** Reads one; undefined if there is none of that name. */
  read(kind: KindNames, key: ObjectKey, signal: AbortSignal): Promise<ShownSearch | undefined>;
}

/** The cluster. */
export interface TerminalCluster extends FollowedCurves {
  /** The API server, as the user. */
  readonly client: KubeClient;
  readonly kinds: JobKinds;
  readonly searches: Searches;
  /** Reads pods that are gone and whose logs are kept. Default: none are. */
  readonly keptPods?: ReadKeptPods;
  /** Of all jobs that the user may list. */
  readonly list: JobList;
  /** The namespaces that are read; empty: all. */
  readonly namespaces: readonly string[];
  /** Returns the manager as the user reaches it; undefined if it is out of reach now, or does not take the user's token. */
  manager(): ManagerClient | undefined;
  /** Returns why it is not reached, as sentences. */
  missingOfManager(): readonly string[];
  /** Resolves when the manager was searched for once. */
  readonly managerSearched: Promise<void>;
  /** Whether the first lists are there. */
  isThere(): boolean;
  /** Returns what is not shown, and why, as sentences. */
  missing(): readonly string[];
}

/** All that a cache of one user holds may be seen by that user. */
export const EVERYTHING = { key: "everything", allows: () => true } as const;
