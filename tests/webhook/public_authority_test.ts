/** Tests of the CA that the manager publishes: it is written when it is another one, and only then. */
import assert from "node:assert/strict";
import { KINDS } from "../../crds/kinds.ts";
import type { ConfigMap } from "../../platform/kube/kubernetes.ts";
import { MANAGER } from "../../crds/names.ts";
import { KubeError } from "../../platform/kube/errors.ts";
import { keepPublicAuthority } from "../../webhook/public_authority.ts";
import { FakeClock } from "../support/fake_clock.ts";

const VERSION = { kubeflow_trainer_version: "v2.3.0" };

/** A manager whose CA a test changes, before an API server that has the ConfigMap or not. */
function start(stored: ConfigMap | undefined) {
  const clock = new FakeClock();
  const over = new AbortController();
  const world = { stored, ca: "first", writes: [] as unknown[], change: () => {} };
  const at = (key: object) =>
    assert.deepEqual(key, { namespace: "own", name: MANAGER.publicConfigMap });
  const running = keepPublicAuthority({
    clock,
    namespace: "own",
    caBundle: () => world.ca,
    changes(listener) {
      world.change = listener;
      return () => {};
    },
    client: {
      get(kind, key) {
        at(key);
        if (world.stored !== undefined) return Promise.resolve(kind.parse(world.stored));
        return Promise.reject(
          new KubeError("no such ConfigMap", { code: 404, reason: "NotFound" }),
        );
      },
      patch(kind, key, patch) {
        at(key);
        assert.ok(patch.type === "merge");
        world.writes.push(patch.body);
        world.stored = { ...world.stored, data: { ...VERSION, "ca.crt": world.ca } };
        return Promise.resolve(kind.parse(world.stored));
      },
    },
  }, over.signal);
  return {
    world,
    clock,
    async end() {
      over.abort();
      await running;
    },
  };
}

const published: ConfigMap = { metadata: { name: MANAGER.publicConfigMap }, data: VERSION };

Deno.test("keepPublicAuthority() writes the CA once, and again when it is another one or somebody took it away", async () => {
  const { world, clock, end } = start(published);
  await clock.advance(300_000);
  assert.deepEqual(world.writes, [{ data: { "ca.crt": "first" } }]);
  world.ca = "second";
  world.change();
  await clock.advance(1_000);
  assert.deepEqual(world.writes.slice(1), [{ data: { "ca.crt": "second" } }]);
  world.stored = published;
  await clock.advance(60_000);
  assert.equal(world.writes.length, 3);
  await end();
});

Deno.test("keepPublicAuthority() waits where nobody has installed the ConfigMap", async () => {
  const { world, clock, end } = start(undefined);
  await clock.advance(120_000);
  assert.deepEqual(world.writes, []);
  world.stored = published;
  await clock.advance(60_000);
  assert.equal(world.writes.length, 1);
  assert.equal(KINDS.configMap.parse(world.stored).data?.["ca.crt"], "first");
  await end();
});
