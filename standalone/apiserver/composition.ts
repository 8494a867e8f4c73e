/** Puts the parts of the API server together: authentication, authorization, reviews, admission. */
import { createAdmission, type ResolveService } from "./admission/admit.ts";
import { createAuthenticator, type StaticToken } from "./access/authenticator.ts";
import { createAuthorizer } from "./access/authorizer.ts";
import { jwksDocument, openIdConfiguration } from "./access/discovery.ts";
import { createReviews } from "./access/reviews.ts";
import { createServiceAccountTokens } from "./access/service_account_tokens.ts";
import { loadSigningKeys } from "./access/signing_keys.ts";
import { createTokenRequests } from "./access/token_request.ts";
import type { Parts } from "./parts.ts";
import type { Registry } from "./kinds/registry.ts";
import type { Store } from "./storage/store.ts";

/** A user with a fixed token. */
export type StaticUser = StaticToken;

/** Issuer of service-account tokens, and the audience of the server itself; Kubernetes' default. */
const ISSUER = "https://kubernetes.default.svc.cluster.local";

/** Options of {@link createParts}. */
export interface PartsOptions {
  readonly store: Store;
  readonly registry: Registry;
  readonly users: readonly StaticUser[];
  readonly now: () => number;
  /** Base URL of the server, known once it listens. */
  readonly serverUrl: () => string;
  /** Where Services that webhooks name can be reached. */
  readonly resolveService?: ResolveService;
}

/** Builds the parts over one store. */
export async function createParts(options: PartsOptions): Promise<Parts> {
  const { store, now, users, serverUrl, resolveService } = options;
  const audiences = [ISSUER];
  const keys = await loadSigningKeys(store);
  const tokens = createServiceAccountTokens({ keys, store, issuer: ISSUER, audiences, now });
  const authenticator = createAuthenticator({
    staticTokens: users,
    serviceAccountTokens: tokens,
    audiences,
  });
  const authorizer = createAuthorizer({ store });
  return {
    authenticate: (header) => authenticator.authenticate(header),
    authorize: (user, attributes) => authorizer.authorize(user, attributes),
    createReview: createReviews({ authenticator, authorizer, audiences }),
    createToken: createTokenRequests({ store, tokens, audiences }),
    openIdConfiguration: () => openIdConfiguration(ISSUER, serverUrl()),
    jwks: () => jwksDocument(keys),
    admit: createAdmission({ store, authorizer, resolveService }),
  };
}
