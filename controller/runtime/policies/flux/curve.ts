/** CURVE certificate of ZeroMQ, by which the brokers of a Flux instance trust each other. */

/** Alphabet of Z85 (ZeroMQ RFC 32). */
const Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#";

/** Returns the text of bytes in Z85: five characters for every four bytes. Throws for another number of bytes. */
export function encodeZ85(bytes: Uint8Array): string {
  if (bytes.length % 4 !== 0) {
    throw new RangeError(`Z85 encodes a multiple of 4 bytes, not ${bytes.length}`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let text = "";
  for (let at = 0; at < bytes.length; at += 4) {
    const value = view.getUint32(at);
    for (let power = Z85.length ** 4; power >= 1; power /= Z85.length) {
      text += Z85[Math.floor(value / power) % Z85.length];
    }
  }
  return text;
}

/** Returns a new pair of CURVE25519 keys, each of 32 bytes, from the system's randomness. */
export async function generateCurveKeys() {
  const pair = await crypto.subtle.generateKey({ name: "X25519" }, true, ["deriveBits"]);
  if (!("privateKey" in pair)) throw new TypeError("X25519 yields a pair of keys");
  const { d = "", x = "" } = await crypto.subtle.exportKey("jwk", pair.privateKey);
  const base64Url = { alphabet: "base64url" } as const;
  return {
    publicKey: Uint8Array.fromBase64(x, base64Url),
    secretKey: Uint8Array.fromBase64(d, base64Url),
  };
}

type CurveKeys = Awaited<ReturnType<typeof generateCurveKeys>>;

/** Returns the certificate in the format of `flux keygen`. */
export function curveCertificate(name: string, { publicKey, secretKey }: CurveKeys): string {
  return [
    "#  ZeroMQ CURVE Secret Certificate",
    "",
    "metadata",
    `    name = "${name}"`,
    "curve",
    `    public-key = "${encodeZ85(publicKey)}"`,
    `    secret-key = "${encodeZ85(secretKey)}"`,
    "",
  ].join("\n");
}
