/**
 * Users of a kubeconfig that are known by OpenID Connect (`auth-provider: oidc`): an ID token, renewed
 * by a refresh token once it has ended (RFC 6749 section 6, OpenID Connect Core 1.0 section 12).
 * Written here because client-node's own brings the classes of the whole Kubernetes API with it.
 */
import { readFileSync } from "node:fs";
import { decodeJwt } from "jose";
import { z } from "zod";
import { type Clock, systemClock } from "../../base/clock.ts";
import { ConfigurationError, messageOf } from "../errors.ts";
import { readBody } from "./response.ts";

/** A token is renewed this long before it ends, in milliseconds: clocks differ. */
const EARLY_MS = 10_000;
/** Time for one request to the issuer, in milliseconds. */
const REQUEST_MS = 10_000;
/** Longest answer of the issuer, in bytes. */
const ANSWER_BYTES = 1 << 20;

const text = z.string().min(1).optional();
const configSchema = z.looseObject({
  "idp-issuer-url": text,
  "client-id": text,
  "client-secret": z.string().optional(),
  "id-token": text,
  "refresh-token": text,
  "idp-certificate-authority": text,
  "idp-certificate-authority-data": text,
});
type OidcConfig = z.infer<typeof configSchema>;

const discoverySchema = z.looseObject({ token_endpoint: z.url({ protocol: /^https$/ }) });
const answerSchema = z.looseObject({ id_token: z.string().min(1), refresh_token: text });

/** The end of a token, in milliseconds since the epoch; undefined if it does not say. */
function endOf(token: string): number | undefined {
  try {
    const { exp } = decodeJwt(token);
    return exp === undefined ? undefined : exp * 1000;
  } catch (cause) {
    throw new ConfigurationError("the id-token of the kubeconfig's user is not a JWT", { cause });
  }
}

function certificates(config: OidcConfig): string[] {
  const file = config["idp-certificate-authority"];
  if (file) return [readFileSync(file, "utf8")];
  const data = config["idp-certificate-authority-data"];
  return data ? [atob(data)] : [];
}

async function json(http: Deno.HttpClient, url: string, form?: URLSearchParams): Promise<unknown> {
  const answer = await fetch(url, {
    client: http,
    signal: AbortSignal.timeout(REQUEST_MS),
    redirect: "error",
    ...form === undefined ? {} : { method: "POST", body: form },
  });
  if (answer.ok) return JSON.parse(await readBody(answer, ANSWER_BYTES));
  await answer.body?.cancel();
  throw new Error(`${url} returned HTTP ${answer.status}`);
}

/** Asks the issuer for new tokens. Throws if it is not reachable or refuses. */
async function refresh(config: OidcConfig) {
  const { "idp-issuer-url": issuer, "client-id": client, "refresh-token": token } = config;
  if (!issuer || !client || !token) {
    throw new ConfigurationError(
      "the id-token of the kubeconfig's user has expired, and it has no idp-issuer-url, client-id " +
        "and refresh-token to renew it; log in again",
    );
  }
  using http = Deno.createHttpClient({ caCerts: certificates(config) });
  try {
    const base = issuer.replace(/\/$/, "");
    const discovery = await json(http, `${base}/.well-known/openid-configuration`);
    const form = new URLSearchParams({
      grant_type: "refresh_token",
      refresh_token: token,
      client_id: client,
      ...config["client-secret"] ? { client_secret: config["client-secret"] } : {},
    });
    return answerSchema.parse(
      await json(http, discoverySchema.parse(discovery).token_endpoint, form),
    );
  } catch (cause) {
    const reason = cause instanceof z.ZodError ? z.prettifyError(cause) : messageOf(cause);
    throw new Error(`cannot renew the token of the kubeconfig's user at ${issuer}: ${reason}`, {
      cause,
    });
  }
}

/** The tokens of one user. They are kept in memory; the kubeconfig is not written. */
export class OidcTokens {
  #config: OidcConfig;
  #renewal: Promise<void> | undefined;

  /** `config` is that of the `auth-provider`. Throws a ConfigurationError if it is not one. */
  constructor(config: unknown, private readonly clock: Clock = systemClock) {
    const result = configSchema.safeParse(config ?? {});
    if (!result.success) {
      throw new ConfigurationError(
        `auth-provider oidc of the kubeconfig's user: ${z.prettifyError(result.error)}`,
      );
    }
    this.#config = result.data;
  }

  /** A token that is valid now. Throws if there is none and none can be obtained. */
  async token(): Promise<string> {
    const held = this.#usable();
    if (held !== undefined) return held;
    await (this.#renewal ??= this.#renew().finally(() => this.#renewal = undefined));
    return this.#config["id-token"] ?? "";
  }

  #usable(): string | undefined {
    const token = this.#config["id-token"];
    if (token === undefined) return undefined;
    const end = endOf(token);
    return end === undefined || end - EARLY_MS > this.clock.now() ? token : undefined;
  }

  async #renew(): Promise<void> {
    const { id_token, refresh_token } = await refresh(this.#config);
    this.#config = {
      ...this.#config,
      "id-token": id_token,
      ...refresh_token === undefined ? {} : { "refresh-token": refresh_token },
    };
  }
}
