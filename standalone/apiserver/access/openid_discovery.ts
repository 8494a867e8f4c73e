/** OpenID discovery of service-account tokens: configuration and key set. */
import { ISSUER } from "./service_account_tokens.ts";
import { SIGNING_ALGORITHM, type SigningKeys } from "./signing_keys.ts";

/** Path of the key set. */
export const JWKS_PATH = "/openid/v1/jwks";

/** Returns the document at `/.well-known/openid-configuration`; `server` is the base URL of the API server. */
export function openIdConfiguration(server: string): Record<string, unknown> {
  return {
    issuer: ISSUER,
    jwks_uri: new URL(JWKS_PATH, server).href,
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: [SIGNING_ALGORITHM],
  };
}

/** Returns the document at {@link JWKS_PATH}. */
export function jwksDocument(keys: SigningKeys): { keys: unknown[] } {
  return { keys: [keys.publicJwk] };
}
