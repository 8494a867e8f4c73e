/** SSH key pair of an MPI job, by which its launcher reaches its nodes. */
import { Buffer } from "node:buffer";
import { generateKeyPair, type KeyObject } from "node:crypto";
import { promisify } from "node:util";

/** Name of the curve in OpenSSH, whose keys are ECDSA over NIST P-521. */
const CURVE = "nistp521";
const KEY_TYPE = `ecdsa-sha2-${CURVE}`;
/** Bytes of a point that is given by both coordinates, each in its full length (SEC 1, section 2.3.3). */
const POINT_BYTES = 133;

/** A string of the SSH protocol: its length in four bytes, then its bytes (RFC 4251, section 5). */
function sshString(text: string | Uint8Array): Uint8Array {
  const bytes = Buffer.from(text);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Returns the line of `authorized_keys` for a public key of the curve (RFC 5656, section 3.1). */
export function authorizedKey(key: KeyObject): string {
  // The point is what a public key ends with (RFC 5480).
  const point = key.export({ type: "spki", format: "der" }).subarray(-POINT_BYTES);
  const blob = Buffer.concat([KEY_TYPE, CURVE, point].map(sshString));
  return `${KEY_TYPE} ${blob.toBase64()}\n`;
}

/** Returns a new pair of keys, from the system's randomness: PEM of type `EC PRIVATE KEY` (SEC 1), and a line of `authorized_keys`. */
export async function generateSshKeys() {
  const pair = await promisify(generateKeyPair)("ec", { namedCurve: "P-521" });
  return {
    privateKey: pair.privateKey.export({ type: "sec1", format: "pem" }).toString(),
    publicKey: authorizedKey(pair.publicKey),
  };
}
