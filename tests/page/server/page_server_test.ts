/** Tests of what the page's server refuses: foreign pages, wrong hosts, used codes, hostile paths, long bodies. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { systemClock } from "../../../platform/base/clock.ts";
import { createClient } from "../../../platform/kube/connection/connected_client.ts";
import { connectionTo } from "../../../platform/kube/connection/kubeconfig.ts";
import { assetsOf } from "../../../page/server/assets.ts";
import { MAX_BODY_BYTES } from "../../../page/server/page_routes.ts";
import { type PageServer, startPageServer } from "../../../page/server/page_server.ts";
import { CONTENT_SECURITY_POLICY } from "../../../page/server/security_headers.ts";
import {
  CHANGE_HEADERS,
  openSession,
  type PageRequest,
  sendTo,
} from "../../support/page_client.ts";
import { freePort } from "../../support/free_port.ts";

const ASSETS = assetsOf([
  { path: "/", contentType: "text/html; charset=utf-8", body: "<!doctype html>" },
  { path: "/assets/a.0123.js", contentType: "text/javascript; charset=utf-8", body: "1" },
]);
const TOKEN = "the-token-of-the-user-that-nobody-else-may-see";

/** Runs `work` with a server whose API server and manager are away; returns what it called the view with. */
async function withServer(work: (server: PageServer, viewed: string[]) => Promise<void>) {
  const server = `https://127.0.0.1:${freePort()}`;
  const client = createClient({ connection: connectionTo({ server, token: TOKEN }) });
  const viewed: string[] = [];
  const page = await startPageServer({
    port: 0,
    clock: systemClock,
    kinds: JOB_KINDS,
    client,
    assets: ASSETS,
    server,
    user: "ada",
    manager: () => client,
    view: ({ url }) => {
      viewed.push(url);
      return Promise.resolve({ status: 200, headers: {}, body: "{}" });
    },
  });
  try {
    await work(page, viewed);
  } finally {
    await page.close(0);
    client.close();
  }
}

interface Case extends PageRequest {
  readonly want: number;
  /** Sends no key. */
  readonly isStranger?: boolean;
}

const OBJECT = `/objects/${TRAINJOB.id}/default/mnist`;
const SUSPEND = `/suspend/${TRAINJOB.id}/default/mnist`;
const change = { method: "POST", path: SUSPEND, body: "{}" };
const HERE = "http://HOST";

