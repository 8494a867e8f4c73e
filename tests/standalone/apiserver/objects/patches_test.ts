/** Tests of patches and JSON paths. */
import assert from "node:assert/strict";
import * as fc from "fast-check";
import { sameJson } from "../../../../platform/base/json.ts";
import {
  applyJsonPatch,
  applyMergePatch,
} from "../../../../standalone/apiserver/objects/json_patch.ts";
import { jsonPath } from "../../../../standalone/apiserver/objects/json_path.ts";
import { applyStrategicPatch } from "../../../../standalone/apiserver/objects/strategic_merge_patch.ts";

const POD = "io.k8s.api.core.v1.Pod";

const mergeCases: Record<string, [unknown, unknown, unknown]> = {
  "replaces, adds and removes members": [{ a: 1, b: 2 }, { a: 3, b: null, c: 4 }, { a: 3, c: 4 }],
  "goes into objects": [{ a: { b: 1, c: 2 } }, { a: { b: null } }, { a: { c: 2 } }],
  "replaces lists": [{ a: [1, 2] }, { a: [3] }, { a: [3] }],
  "drops nulls of objects that it adds": [{}, { a: { b: null, c: 1 } }, { a: { c: 1 } }],
};
for (const [sentence, [document, patch, want]] of Object.entries(mergeCases)) {
  Deno.test(`applyMergePatch() ${sentence}`, () => {
    const before = structuredClone(document);
    assert.deepEqual(applyMergePatch(document, patch), want);
    assert.deepEqual(document, before);
  });
}

const jsonCases: Record<string, [unknown, unknown[], unknown]> = {
  "adds into lists and at their end": [
    { a: [1] },
    [{ op: "add", path: "/a/0", value: 0 }, { op: "add", path: "/a/-", value: 2 }],
    { a: [0, 1, 2] },
  ],
  "removes, replaces, moves and copies": [
    { a: 1, b: 2, c: { d: 3 } },
    [
      { op: "remove", path: "/a" },
      { op: "replace", path: "/b", value: 5 },
      { op: "move", from: "/c/d", path: "/e" },
      { op: "copy", from: "/b", path: "/f" },
    ],
    { b: 5, c: {}, e: 3, f: 5 },
  ],
  "takes `__proto__` as a name like others": [
    {},
    [{ op: "add", path: "/__proto__", value: 1 }, { op: "copy", from: "/__proto__", path: "/a" }],
    JSON.parse('{"__proto__": 1, "a": 1}'),
  ],
  "reads escaped names": [{ "a/b": 1, "m~n": 2 }, [
    { op: "remove", path: "/a~1b" },
    { op: "test", path: "/m~0n", value: 2 },
  ], { "m~n": 2 }],
};
for (const [sentence, [document, patch, want]] of Object.entries(jsonCases)) {
  Deno.test(`applyJsonPatch() ${sentence}`, () => {
    assert.deepEqual(applyJsonPatch(document, patch), want);
  });
}

const jsonRefusals: Record<string, [unknown[], RegExp]> = {
  "an unknown operation": [[{ op: "frob", path: "/a" }], /cannot decode the JSON patch/],
  "an invalid path": [[{ op: "remove", path: "a" }], /JSON pointer/],
  "removing what is not there": [[{ op: "remove", path: "/z" }], /"\/z" does not exist/],
  "replacing in what is not there": [[{ op: "replace", path: "/z/y", value: 1 }], /does not exist/],
  "an index beyond the list": [[{ op: "add", path: "/l/9", value: 1 }], /9 is not an index/],
  "a test that fails": [[{ op: "test", path: "/a", value: 2 }], /the test failed/],
};
for (const [sentence, [patch, want]] of Object.entries(jsonRefusals)) {
  Deno.test(`applyJsonPatch() refuses ${sentence}`, () => {
    assert.throws(() => applyJsonPatch({ a: 1, l: [] }, patch), want);
  });
}

