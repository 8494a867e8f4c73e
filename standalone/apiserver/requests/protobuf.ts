/**
 * Decoder of Kubernetes' protobuf bodies, for the kinds that kubectl sends in no other form (`create
 * namespace`, `create token`, `auth can-i`).
 */
import type { JsonObject } from "../../../platform/base/json.ts";
import { badRequest, unsupportedMediaType } from "../objects/status_error.ts";

/** Media type of protobuf bodies. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** Name and type of the fields of a message, by number. */
type Message = Readonly<Record<number, readonly [name: string, type: FieldType]>>;
type FieldType =
  | "text"
  | "texts"
  | "integer"
  | "boolean"
  | "bytes"
  | { readonly one: Message }
  | { readonly many: Message }
  | { readonly map: "text" | "bytes" };

const METADATA: Message = {
  1: ["name", "text"],
  2: ["generateName", "text"],
  3: ["namespace", "text"],
  5: ["uid", "text"],
  6: ["resourceVersion", "text"],
  11: ["labels", { map: "text" }],
  12: ["annotations", { map: "text" }],
  13: ["ownerReferences", {
    many: {
      1: ["kind", "text"],
      3: ["name", "text"],
      4: ["uid", "text"],
      5: ["apiVersion", "text"],
      6: ["controller", "boolean"],
      7: ["blockOwnerDeletion", "boolean"],
    },
  }],
  14: ["finalizers", "texts"],
};

function kind(fields: Message): Message {
  return { 1: ["metadata", { one: METADATA }], ...fields };
}

const RULES: Message = {
  2: ["rules", {
    many: {
      1: ["verbs", "texts"],
      2: ["apiGroups", "texts"],
      3: ["resources", "texts"],
      4: ["resourceNames", "texts"],
      5: ["nonResourceURLs", "texts"],
    },
  }],
};
const BINDING: Message = {
  2: ["subjects", {
    many: {
      1: ["kind", "text"],
      2: ["apiGroup", "text"],
      3: ["name", "text"],
      4: ["namespace", "text"],
    },
  }],
  3: ["roleRef", { one: { 1: ["apiGroup", "text"], 2: ["kind", "text"], 3: ["name", "text"] } }],
};
const ACCESS: Message = {
  2: ["spec", {
    one: {
      1: ["resourceAttributes", {
        one: {
          1: ["namespace", "text"],
          2: ["verb", "text"],
          3: ["group", "text"],
          4: ["version", "text"],
          5: ["resource", "text"],
          6: ["subresource", "text"],
          7: ["name", "text"],
        },
      }],
      2: ["nonResourceAttributes", { one: { 1: ["path", "text"], 2: ["verb", "text"] } }],
    },
  }],
};
const TOKEN: Message = {
  2: ["spec", {
    one: {
      1: ["audiences", "texts"],
      3: ["boundObjectRef", {
        one: {
          1: ["kind", "text"],
          2: ["apiVersion", "text"],
          3: ["name", "text"],
          4: ["uid", "text"],
        },
      }],
      4: ["expirationSeconds", "integer"],
    },
  }],
};

const KINDS: Readonly<Record<string, Message>> = {
  "v1 Namespace": kind({}),
  "v1 ServiceAccount": kind({}),
  "v1 ConfigMap": kind({
    2: ["data", { map: "text" }],
    3: ["binaryData", { map: "bytes" }],
    4: ["immutable", "boolean"],
  }),
  "v1 Secret": kind({
    2: ["data", { map: "bytes" }],
    3: ["type", "text"],
    4: ["stringData", { map: "text" }],
    5: ["immutable", "boolean"],
  }),
  "rbac.authorization.k8s.io/v1 Role": kind(RULES),
  "rbac.authorization.k8s.io/v1 ClusterRole": kind(RULES),
  "rbac.authorization.k8s.io/v1 RoleBinding": kind(BINDING),
  "rbac.authorization.k8s.io/v1 ClusterRoleBinding": kind(BINDING),
  "authentication.k8s.io/v1 TokenRequest": kind(TOKEN),
  "authentication.k8s.io/v1 SelfSubjectReview": kind({}),
  "authorization.k8s.io/v1 SelfSubjectAccessReview": kind(ACCESS),
  "authorization.k8s.io/v1 SelfSubjectRulesReview": kind({
    2: ["spec", { one: { 1: ["namespace", "text"] } }],
  }),
  "v1 DeleteOptions": {
    1: ["gracePeriodSeconds", "integer"],
    2: ["preconditions", { one: { 1: ["uid", "text"], 2: ["resourceVersion", "text"] } }],
    3: ["orphanDependents", "boolean"],
    4: ["propagationPolicy", "text"],
    5: ["dryRun", "texts"],
  },
};

