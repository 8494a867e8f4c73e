/** Whether a forwarded call is for this replica's own term (design, decision 7). */
import type { ForwardAnswer } from "./forwarding.ts";

/** What the listener needs of leadership. */
export interface OwnTerm {
  /** Whether this replica owns the state, renewed within the renew deadline. */
  readonly leading: boolean;
  /** How often the lease changed hands, as last seen. */
  readonly transitions: number;
}

/** Who is asked owns nothing. */
export const NOT_OWNER: ForwardAnswer = { refusal: "not_owner" };

/** Whether the owner of this term takes what was meant for that one (design, decision 7). */
export function termRefusal(own: OwnTerm, transitions: number): ForwardAnswer | undefined {
  if (transitions < own.transitions) return { refusal: "older_transition" };
  // Who names a newer term than ours knows better than we do that we are not the owner.
  return own.leading && transitions === own.transitions ? undefined : NOT_OWNER;
}
