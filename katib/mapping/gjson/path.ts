/** A GJSON path, parsed. */

/** A path that was read without a mistake; what is in it is this folder's business. */
export interface GjsonPath {
  readonly text: string;
}
