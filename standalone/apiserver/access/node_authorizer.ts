/** Node authorizer: a kubelet may use its node, the pods on it, and what those pods refer to. */
import { objectsAt, textAt } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { KEYS } from "../storage/resource_keys.ts";
import type { ObjectReader } from "../storage/store.ts";
import type { Attributes, ResourceAttributes, User } from "./user.ts";

const NODES_GROUP = "system:nodes";
const NODE_USER = "system:node:";
const READ = ["get", "list", "watch"];
const WRITE = ["create", "update", "patch"];

/** Returns the name of the node that the user is; undefined for any other user. */
function nodeNameOf(user: User): string | undefined {
  if (!user.groups.includes(NODES_GROUP) || !user.name.startsWith(NODE_USER)) return undefined;
  return user.name.slice(NODE_USER.length);
}

/** Permissions of every node, whatever runs on it: verbs by `group/resource/subresource`. */
const ALWAYS: Readonly<Record<string, readonly string[]>> = {
  "/pods/": READ,
  "/services/": READ,
  "/namespaces/": READ,
  "/nodes/": READ,
  "/persistentvolumes/": READ,
  "/persistentvolumeclaims/": READ,
  "/events/": WRITE,
  "authentication.k8s.io/tokenreviews/": ["create"],
  "authorization.k8s.io/subjectaccessreviews/": ["create"],
  "certificates.k8s.io/certificatesigningrequests/": ["create", ...READ],
  "node.k8s.io/runtimeclasses/": READ,
  "storage.k8s.io/csidrivers/": READ,
};

/** Says if the user is a node that may send the request. */
export function nodeMay(user: User, attributes: Attributes, store: ObjectReader): boolean {
  const node = nodeNameOf(user);
  if (node === undefined || "path" in attributes) return false;
  const { verb, group, resource, subresource = "" } = attributes;
  const key = `${group}/${resource}/${subresource}`;
  if (ALWAYS[key]?.includes(verb)) return true;
  return own(key, attributes, node, store);
}

function own(
  key: string,
  attributes: ResourceAttributes,
  node: string,
  store: ObjectReader,
): boolean {
  const { verb, name, namespace } = attributes;
  switch (key) {
    case "/nodes/":
      return verb === "create" || (WRITE.includes(verb) && name === node);
    case "/nodes/status":
      return ["update", "patch", "get"].includes(verb) && name === node;
    case "coordination.k8s.io/leases/":
      return namespace === "kube-node-lease" && (verb === "create" || name === node);
    case "/pods/":
      return verb === "delete" && runsHere(store.get(KEYS.pods, namespace, name ?? ""), node);
    case "/pods/status":
      return ["update", "patch", "get"].includes(verb) &&
        runsHere(store.get(KEYS.pods, namespace, name ?? ""), node);
    case "/persistentvolumeclaims/status":
      return ["update", "patch", "get"].includes(verb) &&
        podsHere(store, namespace, node).some((pod) =>
          objectsAt(pod.spec, "volumes").some((volume) =>
            textAt(volume, "persistentVolumeClaim", "claimName") === name
          )
        );
    case "/configmaps/":
    case "/secrets/":
    case "/serviceaccounts/":
      return READ.includes(verb) && podsHere(store, namespace, node).length > 0;
    case "/serviceaccounts/token":
      return verb === "create" &&
        podsHere(store, namespace, node).some((pod) =>
          (textAt(pod, "spec", "serviceAccountName") || "default") === name
        );
    default:
      return false;
  }
}

function runsHere(pod: ApiObject | undefined, node: string): boolean {
  return pod !== undefined && textAt(pod, "spec", "nodeName") === node;
}

/** Returns the node's pods in one namespace; no pods if the request names no namespace. */
function podsHere(store: ObjectReader, namespace: string | undefined, node: string): ApiObject[] {
  if (!namespace) return [];
  return store.list(KEYS.pods, namespace).filter((pod) => runsHere(pod, node));
}
