/** Tests of the memory of own writes, which makes up for a cache that lags. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import { createOwnWrites, isOlderVersion, UNSEEN_MS } from "../../../platform/kit/own_writes.ts";
import { inParallel } from "../../../platform/base/parallel.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { Attempts } from "../../../platform/kit/attempts.ts";
import { KubeError, messageOf } from "../../../platform/kube/errors.ts";
import {
  type Kind,
  type KubeObject,
  type ObjectKey,
  withMetadataOnly,
} from "../../../platform/kube/resource.ts";
import { FakeClock } from "../../support/fake_clock.ts";

function object(name: string, resourceVersion: string, uid = "u"): KubeObject {
  return { metadata: { namespace: "n", name, resourceVersion, uid } };
}

function memory(limit?: number) {
  const clock = new FakeClock();
  const groupOf = () => "g";
  return {
    clock,
    writes: createOwnWrites<KubeObject>({ clock, groupOf, ...(limit && { limit }) }),
  };
}

const written = (value: KubeObject) => () => Promise.resolve(value);

/** Reads as `find` says; what it does not find is not there. */
function reader(find: (key: ObjectKey) => KubeObject | undefined) {
  const signal = new AbortController().signal;
  const client = {
    get<T>(kind: Kind<T>, key: ObjectKey): Promise<T> {
      return Promise.resolve().then(() => find(key)).then((found) => {
        if (found !== undefined) return kind.parse(found);
        throw new KubeError("not found", { code: 404, reason: "NotFound" });
      });
    },
  };
  const kind: Kind<KubeObject> = withMetadataOnly(KINDS.pod);
  return { client, kind, attempts: new Attempts(signal), signal };
}

Deno.test("`isOlderVersion()` compares numbers of any length, and nothing else", () => {
  equal(isOlderVersion("9", "10"), true);
  equal(isOlderVersion("10", "9"), false);
  equal(isOlderVersion("7", "7"), false);
  equal(isOlderVersion("90071992547409930", "90071992547409931"), true);
  equal(isOlderVersion("a", "b"), false);
  equal(isOlderVersion(undefined, "1"), false);
});

Deno.test("`OwnWrites` returns objects that the cache has not shown, until it does", async () => {
  const { writes } = memory();
  await writes.track("n/a", written(object("a", "5")));
  deepEqual(writes.merge("g", []).map(({ metadata }) => metadata?.name), ["a"]);
  deepEqual(writes.merge("other", []), []);
  equal(writes.latest("n/a", object("a", "4"))?.metadata?.resourceVersion, "5");
  writes.seen({ type: "updated", object: object("a", "4") });
  equal(writes.size, 1);
  writes.seen({ type: "added", object: object("a", "5") });
  equal(writes.size, 0);
  equal(writes.latest("n/a", object("a", "6"))?.metadata?.resourceVersion, "6");
});

Deno.test("`OwnWrites.merge()` puts the newer form in the place of the cached one", async () => {
  const { writes } = memory();
  await writes.track("n/a", written(object("a", "5")));
  const merged = writes.merge("g", [object("b", "1"), object("a", "3")]);
  deepEqual(merged.map(({ metadata }) => metadata?.resourceVersion), ["1", "5"]);
  deepEqual(writes.merge("g", [object("a", "8")])[0]?.metadata?.resourceVersion, "8");
  equal(writes.size, 0);
});

Deno.test("`OwnWrites` forgets what was deleted, by uid", async () => {
  const { writes } = memory();
  await writes.track("n/a", written(object("a", "5", "new")));
  writes.seen({ type: "deleted", object: object("a", "4", "old") });
  equal(writes.size, 1);
  writes.seen({ type: "deleted", object: object("a", "6", "new") });
  equal(writes.size, 0);
  await writes.track("n/a", written(object("a", "7", "new")));
  writes.seen({ type: "left", object: object("a", "6", "new") });
  equal(writes.size, 0, "of what left nothing more is heard");
});

