/** The page after the demo: at a terminal it stays until its reader has seen enough. */
import { untilEnter } from "../ui/enter_key.ts";
import type { Display } from "./display.ts";

/** How the demo is shown. */
interface Shown {
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/** Waits for Enter or the end of the demo if there is a page, and somebody at a terminal. */
export async function keepPage(
  page: object | undefined,
  display: Pick<Display, "note">,
  { json, signal }: Shown,
): Promise<void> {
  if (page === undefined || json) return;
  await untilEnter(signal, () => display.note("The page is there until you press Enter."));
}