/** `HOST` stands for the host with its port. */
const cases: Record<string, Case> = {
  "the document": { path: "/", isStranger: true, want: 200 },
  "the document with a query": { path: "/?from=a-link", isStranger: true, want: 200 },
  "a link of another site to the document": {
    path: "/",
    headers: { "Sec-Fetch-Site": "cross-site" },
    isStranger: true,
    want: 200,
  },
  "a file": { path: "/assets/a.0123.js", isStranger: true, want: 200 },
  "the document by another name of this machine": {
    path: "/",
    headers: { Host: "localhost:PORT" },
    isStranger: true,
    want: 421,
  },
  "the document by a name that leads here": {
    path: "/",
    headers: { Host: "evil.example" },
    isStranger: true,
    want: 421,
  },
  "the document on another port": { path: "/", headers: { Host: "127.0.0.1:1" }, want: 421 },
  "a change of the document": { method: "POST", path: "/", want: 405 },
  "a list": { path: "/view/v1/jobs?limit=1", want: 200 },
  "a list by a page of the same origin": {
    path: "/view/v1/jobs",
    headers: { Origin: HERE, "Sec-Fetch-Site": "same-origin" },
    want: 200,
  },
  "a list without a session": { path: "/view/v1/jobs", isStranger: true, want: 401 },
  "a list with another's key": {
    path: "/view/v1/jobs",
    headers: { Authorization: "Bearer AAAAAAAAAAAAAAAAAAAAAA" },
    want: 401,
  },
  "a list with the user's own token": {
    path: "/view/v1/jobs",
    headers: { Authorization: `Bearer ${TOKEN}` },
    want: 401,
  },
  "a list for a foreign origin": {
    path: "/view/v1/jobs",
    headers: { Origin: "http://evil.example" },
    want: 403,
  },
  "a list for an origin on another port": {
    path: "/view/v1/jobs",
    headers: { Origin: "http://127.0.0.1:1" },
    want: 403,
  },
  "a list for the same host over TLS": {
    path: "/view/v1/jobs",
    headers: { Origin: "https://HOST" },
    want: 403,
  },
  "a list for an opaque origin": { path: "/view/v1/jobs", headers: { Origin: "null" }, want: 403 },
  "a list that another site embeds": {
    path: "/view/v1/jobs",
    headers: { "Sec-Fetch-Site": "cross-site" },
    want: 403,
  },
  "a list that another port embeds": {
    path: "/view/v1/jobs",
    headers: { "Sec-Fetch-Site": "same-site" },
    want: 403,
  },
  "a list by a wrong method": {
    method: "PUT",
    path: "/view/v1/jobs",
    headers: CHANGE_HEADERS,
    want: 405,
  },
  "a path of the view that is not named": { path: "/view/v1/secrets", want: 404 },
  "any path of the API server": { path: "/api/v1/secrets", want: 404 },
  "a path that climbs": { path: "/view/v1/../../api/v1/secrets", want: 404 },
  "a file that climbs": { path: "/assets/../../etc/passwd", want: 404 },
  "an encoded path that climbs": { path: "/assets/%2e%2e%2fetc/passwd", want: 404 },
  "an encoded slash in a name": { path: `/logs/default/a%2f..%2fsecrets`, want: 404 },
  "a name that climbs": { path: "/logs/default/..", want: 404 },
  "a name with a query mark": { path: "/logs/default/a%3fb", want: 404 },
  "a path of another server": { path: "http://evil.example/view/v1/jobs", want: 404 },
  "two slashes": { path: "//view/v1/jobs", want: 404 },
  "an unknown kind": { path: "/objects/secrets.example.com/default/a", want: 404 },
  "an unknown parameter of a log": {
    path: "/logs/default/a?insecureSkipTLSVerifyBackend=true",
    want: 400,
  },
  "a log from a time that is none": { path: "/logs/default/a?sinceTime=yesterday", want: 400 },
  "a log from a time with more behind it": {
    path: "/logs/default/a?sinceTime=2026-01-31T12:00:00Z%26follow%3dtrue",
    want: 400,
  },
  "a container that is no name": { path: "/logs/default/a?container=a%26follow%3dtrue", want: 400 },
  "an object while the API server is away": { path: OBJECT, want: 503 },
  "rights while the API server is away": { path: `/rights/${TRAINJOB.id}/default/a`, want: 503 },
  "a log while the API server is away": { path: "/logs/default/a", want: 503 },
  "a change while the API server is away": { ...change, headers: CHANGE_HEADERS, want: 503 },
  "a stop while the manager is away": {
    ...change,
    path: `/stop/${TRAINJOB.id}/default/mnist`,
    headers: CHANGE_HEADERS,
    want: 503,
  },
  "a change without our header": {
    ...change,
    headers: { "Content-Type": "application/json" },
    want: 403,
  },
  "a change with another value of our header": {
    ...change,
    headers: { ...CHANGE_HEADERS, "X-Milepost": "0" },
    want: 403,
  },
  "a change as a form sends it": {
    ...change,
    headers: { ...CHANGE_HEADERS, "Content-Type": "text/plain" },
    want: 415,
  },
  "a change without a session": {
    ...change,
    headers: CHANGE_HEADERS,
    isStranger: true,
    want: 401,
  },
  "a change for a foreign origin": {
    ...change,
    headers: { ...CHANGE_HEADERS, Origin: "http://evil.example" },
    want: 403,
  },
  "a change by GET": { path: SUSPEND, want: 405 },
  "a change with a body that is no JSON": {
    ...change,
    headers: CHANGE_HEADERS,
    body: "{",
    want: 400,
  },
  "a change with an unknown field": {
    ...change,
    headers: CHANGE_HEADERS,
    body: '{"force":true}',
    want: 400,
  },
  "a change with a long body": {
    ...change,
    headers: CHANGE_HEADERS,
    body: JSON.stringify({ uid: "x".repeat(MAX_BODY_BYTES) }),
    want: 413,
  },
  "a code by GET": { path: "/session?code=a", isStranger: true, want: 405 },
  "a code without our header": {
    method: "POST",
    path: "/session",
    headers: { "Content-Type": "application/json" },
    body: '{"code":"a"}',
    want: 403,
  },
  "a wrong code": {
    method: "POST",
    path: "/session",
    headers: CHANGE_HEADERS,
    body: '{"code":"a"}',
    want: 403,
  },
  "a code that is no text": {
    method: "POST",
    path: "/session",
    headers: CHANGE_HEADERS,
    body: '{"code":{"a":1}}',
    want: 403,
  },
};

