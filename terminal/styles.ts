/** Styles of text on a terminal: colours where they are wanted, and never as the only sign. Pure. */
import type { ShownState } from "../crds/names.ts";
import type { CharacterSet } from "./plots.ts";

const CODES = {
  bold: 1,
  dim: 2,
  inverse: 7,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
} as const;
/** A style. */
export type Style = keyof typeof CODES;

/** How a terminal is drawn on. */
export interface Look {
  readonly characters: CharacterSet;
  readonly colours: boolean;
}

/** Returns a text in a style. */
export function styled(
  { colours }: Pick<Look, "colours">,
  style: Style | undefined,
  text: string,
): string {
  return colours && style !== undefined && text !== ""
    ? `\x1b[${CODES[style]}m${text}\x1b[0m`
    : text;
}

/** Returns what stands where a text was cut. */
export const ellipsisOf = ({ characters }: Pick<Look, "characters">): string =>
  characters === "ascii" ? "..." : "…";

const OF_STATE: Readonly<Partial<Record<ShownState, Style>>> = {
  Running: "green",
  Complete: "blue",
  Failed: "red",
  Suspended: "yellow",
  EarlyStopped: "magenta",
};

/** Returns the style of a state. */
export const styleOfState = (state: ShownState): Style | undefined => OF_STATE[state];