/** Magic number of four bytes before every message: `k8s` and a zero byte. */
const MAGIC = [0x6b, 0x38, 0x73, 0];
/** Reader of numbers and byte strings. Throws 400 beyond the end. */
class Reader {
  #at = 0;
  constructor(readonly bytes: Uint8Array) {}

  get done(): boolean {
    return this.#at >= this.bytes.length;
  }

  varint(): number {
    let [value, scale] = [0, 1];
    for (let byte = 0x80; byte & 0x80; scale *= 128) {
      byte = this.take(1)[0] ?? 0;
      value += (byte & 0x7f) * scale;
      if (scale > 2 ** 63) throw badRequest("the protobuf body has a number that is too long");
    }
    return value;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.bytes.length) throw badRequest("the protobuf body ends too early");
    const part = this.bytes.subarray(this.#at, end);
    this.#at = end;
    return part;
  }

  /** Reads the value of a field of a wire type. */
  value(wireType: number): number | Uint8Array {
    if (wireType === 0) return this.varint();
    if (wireType === 1) return this.take(8);
    if (wireType === 2) return this.take(this.varint());
    if (wireType === 5) return this.take(4);
    throw badRequest(`the protobuf body has a field of unknown type ${wireType}`);
  }
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns the value of a field after another occurrence of it. */
function combined(type: FieldType, value: number | Uint8Array, before: unknown): unknown {
  if (typeof value === "number") return type === "boolean" ? value !== 0 : value;
  if (type === "text") return new TextDecoder().decode(value);
  if (type === "texts") return [...listOf(before), new TextDecoder().decode(value)];
  if (typeof type === "string") return value.toBase64();
  if ("one" in type) return decodeMessage(value, type.one);
  if ("many" in type) return [...listOf(before), decodeMessage(value, type.many)];
  const { key, value: item } = decodeMessage(value, { 1: ["key", "text"], 2: ["value", type.map] });
  return { ...(typeof before === "object" && before), [`${key ?? ""}`]: item ?? "" };
}

function decodeMessage(bytes: Uint8Array, message: Message): JsonObject {
  const reader = new Reader(bytes);
  const decoded: JsonObject = {};
  while (!reader.done) {
    const tag = reader.varint();
    const value = reader.value(tag & 7);
    const field = message[Math.floor(tag / 8)];
    if (!field) continue;
    const [name, type] = field;
    decoded[name] = combined(type, value, decoded[name]);
  }
  return withoutEmptyTexts(decoded);
}

/** Drops empty texts, which Kubernetes writes for unset fields. */
function withoutEmptyTexts(message: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(message).filter(([, value]) => value !== ""));
}

/** Decodes a body. Throws 400 if it is malformed, and 415 for other kinds. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject | undefined {
  if (bytes.length === 0) return undefined;
  if (!MAGIC.every((byte, index) => bytes[index] === byte)) {
    throw badRequest("the protobuf body does not begin with the prefix of Kubernetes");
  }
  const reader = new Reader(bytes.subarray(MAGIC.length));
  let [head, raw]: [JsonObject, Uint8Array] = [{}, new Uint8Array()];
  while (!reader.done) {
    const tag = reader.varint();
    const value = reader.value(tag & 7);
    if (typeof value === "number") continue;
    const field = Math.floor(tag / 8);
    if (field === 1) {
      head = decodeMessage(value, { 1: ["apiVersion", "text"], 2: ["kind", "text"] });
    }
    if (field === 2) raw = value;
  }
  const { apiVersion, kind } = head;
  // Every group has its own DeleteOptions.
  const name = kind === "DeleteOptions" ? "v1 DeleteOptions" : `${apiVersion} ${kind}`;
  const message = KINDS[name];
  if (!message) {
    throw unsupportedMediaType(
      `this API server reads ${kind} in JSON only, not in ${PROTOBUF}: with kubectl, use ` +
        "`--dry-run=client -o yaml | kubectl apply -f -`",
    );
  }
  return { apiVersion, kind, ...decodeMessage(raw, message) };
}
