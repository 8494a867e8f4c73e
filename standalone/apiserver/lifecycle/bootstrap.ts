/** Bootstrap objects: namespaces, roles and bindings, and priority classes. */
import { textAt } from "../../../platform/base/json.ts";
import { NODES } from "../../../crds/pod_names.ts";
import { bootstrapRbac } from "../access/bootstrap_roles.ts";
import { ignoring } from "../objects/status_error.ts";
import { type Context, systemCall } from "../operations/context.ts";
import { createObject } from "../operations/writes.ts";

const NAMESPACES = ["default", "kube-system", "kube-public", NODES.leaseNamespace];
const PRIORITY_CLASSES = { "system-cluster-critical": 2e9, "system-node-critical": 2e9 + 1000 };

async function ensure(
  context: Context,
  group: string,
  plural: string,
  body: Record<string, unknown> & { metadata: { name: string } },
): Promise<void> {
  const resource = context.registry.byPath(group, "v1", plural);
  if (!resource || context.store.get(resource, undefined, body.metadata.name)) return;
  const call = systemCall("bootstrap", resource, body.metadata);
  await createObject(context, call, body).catch(ignoring(409));
}

/** Creates the bootstrap objects that are missing. */
export async function bootstrap(context: Context): Promise<void> {
  for (const name of NAMESPACES) {
    await ensure(context, "", "namespaces", { metadata: { name } });
  }
  for (const object of bootstrapRbac()) {
    const plural = `${textAt(object, "kind")?.toLowerCase()}s`;
    await ensure(context, "rbac.authorization.k8s.io", plural, object);
  }
  for (const [name, value] of Object.entries(PRIORITY_CLASSES)) {
    await ensure(context, "scheduling.k8s.io", "priorityclasses", { metadata: { name }, value });
  }
}
