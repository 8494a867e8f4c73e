/** Controllers of namespaces and CustomResourceDefinitions: both go only after the objects that they hold. */
import { objectAt, textAt } from "../../../platform/base/json.ts";
import type { Resource } from "../kinds/api_resource.ts";
import { ignoring } from "../objects/status_error.ts";
import { type Context, systemCall } from "../operations/context.ts";
import { deleteObject } from "../operations/deletions.ts";
import { FINALIZERS, namespaceFinalizers } from "../operations/strategy.ts";
import { createObject, updateObject } from "../operations/writes.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import type { Change, ResourceKey } from "../storage/store.ts";
import { createSerialQueue } from "./serial_queue.ts";

const { namespaces: NAMESPACES, customResourceDefinitions: DEFINITIONS } = KEYS;
const NAMESPACE_CONTROLLER = "namespace-controller";
const CRD_CONTROLLER = "customresourcedefinition-controller";

/** Deletes the objects of a kind, in a namespace or everywhere. Returns true if none is left. */
async function deleteObjects(
  context: Context,
  controller: string,
  resource: Resource,
  namespace?: string,
): Promise<boolean> {
  const { store } = context;
  for (const object of store.list(resource, namespace)) {
    if (object.metadata.deletionTimestamp !== undefined) continue;
    const call = systemCall(controller, resource, object.metadata);
    await deleteObject(context, call, { propagationPolicy: "Background" }).catch(ignoring(404));
  }
  return store.list(resource, namespace).length === 0;
}

/** Returns each stored kind once, whatever its versions. */
function storedKinds({ registry }: Context): Resource[] {
  const kinds = registry.all().filter(({ review }) => !review);
  return [...new Map(kinds.map((one) => [`${one.group}/${one.resource}`, one])).values()];
}

async function finishNamespace(context: Context, name: string): Promise<void> {
  const { store } = context;
  const namespace = store.get(NAMESPACES, undefined, name);
  if (!namespace) return;
  if (namespace.metadata.deletionTimestamp === undefined) {
    return await createDefaults(context, name);
  }
  let isEmpty = true;
  for (const resource of storedKinds(context)) {
    if (!resource.namespaced) continue;
    if (!await deleteObjects(context, NAMESPACE_CONTROLLER, resource, name)) isEmpty = false;
  }
  if (!isEmpty) return;
  const now = store.get(NAMESPACES, undefined, name);
  if (!now || now.metadata.uid !== namespace.metadata.uid) return;
  if (!now.metadata.finalizers?.length) store.remove(NAMESPACES, undefined, name);
  else if (namespaceFinalizers(now) > 0) {
    store.put(NAMESPACES, { ...now, spec: { ...objectAt(now, "spec"), finalizers: [] } });
  }
}

/** Creates what every namespace has: the service account `default`, and the CA by which pods verify the server. */
async function createDefaults(context: Context, namespace: string): Promise<void> {
  const data = { "ca.crt": context.caCertificate };
  const wanted = [
    { resource: "serviceaccounts", name: "default", object: {} },
    { resource: "configmaps", name: "kube-root-ca.crt", object: { data } },
  ];
  for (const { resource: plural, name, object } of wanted) {
    const resource = context.registry.byPath("", "v1", plural);
    if (!resource) continue;
    const present = context.store.get(resource, namespace, name);
    const metadata = { name, namespace };
    const call = systemCall(NAMESPACE_CONTROLLER, resource, { name, namespace });
    if (!present) {
      const created = createObject(context, call, { ...object, metadata });
      await created.catch(ignoring(403, 404, 409));
    } else if (plural === "configmaps" && textAt(present.data, "ca.crt") !== data["ca.crt"]) {
      await updateObject(context, call, (current) => ({ ...current, data }));
    }
  }
}

async function finishDefinition(context: Context, name: string): Promise<void> {
  const { store, registry } = context;
  const definition = store.get(DEFINITIONS, undefined, name);
  if (definition?.metadata.deletionTimestamp === undefined) return;
  const key = {
    group: textAt(definition.spec, "group") ?? "",
    resource: textAt(definition.spec, "names", "plural") ?? "",
  };
  const resource = registry.byKey(key);
  if (resource && !await deleteObjects(context, CRD_CONTROLLER, resource)) return;
  const crd = registry.byKey(DEFINITIONS);
  if (!crd) return;
  await updateObject(context, systemCall(CRD_CONTROLLER, crd, definition.metadata), (current) => ({
    ...current,
    metadata: {
      ...current.metadata,
      finalizers: current.metadata.finalizers?.filter((one) => one !== FINALIZERS.customResources),
    },
  }));
}

/** Starts both controllers and returns a function that stops them. */
export function startContentControllers(context: Context): () => Promise<void> {
  const { store } = context;
  const queue = createSerialQueue("namespaces and definitions", async (key) => {
    const [kind, name = ""] = key.split(" ");
    if (kind === "namespace") return await finishNamespace(context, name);
    await finishDefinition(context, name);
  });
  const terminating = (key: ResourceKey, name: string) =>
    store.get(key, undefined, name)?.metadata.deletionTimestamp !== undefined;
  const note = ({ key, object, type }: Pick<Change, "key" | "object" | "type">) => {
    const { name, namespace } = object.metadata;
    if (sameKey(key, NAMESPACES)) queue.add(`namespace ${name}`);
    if (sameKey(key, DEFINITIONS)) queue.add(`crd ${name}`);
    if (type !== "DELETED") return;
    const isDefault = name === "default" || name === "kube-root-ca.crt";
    if (namespace !== undefined && (isDefault || terminating(NAMESPACES, namespace))) {
      queue.add(`namespace ${namespace}`);
    }
    const definition = `${key.resource}.${key.group}`;
    if (terminating(DEFINITIONS, definition)) queue.add(`crd ${definition}`);
  };
  for (const key of [NAMESPACES, DEFINITIONS]) {
    for (const object of store.list(key)) note({ key, object, type: "ADDED" });
  }
  const unsubscribe = store.subscribe(note);
  return async () => {
    unsubscribe();
    await queue.stop();
  };
}
