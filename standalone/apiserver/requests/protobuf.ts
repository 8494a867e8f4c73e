/**
 * Decoder of Kubernetes' protobuf bodies, for the kinds that kubectl sends in no other form (`create
 * namespace`, `create token`, `auth can-i`).
 */
import protobuf from "protobufjs/index.js";
import { asObject, type JsonObject } from "../../../platform/base/json.ts";
import { badRequest, unsupportedMediaType } from "../objects/status_error.ts";

/** Media type of protobuf bodies. */
export const PROTOBUF = "application/vnd.kubernetes.protobuf";

/** The messages, as far as they are read: excerpts of each group's `generated.proto`. */
const PROTO = `
syntax = "proto3";
message Unknown { TypeMeta typeMeta = 1; bytes raw = 2; }
message TypeMeta { string apiVersion = 1; string kind = 2; }
message ObjectMeta {
  string name = 1;
  string generateName = 2;
  string namespace = 3;
  string uid = 5;
  string resourceVersion = 6;
  map<string, string> labels = 11;
  map<string, string> annotations = 12;
  repeated OwnerReference ownerReferences = 13;
  repeated string finalizers = 14;
}
message OwnerReference {
  string kind = 1;
  string name = 3;
  string uid = 4;
  string apiVersion = 5;
  bool controller = 6;
  bool blockOwnerDeletion = 7;
}
message Namespace { ObjectMeta metadata = 1; }
message ServiceAccount { ObjectMeta metadata = 1; }
message ConfigMap {
  ObjectMeta metadata = 1;
  map<string, string> data = 2;
  map<string, bytes> binaryData = 3;
  bool immutable = 4;
}
message Secret {
  ObjectMeta metadata = 1;
  map<string, bytes> data = 2;
  string type = 3;
  map<string, string> stringData = 4;
  bool immutable = 5;
}
message DeleteOptions {
  int64 gracePeriodSeconds = 1;
  Preconditions preconditions = 2;
  bool orphanDependents = 3;
  string propagationPolicy = 4;
  repeated string dryRun = 5;
}
message Preconditions { string uid = 1; string resourceVersion = 2; }
message Role { ObjectMeta metadata = 1; repeated PolicyRule rules = 2; }
message ClusterRole { ObjectMeta metadata = 1; repeated PolicyRule rules = 2; }
message PolicyRule {
  repeated string verbs = 1;
  repeated string apiGroups = 2;
  repeated string resources = 3;
  repeated string resourceNames = 4;
  repeated string nonResourceURLs = 5;
}
message RoleBinding { ObjectMeta metadata = 1; repeated Subject subjects = 2; RoleRef roleRef = 3; }
message ClusterRoleBinding { ObjectMeta metadata = 1; repeated Subject subjects = 2; RoleRef roleRef = 3; }
message Subject { string kind = 1; string apiGroup = 2; string name = 3; string namespace = 4; }
message RoleRef { string apiGroup = 1; string kind = 2; string name = 3; }
message TokenRequest { ObjectMeta metadata = 1; TokenRequestSpec spec = 2; }
message TokenRequestSpec {
  repeated string audiences = 1;
  BoundObjectReference boundObjectRef = 3;
  int64 expirationSeconds = 4;
}
message BoundObjectReference { string kind = 1; string apiVersion = 2; string name = 3; string uid = 4; }
message SelfSubjectReview { ObjectMeta metadata = 1; }
message SelfSubjectAccessReview { ObjectMeta metadata = 1; SelfSubjectAccessReviewSpec spec = 2; }
message SelfSubjectAccessReviewSpec {
  ResourceAttributes resourceAttributes = 1;
  NonResourceAttributes nonResourceAttributes = 2;
}
message ResourceAttributes {
  string namespace = 1;
  string verb = 2;
  string group = 3;
  string version = 4;
  string resource = 5;
  string subresource = 6;
  string name = 7;
}
message NonResourceAttributes { string path = 1; string verb = 2; }
message SelfSubjectRulesReview { ObjectMeta metadata = 1; SelfSubjectRulesReviewSpec spec = 2; }
message SelfSubjectRulesReviewSpec { string namespace = 1; }
`;

/** The kinds that are read, by their `apiVersion`. */
const KINDS: Readonly<Record<string, readonly string[]>> = {
  "v1": ["Namespace", "ServiceAccount", "ConfigMap", "Secret"],
  "rbac.authorization.k8s.io/v1": ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"],
  "authentication.k8s.io/v1": ["TokenRequest", "SelfSubjectReview"],
  "authorization.k8s.io/v1": ["SelfSubjectAccessReview", "SelfSubjectRulesReview"],
};

/** Bytes before every message. */
const MAGIC = "k8s\0";

const messages: { root?: protobuf.Root } = {};

/** Returns a message without empty texts, which Kubernetes writes for unset fields. */
function withoutEmptyTexts(message: unknown, { fields }: protobuf.Type): JsonObject {
  const kept = Object.entries(asObject(message)).filter(([, value]) => value !== "");
  return Object.fromEntries(kept.map(([name, value]) => {
    const type = fields[name]?.resolvedType;
    if (!(type instanceof protobuf.Type)) return [name, value];
    const inner = (one: unknown) => withoutEmptyTexts(one, type);
    return [name, Array.isArray(value) ? value.map(inner) : inner(value)];
  }));
}

/** Decodes a message of a type; bytes become base64, or stay. Throws 400 if it is malformed. */
function decode(name: string, bytes: Uint8Array, inBase64 = true): JsonObject {
  messages.root ??= protobuf.parse(PROTO, { keepCase: true }).root;
  const type = messages.root.lookupType(name);
  try {
    const message = type.toObject(type.decode(bytes), {
      bytes: inBase64 ? String : undefined,
      longs: Number,
    });
    return withoutEmptyTexts(message, type);
  } catch (error) {
    if (error instanceof RangeError) throw badRequest("the protobuf body ends too early");
    const why = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the protobuf body has a field of unknown type, or a number that is too long: ${why}`,
    );
  }
}

/** Decodes a body. Throws 400 if it is malformed, and 415 for other kinds. */
export function decodeProtobuf(bytes: Uint8Array): JsonObject | undefined {
  if (bytes.length === 0) return undefined;
  if (new TextDecoder().decode(bytes.subarray(0, MAGIC.length)) !== MAGIC) {
    throw badRequest("the protobuf body does not begin with the prefix of Kubernetes");
  }
  const { typeMeta, raw } = decode("Unknown", bytes.subarray(MAGIC.length), false);
  const { apiVersion, kind } = asObject(typeMeta);
  // Every group has its own DeleteOptions.
  const isRead = kind === "DeleteOptions" || KINDS[`${apiVersion}`]?.includes(`${kind}`);
  if (!isRead) {
    throw unsupportedMediaType(
      `this API server reads ${kind} in JSON only, not in ${PROTOBUF}: with kubectl, use ` +
        "`--dry-run=client -o yaml | kubectl apply -f -`",
    );
  }
  const message = raw instanceof Uint8Array ? raw : new Uint8Array();
  return { apiVersion, kind, ...decode(`${kind}`, message) };
}
