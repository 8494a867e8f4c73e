/** Tests of `requests/protobuf.ts`. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { decodeProtobuf } from "../../../../standalone/apiserver/requests/protobuf.ts";

/** A field of bytes, a text or a message, as `[number, value]`. */
type Field = readonly [number, string | Buffer];

/** Returns a message of fields that are each shorter than 128 bytes. */
function message(...fields: Field[]): Buffer {
  return Buffer.concat(fields.map(([number, value]) => {
    const bytes = Buffer.from(value);
    return Buffer.concat([Buffer.from([number << 3 | 2, bytes.length]), bytes]);
  }));
}

const varint = (number: number, value: number) => Buffer.from([number << 3, value]);

function body(apiVersion: string, kind: string, raw: Buffer): Buffer {
  const head = message([1, apiVersion], [2, kind]);
  return Buffer.concat([Buffer.from("k8s\0"), message([1, head], [2, raw], [3, ""], [4, ""])]);
}

const METADATA = message(
  [1, "a"],
  [2, ""], // Kubernetes writes unset texts, too.
  [11, message([1, "empty"], [2, ""])],
  [11, message([1, "x"], [2, "y"])],
  [14, "f"],
);

const bodies: Record<string, { bytes: Buffer; want: unknown }> = {
  "a Secret": {
    bytes: body(
      "v1",
      "Secret",
      message([1, METADATA], [2, message([1, "k"], [2, Buffer.from([0, 1, 2])])], [3, "Opaque"]),
    ),
    want: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "a", labels: { empty: "", x: "y" }, finalizers: ["f"] },
      data: { k: "AAEC" },
      type: "Opaque",
    },
  },
  "the binding of a role, with fields that are not read": {
    bytes: body(
      "rbac.authorization.k8s.io/v1",
      "RoleBinding",
      message(
        [1, message([1, "a"], [9, "unknown"])],
        [2, message([1, "User"], [3, "ann"], [4, ""])],
        [3, message([2, "Role"], [3, "r"])],
      ),
    ),
    want: {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "RoleBinding",
      metadata: { name: "a" },
      subjects: [{ kind: "User", name: "ann" }],
      roleRef: { kind: "Role", name: "r" },
    },
  },
  "the options of a deletion, in the version of any group": {
    bytes: body(
      "meta.k8s.io/v1",
      "DeleteOptions",
      Buffer.concat([varint(1, 5), varint(3, 0), message([5, "All"])]),
    ),
    want: {
      apiVersion: "meta.k8s.io/v1",
      kind: "DeleteOptions",
      gracePeriodSeconds: 5,
      orphanDependents: false,
      dryRun: ["All"],
    },
  },
  "nothing": { bytes: Buffer.alloc(0), want: undefined },
};

for (const [what, { bytes, want }] of Object.entries(bodies)) {
  Deno.test(`decodeProtobuf() of ${what}`, () => assert.deepEqual(decodeProtobuf(bytes), want));
}

const bytes = (...parts: (string | number)[]) =>
  new Uint8Array(
    parts.flatMap((part) =>
      typeof part === "string" ? [...new TextEncoder().encode(part)] : [part]
    ),
  );
const HEAD = ["k8s", 0, 10, 15, 10, 2, "v1", 18, 9, "Namespace"];

Deno.test("decodeProtobuf() reads what kubectl create namespace sends", () => {
  const body = bytes(...HEAD, 18, 7, 10, 5, 10, 3, "foo", 26, 0, 34, 0);
  assert.deepEqual(decodeProtobuf(body), {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "foo" },
  });
});

const broken: Record<string, [Uint8Array, RegExp]> = {
  "another prefix": [bytes("json"), /does not begin with the prefix/],
  "an early end": [bytes(...HEAD, 18, 7, 10), /ends too early/],
  "an endless number": [bytes("k8s", 0, ...Array(12).fill(0xff)), /too long|ends too early/],
  "a field of unknown type": [bytes(...HEAD, 18, 1, 0x27), /field of unknown type/],
  "a kind it does not read": [
    bytes("k8s", 0, 10, 9, 10, 2, "v1", 18, 3, "Pod"),
    /reads Pod in JSON only/,
  ],
  "a kind of another group": [body("apps/v1", "Secret", message()), /reads Secret in JSON only/],
};
for (const [sentence, [body, want]] of Object.entries(broken)) {
  Deno.test(`decodeProtobuf() refuses ${sentence}`, () => {
    assert.throws(() => decodeProtobuf(body), want);
  });
}
