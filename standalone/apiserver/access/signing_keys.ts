/** RSA key that signs service-account tokens. */
import { calculateJwkThumbprint, exportJWK, exportPKCS8, generateKeyPair, importPKCS8 } from "jose";
import { createPublicKey } from "node:crypto";
import type { Settings } from "../storage/database.ts";

/** The one algorithm of service-account tokens. */
export const SIGNING_ALGORITHM = "RS256";
const SETTING = "service-account-signing-key";

/**
 * Returns the server's signing key: read from the settings, or else stored there (PEM, PKCS #8), either
 * `initial` or a generated one. The settings are as secret as the key. Throws if it is not an RSA key.
 */
export async function loadSigningKeys(
  settings: Settings,
  initial?: string,
) {
  let pem = settings.setting(SETTING);
  if (pem === undefined) {
    pem = initial ?? await generateKey();
    settings.setSetting(SETTING, pem);
  }
  return await keysOf(pem);
}

async function generateKey(): Promise<string> {
  const options = { modulusLength: 2048, extractable: true };
  const { privateKey } = await generateKeyPair(SIGNING_ALGORITHM, options);
  return await exportPKCS8(privateKey);
}

async function keysOf(pem: string) {
  const privateKey = await importPKCS8(pem, SIGNING_ALGORITHM);
  const bare = await exportJWK(createPublicKey(pem));
  const keyId = await calculateJwkThumbprint(bare);
  return {
    privateKey,
    /** Id of the key: its RFC 7638 thumbprint. */
    keyId,
    publicJwk: { ...bare, kid: keyId, alg: SIGNING_ALGORITHM, use: "sig" },
  };
}

/** A signing key, and its public key as JWK. */
export type SigningKeys = Awaited<ReturnType<typeof keysOf>>;
