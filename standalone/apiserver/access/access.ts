/** Access control of the server: authentication, authorization, reviews and service-account tokens. */
import type { Store } from "../storage/sqlite_store.ts";
import { createAuthenticator, type StaticToken } from "./authenticator.ts";
import { createAuthorizer } from "./authorizer.ts";
import { jwksDocument, openIdConfiguration } from "./openid_discovery.ts";
import { createReviews } from "./review_resources.ts";
import { createServiceAccountTokens } from "./service_account_tokens.ts";
import { loadSigningKeys } from "./signing_keys.ts";
import { createTokenRequests } from "./token_requests.ts";

/** Access control over one store. */
export type Access = Awaited<ReturnType<typeof createAccess>>;

/** Options of {@link createAccess}. */
export interface AccessOptions {
  readonly store: Store;
  /**
   * PEM (PKCS #8) of the RSA key that signs service-account tokens, for the first start; generated
   * without it, and kept.
   */
  readonly signingKey?: string;
  /** Users with fixed tokens, such as the administrator and the kubelet. */
  readonly users: readonly StaticToken[];
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Base URL of the server; it is known once the server listens. */
  readonly serverUrl: () => string;
}

/** Creates access control over one store. The first call on a store generates its signing key, unless one is given. */
export async function createAccess(options: AccessOptions) {
  const { store, now, users, serverUrl } = options;
  const keys = await loadSigningKeys(store.database, options.signingKey);
  const tokens = createServiceAccountTokens({ keys, store, now });
  const authenticator = createAuthenticator({ staticTokens: users, serviceAccountTokens: tokens });
  const authorizer = createAuthorizer({ store });
  return {
    authenticator,
    authorizer,
    createReview: createReviews({ authenticator, authorizer }),
    createToken: createTokenRequests({ store, tokens }),
    /** The OpenID configuration by which others verify service-account tokens. */
    openIdConfiguration: (): unknown => openIdConfiguration(serverUrl()),
    /** The keys that sign service-account tokens. */
    jwks: (): unknown => jwksDocument(keys),
  };
}
