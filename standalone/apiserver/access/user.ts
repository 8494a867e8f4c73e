/** User and attributes of a request, as authorization sees them. */

/** Sender of a request. */
export interface User {
  readonly name: string;
  readonly uid?: string;
  readonly groups: string[];
  readonly extra?: Record<string, string[]>;
}

/** Action that a request asks for. */
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
