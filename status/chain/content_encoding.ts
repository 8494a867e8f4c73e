/** Content encodings of bodies: gzip, bounded before and after it is unpacked. */
import { gunzipSync } from "node:zlib";

/** Content encoding of a body. */
export type Packing = "none" | "gzip" | "unknown";

/** Reads Content-Encoding. Several encodings on top of each other are unknown ones. */
export function packingOf(contentEncoding: string | undefined): Packing {
  if (contentEncoding === undefined) return "none";
  const name = contentEncoding.trim().toLowerCase();
  if (name === "" || name === "identity") return "none";
  return name === "gzip" || name === "x-gzip" ? "gzip" : "unknown";
}

/**
 * Unpacks gzip, several members too (RFC 1952, 2.2). At most `maxBytes` come out: more is `too_long`,
 * and is not unpacked. `broken`: not gzip, cut short, a wrong checksum, or something after its end.
 */
export function unpack(bytes: Uint8Array, maxBytes: number): Uint8Array | "too_long" | "broken" {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    const isTooLong = error instanceof RangeError && "code" in error &&
      error.code === "ERR_BUFFER_TOO_LARGE";
    return isTooLong ? "too_long" : "broken";
  }
}
