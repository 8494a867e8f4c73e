/** Configuration of a job as it is answered. Names and texts are what others wrote: hostile. */

/** A setting, such as a variable. */
export type Setting = readonly [name: string, text: string];

/** What the pods of one role run. */
export interface Configuration {
  /** Empty where all pods of a job have one. */
  readonly role: string;
  readonly facts: readonly Setting[];
}
