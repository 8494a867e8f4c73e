/** Test of the rule for quick tests: nothing that they import can touch the machine. */
import assert from "node:assert/strict";
import { findTests, Purity } from "./support/pure_tests.ts";

const FILES: Readonly<Record<string, string>> = {
  "tests/pure_test.ts": 'import { add } from "../crds/add.ts";\nadd(1, 2);',
  "crds/add.ts":
    "/** Never does fetch(url). */\nexport const add = (a: number, b: number) => a + b;",
  "tests/direct_test.ts": "await fetch(url);",
  "tests/indirect_test.ts": 'import { send } from "../platform/kube/send.ts";\nsend();',
  "platform/kube/send.ts": 'export * from "./socket.ts";',
  "platform/kube/socket.ts":
    'import { connect } from "node:net";\nexport const send = () => connect(1);',
  "tests/typed_test.ts":
    'import type { send } from "../platform/kube/send.ts";\nlet it: typeof send;',
  "tests/circular_test.ts": 'import "./circle.ts";\nimport { a } from "./circle.ts";\na();',
  "tests/circle.ts":
    'import { b } from "./circular_test.ts";\nexport const a = () => new Deno.Command(b);',
};
const cases: Readonly<Record<string, { path: string; want: boolean }>> = {
  "a file that calls what computes": { path: "tests/pure_test.ts", want: true },
  "a file that opens a connection": { path: "tests/direct_test.ts", want: false },
  "a file that imports what opens one": { path: "tests/indirect_test.ts", want: false },
  "a file that imports types alone": { path: "tests/typed_test.ts", want: true },
  "a file in a cycle with one that starts a program": {
    path: "tests/circular_test.ts",
    want: false,
  },
};
for (const [sentence, { path, want }] of Object.entries(cases)) {
  Deno.test(`isPure() knows ${sentence}`, () => {
    assert.equal(new Purity((it) => FILES[it] ?? "").isPure(path), want);
  });
}

Deno.test("every test of the pure rooms is quick, and none that starts a server", () => {
  const { all, pure } = findTests();
  const quick = new Set(pure);
  const inRooms = (...rooms: string[]) =>
    all.filter((path) => rooms.some((room) => path.startsWith(`tests/${room}/`)));
  const pureRooms = inRooms("crds", "trials", "controller");
  assert.ok(pureRooms.length > 20, `only ${pureRooms.length} tests of pure rooms were found`);
  assert.deepEqual(pureRooms.filter((path) => !quick.has(path)), []);
  assert.deepEqual(inRooms("clients", "cluster").filter((path) => quick.has(path)), []);
});