const container = (name: string, extra = {}) => ({ name, ...extra });
const strategicCases: Record<string, [unknown, unknown, unknown]> = {
  "merges lists by their key": [
    { spec: { containers: [container("a", { image: "1" }), container("b")] } },
    { spec: { containers: [container("a", { image: "2" }), container("c")] } },
    { spec: { containers: [container("c"), container("a", { image: "2" }), container("b")] } },
  ],
  "deletes an item": [
    { spec: { containers: [container("a"), container("b")] } },
    { spec: { containers: [{ $patch: "delete", name: "a" }] } },
    { spec: { containers: [container("b")] } },
  ],
  "replaces a list with $patch: replace": [
    { spec: { containers: [container("a"), container("b")] } },
    { spec: { containers: [{ $patch: "replace" }, container("c")] } },
    { spec: { containers: [container("c")] } },
  ],
  "replaces lists without a key": [
    { spec: { containers: [container("a", { args: ["1", "2"] })] } },
    { spec: { containers: [container("a", { args: ["3"] })] } },
    { spec: { containers: [container("a", { args: ["3"] })] } },
  ],
  "orders a list": [
    { spec: { containers: [container("a"), container("b")] } },
    { spec: { "$setElementOrder/containers": [{ name: "b" }, { name: "a" }] } },
    { spec: { containers: [container("b"), container("a")] } },
  ],
  "unites and thins lists of plain values": [
    { metadata: { finalizers: ["a", "b"] } },
    { metadata: { "$deleteFromPrimitiveList/finalizers": ["a"], finalizers: ["c"] } },
    { metadata: { finalizers: ["b", "c"] } },
  ],
  "keeps only what is named": [
    { spec: { volumes: [{ name: "v", emptyDir: {} }] } },
    {
      spec: {
        volumes: [{ name: "v", $retainKeys: ["name", "secret"], secret: { secretName: "s" } }],
      },
    },
    { spec: { volumes: [{ name: "v", secret: { secretName: "s" } }] } },
  ],
  "removes members": [{ metadata: { labels: { a: "1", b: "2" } } }, {
    metadata: { labels: { a: null } },
  }, { metadata: { labels: { b: "2" } } }],
};
for (const [sentence, [document, patch, want]] of Object.entries(strategicCases)) {
  Deno.test(`applyStrategicPatch() ${sentence}`, () => {
    const before = structuredClone(document);
    assert.deepEqual(applyStrategicPatch(document, patch, POD), want);
    assert.deepEqual(document, before);
  });
}

Deno.test("applyMergePatch() with the document itself changes nothing", () => {
  const json = fc.dictionary(
    fc.string(),
    fc.oneof(fc.string(), fc.integer(), fc.array(fc.integer())),
  );
  fc.assert(fc.property(json, (document) => {
    assert.ok(sameJson(applyMergePatch(document, document), document));
  }));
});

const status = { conditions: [{ type: "A", status: "False" }, { type: "B.C", status: "True" }] };
const paths: Record<string, unknown[]> = {
  ".metadata.name": ["n"],
  "{.metadata.name}": ["n"],
  '.status.conditions[?(@.type=="A")].status': ["False"],
  ".status.conditions[?(@.type=='B.C')].status": ["True"],
  ".status.conditions[*].type": ["A", "B.C"],
  ".status.conditions[-1].type": ["B.C"],
  ".metadata.labels.example\\.com/a": [],
  ".metadata.labels['x.y/z']": ["1"],
  ".none.at.all": [],
  ".status.conditions[-1:].type": [status.conditions.at(-1)?.type],
  ".status.conditions[:1].type": [status.conditions[0]?.type],
  ".status.conditions[5:].type": [],
  "][": [],
};
for (const [path, want] of Object.entries(paths)) {
  Deno.test(`jsonPath() reads ${path}`, () => {
    const object = { metadata: { name: "n", labels: { "x.y/z": "1" } }, status };
    assert.deepEqual(jsonPath(path)(object), want);
  });
}
