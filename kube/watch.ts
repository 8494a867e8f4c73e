/** Decodes the stream of a watch: one JSON object a line. */
import type { KubeError } from "./errors.ts";

/** What a watch tells. */
export type WatchEvent<T> =
  | { readonly type: "added" | "updated" | "deleted"; readonly object: T }
  | { readonly type: "bookmark"; readonly resourceVersion: string }
  /** An object that could not be read. `deleted` tells whether it is gone. */
  | {
    readonly type: "problem";
    readonly key: string;
    readonly resourceVersion?: string;
    readonly problem: string;
    readonly deleted: boolean;
  }
  /** The server gave up: the watch ends here. */
  | { readonly type: "error"; readonly error: KubeError };
