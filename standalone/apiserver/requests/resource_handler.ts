/** Handler of requests for resources. */
import { isObject, textAt } from "../../../platform/base/json.ts";
import type { Resource } from "../kinds/api_resource.ts";
import type { ApiObject } from "../objects/api_object.ts";
import {
  badRequest,
  ignoring,
  invalidOptions,
  methodNotAllowed,
  noSuchPath,
} from "../objects/status_error.ts";
import { type Call, type Context, inVersion } from "../operations/context.ts";
import {
  deleteObject,
  type DeleteOptions,
  deleteOptions,
  type Deletion,
} from "../operations/deletions.ts";
import { listObjects } from "../operations/lists.ts";
import { mayCreate, sameUid } from "../operations/update_rules.ts";
import { watchObjects } from "../operations/watches.ts";
import { createObject, existing, updateObject } from "../operations/writes.ts";
import { acceptedForm, type View } from "../presentation/media_types.ts";
import { presenter, presentList, presentObject } from "../presentation/presenter.ts";
import { KEYS, sameKey } from "../storage/resource_keys.ts";
import { type Body, readBody, readJson } from "./body.ts";
import { type Incoming, type Operation, respond } from "./operation.ts";
import { readPatch } from "./patch_request.ts";
import { handleSubresource } from "./subresource_handler.ts";

const VALIDATIONS = ["Ignore", "Warn", "Strict"] as const;

function fieldValidation(query: URLSearchParams): Call["fieldValidation"] {
  const given = query.get("fieldValidation") || "Warn";
  const known = VALIDATIONS.find((one) => one === given);
  if (!known) {
    const names = VALIDATIONS.map((name) => `"${name}"`).join(", ");
    const detail = `Unsupported value: "${given}": supported values: "", ${names}`;
    throw invalidOptions("CreateOptions", "fieldValidation", detail);
  }
  return known;
}

function isDryRun(query: URLSearchParams): boolean {
  const given = query.getAll("dryRun").filter((value) => value !== "");
  const wrong = given.find((value) => value !== "All");
  if (wrong !== undefined) {
    const detail = `Unsupported value: "${wrong}": supported values: "All"`;
    throw invalidOptions("CreateOptions", "dryRun", detail);
  }
  return given.length > 0;
}

function callOf({ registry }: Context, { info, url, user }: Incoming): Call {
  const resource = registry.byPath(info.group, info.version, info.resource);
  if (!resource) throw noSuchPath();
  const isNamespace = sameKey(info, KEYS.namespaces);
  if (!resource.namespaced && info.namespace !== undefined && !isNamespace) throw noSuchPath();
  return {
    resource,
    subresource: info.subresource,
    namespace: resource.namespaced ? info.namespace : undefined,
    name: info.name,
    user,
    dryRun: isDryRun(url.searchParams),
    fieldValidation: fieldValidation(url.searchParams),
    warnings: [],
  };
}

function viewOf({ context, incoming, call, form }: Operation): View {
  return {
    resource: call.resource,
    form,
    includeObject: incoming.url.searchParams.get("includeObject") ?? "Metadata",
    now: context.now,
  };
}

function respondObject(operation: Operation, object: ApiObject, status = 200): Response {
  return respond(operation, presentObject(viewOf(operation), object), status);
}

function watch(operation: Operation): Response {
  const { context, incoming: { url }, call } = operation;
  const present = presenter(viewOf(operation));
  const stream = watchObjects(context, call, url.searchParams, present);
  return new Response(stream, { headers: { "content-type": "application/json" } });
}

function list(operation: Operation): Response {
  const { context, incoming, call } = operation;
  const page = listObjects(context, call, incoming.url.searchParams);
  return respond(operation, presentList(viewOf(operation), page));
}

/** Returns the body of a deletion's response: the object while it remains, else a `Status`. */
function deletionBody(resource: Resource, { object, removed }: Deletion): unknown {
  const returnsObject = !removed || sameKey(resource, KEYS.pods);
  if (returnsObject) return inVersion(object, resource);
  const { name, uid } = object.metadata;
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name,
      ...(resource.group && { group: resource.group }),
      kind: resource.resource,
      uid,
    },
  };
}

async function readDeleteOptions({ incoming }: Operation): Promise<DeleteOptions> {
  const body = await readJson(incoming.request);
  return deleteOptions(body, incoming.url.searchParams);
}

function withDryRun(call: Call, options: DeleteOptions): Call {
  return { ...call, dryRun: call.dryRun || (options.dryRun?.includes("All") ?? false) };
}

