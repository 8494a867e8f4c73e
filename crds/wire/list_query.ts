/** Query of the list of jobs: filters, order and window. Pure. */
import { z } from "zod";
import { TRAINJOB_STATES } from "../names.ts";
import { SORT_KEYS } from "./row.ts";
import type { FailureCause } from "../../platform/http/refusals.ts";

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
  state: listOf(z.enum(TRAINJOB_STATES)).meta({ description: "States. Absent: all." }),
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
  offset: whole(z.number().max(1_000_000)).default(0).meta({
    description: "Rows before the window.",
  }),
  limit: whole(z.number().min(1).max(LIST_LIMITS.rows)).default(LIST_LIMITS.defaultRows).meta({
    description: "Rows of the window.",
  }),
});
/** A query. */
export type ListQuery = Readonly<z.infer<typeof listQuerySchema>>;

const isList = (name: string) => name === "namespace" || name === "kind" || name === "state";

/** Most problems that one response names. */
const MAX_CAUSES = 20;
/** Characters of an unknown name that a problem repeats. */
const MAX_NAME = 64;

/** Reads parameters, each of which may be given once unless it is a list. */
export function listQuery(
  given: URLSearchParams,
): { readonly query: ListQuery } | { readonly causes: readonly FailureCause[] } {
  const twice = [...new Set(given.keys())].filter((name) =>
    !isList(name) && given.getAll(name).length > 1
  );
  const values = Object.fromEntries(
    [...new Set(given.keys())].map((name) => [
      name,
      isList(name) ? given.getAll(name) : given.get(name),
    ]),
  );
  const parsed = listQuerySchema.safeParse(values);
  const issues = parsed.error?.issues ?? [];
  const causes = [
    ...twice.map((name) => ({ field: name.slice(0, MAX_NAME), message: "must be given once" })),
    ...issues.flatMap((issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => ({
          field: key.slice(0, MAX_NAME),
          message: `is an unknown parameter; known: ${
            Object.keys(listQuerySchema.shape).join(", ")
          }`,
        }))
        : [{ field: String(issue.path[0] ?? ""), message: issue.message }]
    ),
  ];
  if (causes.length > 0 || !parsed.success) return { causes: causes.slice(0, MAX_CAUSES) };
  if (parsed.data.sort === "metric" && parsed.data.sortMetric === undefined) {
    return { causes: [{ field: "sortMetric", message: "must name the metric to sort by" }] };
  }
  return { query: parsed.data };
}
