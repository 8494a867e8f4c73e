/** Scope of a reader: the kinds and namespaces of which it may list the jobs, as the API server says. */
import type { JobKind } from "../../crds/job_kind.ts";
import type { Reader } from "../../platform/http/callers/reader_access.ts";
import { type ReaderParts, refusalOfRights } from "../../platform/http/callers/reader_checks.ts";
import type { Refusal } from "../../platform/http/refusals.ts";
import type { Denied } from "../../crds/wire/row.ts";
import type { Scope } from "../../views/list/job_list.ts";
import { LIST_LIMITS } from "../../crds/wire/list_query.ts";

/** What a reader may list, and what not, for people. */
export interface ReaderScope extends Scope {
  /** The kinds that it may not list, with the namespace where it asked for single ones. */
  readonly denied: readonly Denied[];
}

/** A pair of a kind and a namespace; without a namespace all of them. */
interface Place {
  readonly kind: JobKind;
  readonly namespace?: string;
}

const textOf = ({ kind, namespace }: Place) =>
  namespace === undefined ? `${kind.id} in all namespaces` : `${kind.id} in ${namespace}`;

function scopeOf(allowed: readonly Place[], denied: readonly Place[]): ReaderScope {
  const namespacesOf = Map.groupBy(allowed, ({ kind }) => kind.id);
  const places = new Map(
    [...namespacesOf].map(([id, all]) => {
      const isEverywhere = all.some(({ namespace }) => namespace === undefined);
      return [id, isEverywhere ? undefined : new Set(all.map(({ namespace = "" }) => namespace))];
    }),
  );
  return {
    key: allowed.map(textOf).sort().join(),
    denied: denied.map(({ kind, namespace }) => ({
      kind: kind.id,
      ...(namespace !== undefined && { namespace }),
    })),
    allows(kind, namespace) {
      if (!places.has(kind.id)) return false;
      return places.get(kind.id)?.has(namespace) ?? true;
    },
  };
}

/** The first refusal by which nothing is known of the rights; one that denies is no such. */
const unknownRight = (refusals: readonly (Refusal | undefined)[]) =>
  refusals.find((it) => it !== undefined && it.why !== "forbidden");

/** Returns the most reviews that the scope of a reader over so many kinds needs. */
export const mostReviews = (kinds: number): number => 1 + kinds * LIST_LIMITS.namespaces;

/**
 * Asks for rights cluster-wide first; for kinds that the reader may not list there, in each namespace that it
 * names. A namespace is asked about whether or not it has jobs, so that the answer says nothing of that. Who may not
 * list the first kind everywhere is hardly ever allowed another one there: where the namespaces are named it is asked
 * only about those, which comes to the same.
 */
export async function readerScope(
  parts: Pick<ReaderParts, "access">,
  reader: Reader,
  { kinds, namespaces, orAll = false }: {
    readonly kinds: readonly JobKind[];
    readonly namespaces: readonly string[];
    /** Whether all namespaces are meant where the reader may see them, instead of those. */
    readonly orAll?: boolean;
  },
): Promise<ReaderScope | Refusal> {
  const ask = (place: Place) =>
    refusalOfRights(parts, reader, { ...place, text: textOf(place) }, "list");
  const askAll = (kind: JobKind) => ask({ kind });
  const asksAll = orAll || namespaces.length === 0;
  const everywhere = await Promise.all(kinds.slice(0, asksAll ? undefined : 1).map(askAll));
  if (!asksAll && everywhere.length > 0 && everywhere[0] === undefined) {
    everywhere.push(...await Promise.all(kinds.slice(1).map(askAll)));
  }
  const unknown = unknownRight(everywhere);
  if (unknown !== undefined) return unknown;
  const [granted, others] = [true, false].map((isGranted) =>
    kinds.filter((_, at) => (at < everywhere.length && everywhere[at] === undefined) === isGranted)
  );
  // Curves may be of more namespaces; who may not see all sees those of as many as a list can have.
  const places = (others ?? []).flatMap((kind): Place[] =>
    namespaces.slice(0, LIST_LIMITS.namespaces).map((namespace) => ({ kind, namespace }))
  );
  const answers = await Promise.all(places.map(ask));
  const stillUnknown = unknownRight(answers);
  if (stillUnknown !== undefined) return stillUnknown;
  const allowed = [
    ...(granted ?? []).map((kind) => ({ kind })),
    ...places.filter((_, index) => answers[index] === undefined),
  ];
  const denied = namespaces.length === 0
    ? (others ?? []).map((kind) => ({ kind }))
    : places.filter((_, index) => answers[index] !== undefined);
  if (allowed.length > 0) return scopeOf(allowed, denied);
  return everywhere.find((it) => it !== undefined) ?? scopeOf([], denied);
}
