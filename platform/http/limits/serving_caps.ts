/** Caps of connections and bodies by the memory that the process may have. */

/** Caps of the status and the webhook port, named as the settings that are their upper bounds. */
export interface ServingCaps {
  /** Connections of the status port. */
  readonly maxConnections: number;
  readonly maxConnectionsPerPeer: number;
  /** Connections of a port that have not sent a whole header yet. */
  readonly maxSilentConnections: number;
  readonly maxWebhookConnections: number;
  readonly maxWebhookConnectionsPerPeer: number;
  /** Bytes of bodies on both ports; the buffers that connections keep have three quarters as many. */
  readonly maxBodyBytes: number;
}

const KI = 1 << 10;
const MI = 1 << 20;

/**
 * Bytes of the limit for each unit of a cap, and the least that a cap may be. A connection takes some
 * 36 kB, so that with 512 MiB all places of both ports are less than half of it, and as much is left
 * for the process with ten thousand jobs (docs/decisions/0019-memory.md).
 */
const SHARES = {
  maxConnections: { bytes: 100 * KI, least: 256 },
  maxSilentConnections: { bytes: 512 * KI, least: 128 },
  maxWebhookConnections: { bytes: 512 * KI, least: 256 },
  // A review of 3 MiB must fit into the half that one peer may have.
  maxBodyBytes: { bytes: 16, least: 8 * MI },
} as const;

/** Returns the caps that follow from a memory limit; each is at most that of `upper`. */
export function capsWithin(memoryBytes: number, upper: ServingCaps): ServingCaps {
  const within = (cap: keyof typeof SHARES) => {
    const { bytes, least } = SHARES[cap];
    return Math.min(upper[cap], Math.max(least, Math.floor(memoryBytes / bytes)));
  };
  const halfOf = (all: number, most: number) => Math.max(1, Math.min(most, Math.floor(all / 2)));
  const maxConnections = within("maxConnections");
  const maxWebhookConnections = within("maxWebhookConnections");
  return {
    maxConnections,
    maxConnectionsPerPeer: halfOf(maxConnections, upper.maxConnectionsPerPeer),
    maxSilentConnections: within("maxSilentConnections"),
    maxWebhookConnections,
    maxWebhookConnectionsPerPeer: halfOf(
      maxWebhookConnections,
      upper.maxWebhookConnectionsPerPeer,
    ),
    maxBodyBytes: within("maxBodyBytes"),
  };
}
