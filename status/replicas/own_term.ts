/** Fencing of forwarded calls by the term of the lease (docs/decisions/0014). */
import type { ForwardAnswer } from "./forwarding.ts";

/** What the listener needs of leadership. */
export interface OwnTerm {
  /** Whether this replica owns the state, renewed within the renew deadline. */
  readonly leading: boolean;
  /** How often the lease changed hands, as last seen. */
  readonly transitions: number;
}

/** The answer of a replica that owns nothing. */
export const NOT_OWNER: ForwardAnswer = { refusal: "not_owner" };

/** Returns why a call for the owner of that term is refused in this one; undefined if it is not. */
export function termRefusal(own: OwnTerm, transitions: number): ForwardAnswer | undefined {
  if (transitions < own.transitions) return { refusal: "older_transition" };
  // A caller that names a newer term than ours knows that we are no longer the owner.
  return own.leading && transitions === own.transitions ? undefined : NOT_OWNER;
}
