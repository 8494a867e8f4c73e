/** Kind in one version, as the server serves it: names, scope, subresources, columns. */

import { z } from "zod";

/** Schema of the fields that a scale subresource reads and writes, as JSON paths such as `.spec.replicas`. */
export const scalePaths = z.looseObject({
  specReplicasPath: z.string(),
  statusReplicasPath: z.string(),
  labelSelectorPath: z.string().optional(),
});

/** Schema of a column of `kubectl get`. A priority above 0 shows with `-o wide` only. */
export const column = z.object({
  name: z.string(),
  type: z.string(),
  format: z.string().optional(),
  description: z.string().optional(),
  priority: z.number().optional(),
  jsonPath: z.string(),
}).readonly();
/** A column of `kubectl get`. */
export type Column = z.infer<typeof column>;

/** One kind in one version, as the server serves it. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** Plural name, as in paths. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** The kind has a status subresource: writes of the main resource do not change `status`. */
  readonly status: boolean;
  readonly scale?: z.infer<typeof scalePaths>;
  /** Other subresources: `log`, `binding`, … */
  readonly subresources: readonly string[];
  /** `metadata.generation` counts changes of the desired state. */
  readonly generation: boolean;
  /** A review such as `tokenreviews`: it can only be created, and is not stored. */
  readonly review: boolean;
  readonly custom: boolean;
  /** Version in which a custom kind is stored. */
  readonly storageVersion: string;
  /** Columns of a custom kind; those of built-in kinds are in `presentation/printer_columns.ts`. */
  readonly columns?: readonly Column[];
  /** Fields of a custom kind that field selectors may use, such as `spec.colour`. */
  readonly selectableFields?: readonly string[];
  /** OpenAPI schema of a custom kind's version. */
  readonly openApi?: unknown;
}

/** Verbs of stored kinds. */
export const STORED_VERBS = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
] as const;

/** Returns the `apiVersion`, such as `v1` or `batch/v1`. */
export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}
