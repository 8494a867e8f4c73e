/** Tests of the informer's cache. */
import assert from "node:assert/strict";
import fc from "fast-check";
import {
  type Change,
  deepFreeze,
  InformerCache,
} from "../../../../platform/kube/watching/informer_cache.ts";
import { keyOf } from "../../../../platform/kube/resource.ts";
import { type Widget, widget } from "../fake_api_server.ts";

const COLORS = ["red", "green", "blue"];

interface Write {
  readonly type: "put" | "remove";
  readonly name: string;
  readonly color: string;
  /** Whether the watch tells of it, or a list does later. */
  readonly seen: boolean;
}

/** A view that believes every delivery, and complains of one that cannot be. */
function believer() {
  const known = new Map<string, Widget>();
  return {
    known,
    take({ type, object, old }: Change<Widget>): void {
      const key = keyOf(object);
      assert.equal(known.has(key), type !== "added", `${type} ${key}`);
      assert.equal(old, known.get(key));
      if (type === "deleted") known.delete(key);
      else known.set(key, object);
    },
  };
}

Deno.test("`leave()` says that an object left, or that the one before it is deleted", () => {
  const cache = new InformerCache<Widget>({});
  const put = (uid: string) => cache.put(widget("a", "red", { uid, resourceVersion: uid }));
  const typesOf = (changes: readonly Change<Widget>[]) => changes.map(({ type }) => type);
  put("1");
  assert.deepEqual(typesOf(cache.leave(widget("a", "blue", { uid: "1" }))), ["left"]);
  assert.deepEqual(typesOf(cache.leave(widget("a", "blue", { uid: "1" }))), []);
  put("1");
  assert.deepEqual(typesOf(cache.leave(widget("a", "blue", { uid: "2" }))), ["deleted"]);
});

Deno.test("`InformerCache` reports each change once, by any mix of watch and list", () => {
  const write: fc.Arbitrary<Write> = fc.record({
    type: fc.constantFrom("put", "remove"),
    name: fc.constantFrom("a", "b", "c", "d"),
    color: fc.constantFrom(...COLORS),
    seen: fc.boolean(),
  });
  fc.assert(fc.property(fc.array(fc.array(write, { maxLength: 8 })), (rounds) => {
    const cache = new InformerCache<Widget>({ color: (object) => [object.spec?.color ?? ""] });
    const view = believer();
    const server = new Map<string, Widget>();
    let version = 0;
    for (const round of rounds) {
      // After the first write that the watch misses it is broken until the list.
      let broken = false;
      for (const { type, name, color, seen } of round) {
        const old = server.get(name);
        if (type === "remove" && old === undefined) continue;
        const uid = old?.metadata?.uid ?? `uid-${version + 1}`;
        const object = widget(name, color, { resourceVersion: String(++version), uid });
        if (type === "put") server.set(name, object);
        else server.delete(name);
        broken ||= !seen;
        if (broken) continue;
        const changes = type === "put" ? cache.put(object) : cache.remove(keyOf(object), object);
        assert.equal(changes.length, 1);
        changes.forEach(view.take);
        // The same news again is no news.
        assert.deepEqual(type === "put" ? cache.put(object) : cache.remove(keyOf(object)), []);
      }
      if (broken) cache.replace([...server.values()], []).forEach(view.take);
      assert.deepEqual(cache.replace([...server.values()], []), []);
      const names = (objects: Iterable<Widget>) => [...objects].map(keyOf).toSorted();
      assert.deepEqual(names(view.known.values()), names(server.values()));
      assert.deepEqual(names(cache.list()), names(server.values()));
      for (const color of COLORS) {
        const want = [...server.values()].filter((object) => object.spec?.color === color);
        assert.deepEqual(names(cache.byIndex("color", color)), names(want));
      }
    }
  }));
});

Deno.test("`replace()` keeps an object whose new form cannot be parsed", () => {
  const cache = new InformerCache<Widget>({});
  cache.put(widget("a", "red", { resourceVersion: "1" }));
  assert.deepEqual(cache.replace([], ["ns/a"]), []);
  assert.equal(cache.size, 1);
  assert.deepEqual(cache.list().map(keyOf), ["ns/a"]);
  assert.equal(cache.replace([], []).length, 1);
});

Deno.test("`deepFreeze()` freezes all that is inside", () => {
  const value = deepFreeze({ a: [{ b: {} }], c: null });
  assert.ok(Object.isFrozen(value) && Object.isFrozen(value.a));
  assert.ok(Object.isFrozen(value.a[0]) && Object.isFrozen(value.a[0]?.b));
});
