/** SSH key pair of an MPI job, by which its launcher reaches its nodes. */
import { generateKeyPair } from "node:crypto";
import { promisify } from "node:util";

/** Name of the curve in OpenSSH, whose keys are ECDSA over NIST P-521. */
const CURVE = "nistp521";
const KEY_TYPE = `ecdsa-sha2-${CURVE}`;
/** Bytes of a coordinate of the curve. */
const COORDINATE_BYTES = 66;
/** First byte of a point that is given by both coordinates (SEC 1, section 2.3.3). */
const UNCOMPRESSED = 4;

/** Both keys of a pair, as OpenSSH reads them. */
export interface SshKeys {
  /** PEM of type `EC PRIVATE KEY` (SEC 1). */
  readonly privateKey: string;
  /** A line of `authorized_keys`. */
  readonly publicKey: string;
}

/** A string of the SSH protocol: its length in four bytes, then its bytes (RFC 4251, section 5). */
function sshString(bytes: Uint8Array): Uint8Array {
  const result = new Uint8Array(4 + bytes.length);
  new DataView(result.buffer).setUint32(0, bytes.length);
  result.set(bytes, 4);
  return result;
}

function concatenated(parts: readonly Uint8Array[]): Uint8Array {
  const result = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    result.set(part, at);
    at += part.length;
  }
  return result;
}

/** A coordinate in its full length: some keys have leading zeros, which JWK may leave out. */
function coordinate(base64url: string | undefined): Uint8Array {
  const bytes = Uint8Array.fromBase64(base64url ?? "", { alphabet: "base64url" });
  const result = new Uint8Array(COORDINATE_BYTES);
  result.set(bytes, COORDINATE_BYTES - bytes.length);
  return result;
}

/** Returns the line of `authorized_keys` for a public key of the curve, as a JWK (RFC 5656, section 3.1). */
export function authorizedKey({ x, y }: Pick<JsonWebKey, "x" | "y">): string {
  const point = concatenated([Uint8Array.of(UNCOMPRESSED), coordinate(x), coordinate(y)]);
  const text = new TextEncoder();
  const blob = concatenated([
    sshString(text.encode(KEY_TYPE)),
    sshString(text.encode(CURVE)),
    sshString(point),
  ]);
  return `${KEY_TYPE} ${blob.toBase64()}\n`;
}

/** Returns a new pair of keys, from the system's randomness. */
export async function generateSshKeys(): Promise<SshKeys> {
  const pair = await promisify(generateKeyPair)("ec", { namedCurve: "P-521" });
  return {
    privateKey: pair.privateKey.export({ type: "sec1", format: "pem" }).toString(),
    publicKey: authorizedKey(pair.publicKey.export({ format: "jwk" })),
  };
}
