/** Fencing of forwarded calls by the term of the lease (docs/decisions/0014). */

/** The owner of all state, as the Lease names it. */
export interface ForwardTarget {
  /** `<ip>:<port>`. */
  readonly address: string;
  /** How often the lease changed hands when this owner took it. */
  readonly transitions: number;
}

/** Leadership of this replica. */
export interface OwnTerm {
  /** Whether this replica owns the state, renewed within the renew deadline. */
  readonly leading: boolean;
  /** How often the lease changed hands, as last seen. */
  readonly transitions: number;
}

/** Answer of a replica that is not the owner of the term that a call is for. */
export interface TermRefusal {
  readonly refusal: "not_owner" | "older_transition";
}

/** The answer of a replica that owns nothing. */
export const NOT_OWNER: TermRefusal = { refusal: "not_owner" };

/** Returns why a call for the owner of that term is refused in this one; undefined if it is not. */
export function termRefusal(own: OwnTerm, transitions: number): TermRefusal | undefined {
  if (transitions < own.transitions) return { refusal: "older_transition" };
  // A caller that names a newer term than ours knows that we are no longer the owner.
  return own.leading && transitions === own.transitions ? undefined : NOT_OWNER;
}
