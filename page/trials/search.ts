/** A search for good parameters: what is found of it, with what it is read, and bounds. */
import type { JobKinds } from "../../crds/job_kinds.ts";
import type { BoundedReads } from "../../views/details/bounded_reads.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { textAt } from "../../platform/base/json.ts";
import type { Kind } from "../../platform/kube/resource.ts";
import { KATIB } from "../../crds/katib_names.ts";
import type {
  Direction,
  Objective,
  Parameter,
  SearchFacts,
  SearchList,
  Strategy,
  TrialFacts,
  TrialState,
} from "../../crds/wire/searches.ts";
import { copiedText } from "../../owner/curves/bounded_text.ts";

/** What may be better of an objective. */
export const DIRECTIONS = ["minimize", "maximize"] as const satisfies readonly Direction[];

/** A metric of a trial, as texts. */
export interface TrialMetric {
  readonly name: string;
  readonly min?: string;
  readonly max?: string;
  readonly latest?: string;
}

/** A trial as it was found. */
export interface FoundTrial extends TrialFacts {
  readonly assignments: readonly { readonly name: string; readonly value: string }[];
  readonly metrics: readonly TrialMetric[];
}

/** A search as it was found. */
export interface FoundSearch extends SearchFacts {
  readonly objective?: Objective;
  /** Which value of a metric counts; of others what the objective's direction means. */
  readonly strategies: ReadonlyMap<string, Strategy>;
  /** Ends after which the value of a trial counts. Default: all but failures. */
  readonly counting?: readonly TrialState[];
  readonly parameters: readonly Parameter[];
  readonly trials: readonly FoundTrial[];
}

/** What searches are read with, as the viewer. */
export interface SearchReader extends BoundedReads {
  readonly kinds: JobKinds;
  /** Tells viewers apart: what one may read is remembered for no other. */
  readonly viewer: string;
  /** The manager as the viewer reaches it, for the values of jobs that no Trial controls; of these else the newest count. */
  readonly manager?: ManagerClient | undefined;
}

/** A kind of searches. */
export interface SearchKind {
  /** In addresses. */
  readonly id: string;
  readonly kind: Pick<Kind<unknown>, "kind" | "plural" | "group">;
  /** Lists those of namespaces; without any, of all of them. */
  readonly list: (reader: SearchReader, namespaces: readonly string[]) => Promise<SearchList>;
  /** Reads one; undefined if there is none of that name. Throws if nothing of it may be read. */
  readonly read: (
    reader: SearchReader,
    key: { readonly namespace: string; readonly name: string },
  ) => Promise<FoundSearch | undefined>;
}

/** Bounds of what is read and shown. */
export const SEARCH_LIMITS = {
  trials: 1_000,
  searches: 500,
  /** In a list, without an Experiment: of those the trials are read, to say how they are. */
  summed: 50,
  parameters: 32,
  /** Of a parameter whose values stand beside each other. */
  values: 64,
  metrics: 16,
  rules: 8,
  textLength: 256,
  namespaces: 20,
  /** Characters of an answer; trials beyond it are left out. */
  answerCharacters: 1_000_000,
} as const;

/** The label that names a search. */
export const LABEL = KATIB.experimentLabel;

/** Returns the search that an object's label names; both texts are empty where it names none. */
export const searchNamedBy = (object: unknown) => ({
  namespace: textAt(object, "metadata", "namespace") ?? "",
  name: textAt(object, "metadata", "labels", LABEL) ?? "",
});

/** Returns the text, cut at the bound. */
export const shortText = (text: string): string => copiedText(text, SEARCH_LIMITS.textLength);