Deno.test("the page's server answers to its own page alone, and each answer confines it", () =>
  withServer(async (server) => {
    const { host, port } = new URL(server.url);
    const { key } = await openSession(server.newAddress());
    for (const [sentence, { want, isStranger, headers, ...request }] of Object.entries(cases)) {
      const given = { ...!isStranger && { Authorization: `Bearer ${key}` }, ...headers };
      const sent = Object.fromEntries(
        Object.entries(given).map(([name, value]) =>
          [name, value?.replace("HOST", host).replace("PORT", port)] as const
        ),
      );
      const answer = await sendTo(server.url, { ...request, headers: { Host: host, ...sent } });
      assert.equal(answer.status, want, `${sentence}: ${answer.text}`);
      assert.equal(answer.headers["content-security-policy"], CONTENT_SECURITY_POLICY, sentence);
      assert.equal(answer.headers["x-content-type-options"], "nosniff", sentence);
      assert.equal(answer.headers["referrer-policy"], "no-referrer", sentence);
      assert.equal(answer.headers["access-control-allow-origin"], undefined, sentence);
      assert.ok(answer.headers["cache-control"], sentence);
      assert.ok(!answer.text.includes(TOKEN), sentence);
      if (want >= 400) assert.equal(JSON.parse(answer.text).kind, "Status", sentence);
    }
  }));

Deno.test("a code opens one session, and what it opens names the user", () =>
  withServer(async (server) => {
    const address = server.newAddress();
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/#code=[A-Za-z0-9_-]{22}$/);
    const send = () =>
      sendTo(server.url, {
        method: "POST",
        path: "/session",
        headers: CHANGE_HEADERS,
        body: JSON.stringify({ code: address.split("#code=")[1] }),
      });
    const first = await send();
    assert.equal(first.status, 200);
    const { session, ...facts } = JSON.parse(first.text);
    assert.match(session, /^[A-Za-z0-9_-]{22}$/);
    assert.partialDeepStrictEqual(facts, { user: "ada" });
    assert.equal((await send()).status, 403);
    const tries = [];
    for (let n = 0; n < 12; n++) tries.push((await send()).status);
    assert.ok(tries.includes(429));
  }));

Deno.test("queries of the view are passed on as they are, and nothing else is", () =>
  withServer(async (server, viewed) => {
    const { get } = await openSession(server.newAddress());
    await get("/view/v1/jobs?text=a%2f..%2f&limit=5");
    await get("/view/v1/curves?job=a/b/c");
    await get("/view/v1/jobs/../secrets");
    assert.deepEqual(viewed, ["/view/v1/jobs?text=a%2f..%2f&limit=5", "/view/v1/curves?job=a/b/c"]);
  }));

Deno.test("files are kept by browsers under their names, the document is asked for each time", () =>
  withServer(async ({ url }) => {
    const file = await sendTo(url, { path: "/assets/a.0123.js" });
    assert.match(String(file.headers["cache-control"]), /immutable/);
    const document = await sendTo(url, { path: "/" });
    assert.equal(document.headers["cache-control"], "no-cache");
    const again = await sendTo(url, {
      path: "/",
      headers: { "If-None-Match": String(document.headers.etag) },
    });
    assert.equal(again.status, 304);
    assert.equal(again.text, "");
  }));
