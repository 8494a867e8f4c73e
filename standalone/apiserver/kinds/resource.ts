/** Kind in one version, as the server serves it: names, scope, subresources, columns. */

/** How a scale subresource reads a kind: JSON paths such as `.spec.replicas`. */
export interface ScalePaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

/** A column of `kubectl get`. Priority over 0 shows with `-o wide` only. */
export interface Column {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

/** One kind in one version, as the server serves it. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** Plural, as in paths. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Writes of the main resource leave `status` alone; `/status` writes nothing else. */
  readonly status: boolean;
  readonly scale?: ScalePaths;
  /** Other subresources: `log`, `binding`, … */
  readonly subresources: readonly string[];
  /** `metadata.generation` counts changes of what is wanted. */
  readonly generation: boolean;
  /** Only POST, answered at once, nothing stored: `tokenreviews`. */
  readonly review: boolean;
  readonly custom: boolean;
  /** Version in which a custom kind is stored. */
  readonly storageVersion: string;
  /** Columns of a custom kind; built-in kinds have theirs in `printers.ts`. */
  readonly columns?: readonly Column[];
  /** Fields of a custom kind by which it may be selected, such as `spec.colour`. */
  readonly selectableFields?: readonly string[];
  /** OpenAPI schema of a custom kind's version. */
  readonly openApi?: unknown;
}

/** Verbs of a kind that is stored. */
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

/** `v1`, or `batch/v1`. */
export function apiVersionOf({ group, version }: { group: string; version: string }): string {
  return group === "" ? version : `${group}/${version}`;
}