Deno.test("`OwnWrites` remembers nothing if the deletion is reported before the response", async () => {
  const { writes } = memory();
  await writes.track("n/a", () => {
    writes.seen({ type: "deleted", object: object("a", "6") });
    return Promise.resolve(object("a", "5"));
  });
  equal(writes.size, 0);
  await writes.trackDeletion(object("a", "5"), "2026-01-01T00:00:00Z", () => {
    writes.seen({ type: "deleted", object: object("a", "6") });
    return Promise.resolve(true);
  });
  equal(writes.size, 0);
});

Deno.test("`OwnWrites` remembers nothing that the cache shows before the response", async () => {
  const { writes } = memory();
  const shown = (metadata: KubeObject["metadata"]) => {
    writes.seen({ type: "updated", object: { metadata } });
    return Promise.resolve(object("a", "5"));
  };
  await writes.track("n/a", () => shown(object("a", "5").metadata));
  equal(writes.size, 0, "the same");
  await writes.track("n/a", () => shown(object("a", "6").metadata));
  equal(writes.size, 0, "newer");
  await writes.track("n/a", () => shown(object("a", "4").metadata));
  equal(writes.size, 1, "older");
  const at = "2026-01-01T00:00:00Z";
  const deletion = (deletionTimestamp?: string) =>
    writes.trackDeletion(object("a", "5"), at, async () => {
      await shown({
        ...object("a", "7").metadata,
        ...(deletionTimestamp && { deletionTimestamp }),
      });
      return true;
    });
  await deletion(at);
  equal(writes.size, 0, "that it is being deleted");
  await deletion();
  equal(writes.size, 1, "something else");
});

Deno.test("`OwnWrites` remembers nothing of a write that failed", async () => {
  const { writes } = memory();
  await rejects(writes.track("n/a", () => Promise.reject(new Error("refused"))));
  equal(writes.size, 0);
});

Deno.test("`OwnWrites.trackDeletion()` shows the object as being deleted until the cache does", async () => {
  const { writes } = memory();
  const at = "2026-01-01T00:00:00Z";
  await writes.trackDeletion(object("a", "5"), at, () => Promise.resolve(true));
  equal(writes.latest("n/a", object("a", "5"))?.metadata?.deletionTimestamp, at);
  writes.seen({ type: "updated", object: object("a", "6") });
  equal(writes.latest("n/a", object("a", "6"))?.metadata?.deletionTimestamp, at);
  const going = object("a", "7");
  writes.seen({
    type: "updated",
    object: { metadata: { ...going.metadata, deletionTimestamp: at } },
  });
  equal(writes.size, 0);
});

Deno.test("`OwnWrites.trackDeletion()` forgets an object that was gone", async () => {
  const { writes } = memory();
  await writes.track("n/a", written(object("a", "5")));
  const at = "2026-01-01T00:00:00Z";
  equal(await writes.trackDeletion(object("a", "5"), at, () => Promise.resolve(false)), false);
  equal(writes.size, 0);
});

Deno.test("`OwnWrites.observe()` looks up old writes that the cache has not shown, and forgets what has left", async () => {
  const { writes, clock } = memory();
  const names = ["gone", "there"];
  for (const name of names) await writes.track(`n/${name}`, written(object(name, "5")));
  const asked: string[] = [];
  await writes.track("n/shown", written(object("shown", "5")));
  const shown = [object("shown", "5")];
  await clock.advance(UNSEEN_MS);
  await writes.track("n/new", written(object("new", "6")));
  const found = await writes.observe(
    "g",
    () => shown,
    reader(({ name }) => {
      asked.push(name);
      return name === "gone" ? undefined : object(name, "5");
    }),
  );
  deepEqual(asked, names);
  deepEqual(found.map(({ metadata }) => metadata?.name), ["shown", "there", "new"]);
});

