/** Estimate of the buffers that the runtime keeps with a connection. */

/** Longest read of the runtime, in bytes. */
export const READ_BYTES = 65_536;

/**
 * Returns the bytes that a connection over which `bytes` came holds until it is closed: the runtime's
 * buffers for TLS grow to about twice the longest read and do not shrink
 * (docs/decisions/0019-memory.md).
 */
export function bufferedBytes(bytes: number): number {
  return 2 * Math.min(bytes, READ_BYTES);
}

/** Bytes of a request with which the buffers do not count: most pushes are shorter. */
export const SHORT_BYTES = 8_192;
