/** Handler of subresources besides `status`: scale, log, binding, eviction, token, finalize. */
import {
  isObject,
  type JsonObject,
  numberAt,
  objectAt,
  objectsAt,
  textAt,
} from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import * as field from "../../../crds/status_cause.ts";
import { jsonPath } from "../objects/json_path.ts";
import {
  badRequest,
  conflict,
  invalid,
  methodNotAllowed,
  noSuchPath,
} from "../objects/status_error.ts";
import { deleteObject, deleteOptions } from "../operations/deletions.ts";
import { existing, updateObject } from "../operations/writes.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import { readJson } from "./body.ts";
import { type Operation, respond } from "./operation.ts";
import { readPatch } from "./patch_request.ts";
import { podLog } from "./pod_log.ts";
import { refusalOf, refusedStream } from "./refused_stream.ts";

type Handler = (operation: Operation) => Response | Promise<Response>;

const CREATED = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };

/** Returns a copy with the value at a path such as `.spec.replicas`. */
function withValue(object: JsonObject, path: string, value: unknown): JsonObject {
  const [head = "", ...rest] = path.split(".").filter((part) => part !== "");
  const next = rest.length === 0 ? value : withValue(objectAt(object, head), rest.join("."), value);
  return { ...object, [head]: next };
}

function selectorText(selector: unknown): string | undefined {
  if (typeof selector === "string") return selector;
  if (!isObject(selector)) return undefined;
  const labels = isObject(selector.matchLabels) ? selector.matchLabels : selector;
  return Object.entries(labels).map(([key, value]) => `${key}=${value}`).join(",");
}

function scaleOf(object: ApiObject, paths: NonNullable<Operation["call"]["resource"]["scale"]>) {
  const read = (path: string | undefined) => path ? jsonPath(path)(object)[0] : undefined;
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = selectorText(read(paths.labelSelectorPath));
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    // Zero replicas are left out, as Go does.
    spec: { ...(read(paths.specReplicasPath) ? { replicas: read(paths.specReplicasPath) } : {}) },
    status: {
      replicas: read(paths.statusReplicasPath) ?? 0,
      ...(selector !== undefined && { selector }),
    },
  };
}

async function scale(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const paths = call.resource.scale;
  if (!paths) throw noSuchPath();
  const { verb } = incoming.info;
  if (verb === "get") return respond(operation, scaleOf(existing(context, call), paths));
  if (verb !== "update" && verb !== "patch") throw methodNotAllowed();
  const sent = verb === "update" ? await readJson(incoming.request) : undefined;
  const change = verb === "update"
    ? () => sent
    : await readPatch(incoming.request, { ...call, resource: { ...call.resource, custom: true } });
  const main = { ...call, subresource: undefined };
  const updated = await updateObject(context, main, (current) => {
    const after = change({ ...scaleOf(current, paths), metadata: current.metadata });
    const replicas = numberAt(after, "spec", "replicas") ?? 0;
    if (!Number.isInteger(replicas) || replicas < 0) {
      const detail = "must be greater than or equal to 0";
      const cause = field.invalid("spec.replicas", replicas, detail);
      throw invalid({ group: "autoscaling", kind: "Scale" }, current.metadata.name, [cause]);
    }
    const version = textAt(after, "metadata", "resourceVersion");
    if (version && version !== current.metadata.resourceVersion) {
      throw conflict(call.resource, current.metadata.name, "the object has been modified");
    }
    return withValue(current, paths.specReplicasPath, replicas);
  });
  return respond(operation, scaleOf(updated, paths));
}

/** Binds an unassigned pod to a node, for a scheduler. */
async function bind(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const nodeName = textAt(objectAt(await readJson(incoming.request), "target"), "name");
  if (!nodeName) throw badRequest("target.name must be the name of a node");
  const main = { ...call, subresource: undefined };
  const bound = await updateObject(context, main, (pod) => {
    const assigned = textAt(pod.spec, "nodeName");
    if (assigned) {
      const name = pod.metadata.name;
      throw conflict(call.resource, name, `pod ${name} is already assigned to node "${assigned}"`);
    }
    return { ...pod, spec: { ...objectAt(pod, "spec"), nodeName } };
  });
  await updateObject(context, { ...call, subresource: "status" }, (pod) => {
    const others = objectsAt(pod.status, "conditions").filter((one) => one.type !== "PodScheduled");
    const scheduled = {
      type: "PodScheduled",
      status: "True",
      lastTransitionTime: bound.metadata.creationTimestamp,
    };
    return { ...pod, status: { ...objectAt(pod, "status"), conditions: [...others, scheduled] } };
  });
  return respond(operation, CREATED, 201);
}

async function evict(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const body = await readJson(incoming.request);
  const options = deleteOptions(
    isObject(body) ? body.deleteOptions : undefined,
    new URLSearchParams(),
  );
  await deleteObject(context, { ...call, subresource: undefined }, options);
  return respond(operation, CREATED, 201);
}

async function token(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const serviceAccount = existing(context, call);
  const body = await readJson(incoming.request);
  const answer = await context.access.createToken(serviceAccount, body);
  return respond(operation, answer, 201);
}

/** Replaces the finalizers in a namespace's spec. */
async function finalize(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const body = await readJson(incoming.request);
  const { finalizers } = objectAt(body, "spec");
  const next = await updateObject(context, call, (current) => ({
    ...current,
    spec: { ...objectAt(current, "spec"), finalizers: finalizers ?? [] },
  }));
  return respond(operation, next);
}

/** Subresources with the one verb of each. */
const HANDLERS: Readonly<Record<string, { readonly verb: string; readonly handle: Handler }>> = {
  log: { verb: "get", handle: podLog },
  binding: { verb: "create", handle: bind },
  eviction: { verb: "create", handle: evict },
  token: { verb: "create", handle: token },
  finalize: { verb: "update", handle: finalize },
};

/** Handles a request for a subresource. Throws a `StatusError`. */
export async function handleSubresource(operation: Operation): Promise<Response> {
  const { resource, subresource = "" } = operation.call;
  if (subresource === "scale") return await scale(operation);
  const known = HANDLERS[subresource];
  if (known && resource.subresources.includes(subresource)) {
    if (operation.incoming.info.verb !== known.verb) throw methodNotAllowed();
    return await known.handle(operation);
  }
  const refusal = sameKey(resource, KEYS.pods) ? refusalOf(operation) : undefined;
  if (refusal === undefined) throw noSuchPath();
  return refusedStream(operation, refusal);
}
