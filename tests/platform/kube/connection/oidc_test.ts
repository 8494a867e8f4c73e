/** Tests of OpenID Connect tokens in kubeconfigs: use, renewal, and messages when renewal fails. */
import assert from "node:assert/strict";
import type { RequestOptions } from "node:https";
import { SignJWT } from "jose";
import { Connection } from "../../../../platform/kube/connection/connection.ts";
import { ConfigurationError } from "../../../../platform/kube/errors.ts";
import { OidcTokens } from "../../../../platform/kube/connection/oidc.ts";
import { FakeClock } from "../../../support/fake_clock.ts";
import { makeCertificates } from "../certificates.ts";

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);
const KEY = new TextEncoder().encode("a key of the test that nobody verifies with");

function idToken(endsAt: number, subject = "ann"): Promise<string> {
  const jwt = new SignJWT({ sub: subject }).setProtectedHeader({ alg: "HS256" });
  return jwt.setExpirationTime(Math.floor(endsAt / 1000)).sign(KEY);
}

interface Issuer extends AsyncDisposable {
  readonly config: Record<string, string>;
  /** The forms that were posted. */
  readonly asked: Record<string, string>[];
}

/** An issuer of tokens over real TLS; `answer` is what its token endpoint says. */
async function issuer(answer: (count: number) => Response | Promise<Response>): Promise<Issuer> {
  const { caPem, server } = await makeCertificates();
  const asked: Record<string, string>[] = [];
  const http = Deno.serve({
    port: 0,
    hostname: "127.0.0.1",
    cert: server.certPem,
    key: server.keyPem,
    onListen: () => {},
  }, async (request) => {
    const { pathname, origin } = new URL(request.url);
    if (pathname === "/.well-known/openid-configuration") {
      return Response.json({ issuer: origin, token_endpoint: `${origin}/token` });
    }
    asked.push(Object.fromEntries(new URLSearchParams(await request.text())));
    return await answer(asked.length);
  });
  return {
    asked,
    config: {
      "idp-issuer-url": `https://127.0.0.1:${http.addr.port}/`,
      "idp-certificate-authority-data": btoa(caPem),
      "client-id": "kubernetes",
      "client-secret": "s3",
      "refresh-token": "first",
    },
    [Symbol.asyncDispose]: () => http.shutdown(),
  };
}

Deno.test("`OidcTokens` uses a valid token without a request", async () => {
  const token = await idToken(NOW + HOUR);
  assert.equal(await new OidcTokens({ "id-token": token }, new FakeClock(NOW)).token(), token);
});

Deno.test("`OidcTokens` renews a token once for concurrent callers, then with the new refresh token", async () => {
  await using server = await issuer(async (count) =>
    Response.json({
      id_token: await idToken(NOW + count * HOUR, `renewed-${count}`),
      refresh_token: `after-${count}`,
    })
  );
  const clock = new FakeClock(NOW);
  const ended = await idToken(NOW - HOUR);
  const tokens = new OidcTokens({ ...server.config, "id-token": ended }, clock);
  const [one, two] = await Promise.all([tokens.token(), tokens.token()]);
  assert.equal(one, two);
  assert.equal(await tokens.token(), one);
  assert.deepEqual(server.asked, [{
    grant_type: "refresh_token",
    refresh_token: "first",
    client_id: "kubernetes",
    client_secret: "s3",
  }]);
  await clock.advance(HOUR - 5_000);
  assert.notEqual(await tokens.token(), one);
  assert.equal(server.asked[1]?.refresh_token, "after-1");
});

Deno.test("`OidcTokens` asks again after the issuer has refused, and names it", async () => {
  await using server = await issuer(async (count) =>
    count === 1
      ? new Response("{}", { status: 400 })
      : Response.json({ id_token: await idToken(NOW + HOUR) })
  );
  const tokens = new OidcTokens(server.config, new FakeClock(NOW));
  await assert.rejects(
    tokens.token(),
    /cannot renew the token of the kubeconfig's user at https:\/\/127\.0\.0\.1:\d+\/: .*returned HTTP 400/,
  );
  assert.ok(await tokens.token());
});

const broken: Record<string, { config: Record<string, unknown>; says: RegExp }> = {
  "has ended and cannot be renewed": {
    config: {},
    says: /refresh-token to renew it; log in again/,
  },
  "is no JWT": { config: { "id-token": "hello" }, says: /id-token .* is not a JWT/ },
  "is no text": { config: { "id-token": 7 }, says: /auth-provider oidc .*/s },
};
for (const [sentence, { config, says }] of Object.entries(broken)) {
  Deno.test(`\`OidcTokens\` says that a token ${sentence}`, async () => {
    await assert.rejects(
      async () => await new OidcTokens(config, new FakeClock(NOW)).token(),
      (error) => error instanceof ConfigurationError && says.test(error.message),
    );
  });
}

Deno.test("a connection carries the token of a user of OpenID Connect", async () => {
  const token = await idToken(Date.now() + HOUR);
  const parts = {
    context: { name: "x", cluster: "c", user: "u" },
    cluster: { name: "c", server: "https://127.0.0.1:6443", skipTLSVerify: false },
    user: { name: "u", authProvider: { name: "oidc", config: { "id-token": token } } },
  };
  const options: RequestOptions = {};
  const { context, cluster, user } = parts;
  await new Connection(context, cluster, user).applyToHTTPSOptions(options);
  assert.deepEqual(options.headers, { Authorization: `Bearer ${token}` });
});