async function remove(operation: Operation): Promise<Response> {
  const { context, call } = operation;
  const options = await readDeleteOptions(operation);
  const deletion = await deleteObject(context, withDryRun(call, options), options);
  return respond(operation, deletionBody(call.resource, deletion));
}

async function removeCollection(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const options = await readDeleteOptions(operation);
  const page = listObjects(context, call, incoming.url.searchParams);
  const items: ApiObject[] = [];
  for (const { metadata } of page.items) {
    const { namespace, name } = metadata;
    const one = { ...withDryRun(call, options), namespace, name };
    const deletion = await deleteObject(context, one, options).catch(ignoring(404));
    if (deletion) items.push(deletion.object);
  }
  return respond(
    operation,
    presentList({ ...viewOf(operation), form: "json" }, { ...page, items }),
  );
}

/** Creates the object that a body holds. */
function createSent({ context, call }: Operation, { value, duplicateFields }: Body) {
  return createObject(context, { ...call, duplicateFields }, value);
}

async function create(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const body = await readBody(incoming.request);
  const { value } = body;
  if (value === undefined) throw badRequest("the body must hold the object to create");
  if (call.resource.review) {
    const parsed = context.registry.schemaOf(call.resource)?.validate(value) ?? [];
    const [first] = parsed.filter(({ field }) => field.startsWith("spec"));
    if (first) throw badRequest(`${first.field}: ${first.message}`);
    const review = await context.access.createReview(
      call.resource.resource,
      withNamespace(value, call),
      incoming.user,
    );
    return respond(operation, review, 201);
  }
  if (call.resource.namespaced && call.namespace === undefined) throw methodNotAllowed();
  return respondObject(operation, await createSent(operation, body), 201);
}

/** Sets the namespace of a local review to that of its path. Throws 400 for another one. */
function withNamespace(body: unknown, { namespace }: Call): unknown {
  if (namespace === undefined || !isObject(body)) return body;
  const metadata = isObject(body.metadata) ? body.metadata : {};
  const given = textAt(metadata, "namespace");
  if (given && given !== namespace) {
    throw badRequest(`metadata.namespace must be the namespace of the path, ${namespace}`);
  }
  return { ...body, metadata: { ...metadata, namespace } };
}

async function update(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const body = await readBody(incoming.request);
  const { value, duplicateFields } = body;
  if (mayCreate(context, call, value)) {
    return respondObject(operation, await createSent(operation, body), 201);
  }
  const updated = await updateObject(context, { ...call, duplicateFields }, () => value);
  return respondObject(operation, updated);
}

async function patch(operation: Operation): Promise<Response> {
  const { context, incoming, call } = operation;
  const change = await readPatch(incoming.request, call);
  const patched = await updateObject(
    context,
    call,
    (current) => sameUid(change(current), current, call),
  );
  return respondObject(operation, patched);
}

/** Operations of stored kinds, by verb. */
const OPERATIONS: Readonly<Record<string, (operation: Operation) => Response | Promise<Response>>> =
  {
    get: (operation) => respondObject(operation, existing(operation.context, operation.call)),
    list,
    watch,
    create,
    update,
    patch,
    delete: remove,
    deletecollection: removeCollection,
  };

/** Handles a request for a resource. Throws a `StatusError`. */
export async function handleResource(context: Context, incoming: Incoming): Promise<Response> {
  const { info } = incoming;
  const call = callOf(context, incoming);
  const operation = {
    context,
    incoming,
    call,
    form: acceptedForm(incoming.request.headers.get("accept")),
  };
  if (info.subresource !== undefined && info.subresource !== "status") {
    return await handleSubresource(operation);
  }
  if (info.subresource === "status") {
    if (!call.resource.status) throw noSuchPath();
    if (!["get", "update", "patch"].includes(info.verb)) throw methodNotAllowed();
  }
  if (call.resource.review && info.verb !== "create") throw methodNotAllowed();
  const needsName = ["update", "patch"].includes(info.verb);
  const known = OPERATIONS[info.verb];
  if (!known || (needsName && info.name === undefined)) throw methodNotAllowed();
  if (info.verb === "create" && info.name !== undefined) throw methodNotAllowed();
  const hasNamespace = !call.resource.namespaced || call.namespace !== undefined;
  if (info.name !== undefined && !hasNamespace && info.verb !== "list" && info.verb !== "watch") {
    throw noSuchPath();
  }
  return await known(operation);
}
