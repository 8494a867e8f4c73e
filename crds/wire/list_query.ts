/** Query of the list of jobs: filters, order and window. Pure. */
import { z } from "zod";
import { LISTED_STATES, SORT_KEYS } from "./row.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";
import { strictQuery } from "../../platform/http/strict_query.ts";

/** Bounds of a query. */
export const LIST_LIMITS = {
  /** Rows of a window. */
  rows: 200,
  /** The same if the query does not say. */
  defaultRows: 50,
  namespaces: 20,
  textLength: 128,
} as const;

const listOf = <T extends z.ZodType>(of: T) => z.array(of).max(LIST_LIMITS.namespaces).default([]);
const whole = (bounds: z.ZodNumber) =>
  z.string().regex(/^\d{1,9}$/, "must be a whole number").transform(Number).pipe(bounds);

/** The parameters; those that are lists may be repeated. */
const listQuerySchema = z.strictObject({
  namespace: listOf(z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, "must be a namespace"))
    .meta({ description: "Namespaces to list. Absent: all of them, for who may list them." }),
  kind: listOf(z.string().min(1).max(253)).meta({
    description:
      "Kinds as `<plural>.<group>`, such as trainjobs.trainer.kubeflow.org. Absent: all.",
  }),
  state: listOf(z.enum(LISTED_STATES)).meta({
    description: "States, and `Stalled` for jobs that run and make no progress. Absent: all.",
  }),
  experiment: z.string().min(1).max(253).optional().meta({
    description: "The Experiment whose jobs are listed.",
  }),
  text: z.string().max(LIST_LIMITS.textLength).optional().meta({
    description: "Text in `namespace/name`, in any case.",
  }),
  sort: z.enum(SORT_KEYS).default("created").meta({ description: "Column." }),
  sortMetric: z.string().min(1).max(64).optional().meta({
    description: "The metric whose newest value orders the rows, with sort=metric.",
  }),
  order: z.enum(["ascending", "descending"]).optional().meta({
    description:
      "Default: newest and most progress first, texts from A to Z, metrics from the least.",
  }),
  configuration: z.literal("true").optional().meta({
    description: "Whether rows have what their jobs were started with.",
  }),
  offset: whole(z.number().max(1_000_000)).default(0).meta({
    description: "Rows before the window.",
  }),
  limit: whole(z.number().min(1).max(LIST_LIMITS.rows)).default(LIST_LIMITS.defaultRows).meta({
    description: "Rows of the window.",
  }),
});
/** A query. */
export type ListQuery = Readonly<z.infer<typeof listQuerySchema>>;

/** Reads parameters, each of which may be given once unless it is a list. */
export function listQuery(
  given: URLSearchParams,
): { readonly query: ListQuery } | { readonly causes: readonly FailureCause[] } {
  const read = strictQuery(given, listQuerySchema);
  if ("query" in read && read.query.sort === "metric" && read.query.sortMetric === undefined) {
    return { causes: [{ field: "sortMetric", message: "must name the metric to sort by" }] };
  }
  return read;
}
