/** Who sends a request, and what the request asks to do. */

/** Who sends a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: string[];
  readonly extra?: Record<string, string[]>;
}

/** What somebody wants to do. */
export type Attributes =
  | {
    readonly verb: string;
    readonly group: string;
    readonly version: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  }
  | { readonly verb: string; readonly path: string };
