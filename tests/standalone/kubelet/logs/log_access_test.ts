/** Tests of the access reviews for readers of logs at the node. */
import assert from "node:assert/strict";
import { createClient } from "../../../../platform/kube/connection/connected_client.ts";
import { connectionTo } from "../../../../platform/kube/connection/kubeconfig.ts";
import { createAccessCheck } from "../../../../standalone/kubelet/logs/log_access.ts";
import { FakeClock } from "../../../support/fake_clock.ts";

/** An API server that knows the token "good", and lets the group "readers" read. */
async function withReviews(
  work: (
    check: ReturnType<typeof createAccessCheck>,
    asked: unknown[],
    clock: FakeClock,
  ) => Promise<void>,
): Promise<void> {
  const asked: unknown[] = [];
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => {
      const { kind, spec } = await request.json();
      asked.push({ kind, spec });
      const status = kind === "TokenReview"
        ? spec.token === "good"
          ? { authenticated: true, user: { username: "eve", groups: ["readers"] } }
          : { user: {}, error: "unknown" }
        : { allowed: spec.groups.includes("readers") };
      return Response.json({ kind, metadata: {}, status });
    },
  );
  const clock = new FakeClock();
  const client = createClient({
    connection: connectionTo({ server: `http://127.0.0.1:${server.addr.port}` }),
  });
  try {
    await work(createAccessCheck({ client, clock, nodeName: "n" }), asked, clock);
  } finally {
    await server.shutdown();
  }
}

Deno.test("createAccessCheck() reviews the token, then whether its user may read at this node", () =>
  withReviews(async (check, asked) => {
    assert.deepEqual(await check({ token: "good" }), { ok: true });
    assert.deepEqual(asked, [
      { kind: "TokenReview", spec: { token: "good" } },
      {
        kind: "SubjectAccessReview",
        spec: {
          user: "eve",
          groups: ["readers"],
          resourceAttributes: {
            verb: "get",
            version: "v1",
            resource: "nodes",
            subresource: "proxy",
            name: "n",
          },
        },
      },
    ]);
  }));

Deno.test("createAccessCheck() remembers answers for a while, and no longer", () =>
  withReviews(async (check, asked, clock) => {
    await check({ token: "good" });
    await check({ token: "good" });
    assert.equal(asked.length, 2);
    await clock.advance(121_000);
    await check({ token: "good" });
    assert.equal(asked.length, 3, "the token is asked about again");
    await clock.advance(301_000);
    await check({ token: "good" });
    assert.equal(asked.length, 5);
  }));

Deno.test("createAccessCheck() refuses unknown users, and users without the right", () =>
  withReviews(async (check, asked) => {
    assert.equal((await check({})).ok, false);
    assert.equal(asked.length, 0);
    const bad = await check({ token: "bad" });
    assert.ok(!bad.ok);
    assert.equal(bad.code, 401);
    const other = await check({ certificate: { username: "mallory", groups: [] } });
    assert.ok(!other.ok);
    assert.equal(other.code, 403);
    assert.match(other.message, /user=mallory/);
  }));