Deno.test("`OwnWrites.observe()` forgets what belongs to another group by now", async () => {
  const clock = new FakeClock();
  const groupOf = ({ metadata }: KubeObject) => metadata?.labels?.group ?? "";
  const writes = createOwnWrites<KubeObject>({ clock, groupOf });
  const inGroup = (group: string) => ({ metadata: { name: "a", uid: "u", labels: { group } } });
  await writes.track("a", written(inGroup("g")));
  await clock.advance(UNSEEN_MS);
  await writes.observe("g", () => [], reader(() => inGroup("g")));
  equal(writes.size, 1);
  await writes.observe("g", () => [], reader(() => inGroup("other")));
  equal(writes.size, 0);
});

Deno.test("`OwnWrites.observe()` of an API server that is away takes what is known, and the attempt failed", async () => {
  const { writes, clock } = memory();
  await writes.track("n/a", written(object("a", "5")));
  await clock.advance(UNSEEN_MS);
  const away = reader(() => {
    throw new Error("away");
  });
  deepEqual(await writes.observe("g", () => [], away), [object("a", "5")]);
  deepEqual(away.attempts.errors.map(messageOf), ["away"]);
});

Deno.test("`OwnWrites` remembers of an object what it is to keep", async () => {
  const keep = ({ metadata }: KubeObject): KubeObject => ({ metadata });
  const writes = createOwnWrites({ clock: new FakeClock(), groupOf: () => "g", keep });
  const whole = { ...object("a", "5"), spec: { large: true } };
  equal(await writes.track("n/a", written(whole)), whole);
  deepEqual(writes.latest("n/a", undefined), object("a", "5"));
});

Deno.test("`OwnWrites` does not remember what has no group, and forgets what it was in one", async () => {
  const groupOf = ({ metadata }: KubeObject) => metadata?.labels?.group;
  const writes = createOwnWrites<KubeObject>({ clock: new FakeClock(), groupOf });
  const metadata = { name: "a", uid: "u" };
  await writes.track("a", written({ metadata: { ...metadata, labels: { group: "g" } } }));
  equal(writes.size, 1);
  await writes.track("a", written({ metadata }));
  equal(writes.size, 0);
});

Deno.test("`OwnWrites.hasUnseen()` compares by uid with what the cache has", async () => {
  const { writes } = memory();
  equal(writes.hasUnseen("g", []), false);
  await writes.track("n/a", written(object("a", "5", "new")));
  equal(writes.hasUnseen("g", [object("a", "4", "old")]), true);
  equal(writes.hasUnseen("g", [object("a", "4", "new")]), false);
  equal(writes.hasUnseen("other", []), false);
});

Deno.test("`OwnWrites` remembers no more than its limit, the newest", async () => {
  const { writes } = memory(2);
  for (const name of ["a", "b", "c"]) {
    await writes.track(`n/${name}`, written(object(name, "1")));
  }
  deepEqual(writes.merge("g", []).map(({ metadata }) => metadata?.name), ["b", "c"]);
});

Deno.test("`inParallel()` works on all items with limited concurrency, and returns the errors in order", async () => {
  let busy = 0;
  let most = 0;
  const errors = await inParallel([1, 2, 3, 4, 5], async (item) => {
    most = Math.max(most, ++busy);
    await Promise.resolve();
    busy--;
    if (item % 2 === 0) throw new Error(`${item}`);
  }, { limit: 2 });
  equal(most, 2);
  deepEqual(errors.map(String), ["Error: 2", "Error: 4"]);
  deepEqual(await inParallel([], () => Promise.reject(new Error("never"))), []);
});

Deno.test("`inParallel()` begins nothing after its signal aborted", async () => {
  const stop = new AbortController();
  const begun: number[] = [];
  await inParallel([1, 2, 3], (item) => {
    begun.push(item);
    stop.abort();
    return Promise.resolve();
  }, { limit: 1, signal: stop.signal });
  deepEqual(begun, [1]);
});
