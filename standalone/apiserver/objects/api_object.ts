/** API object: metadata with its schema, and whatever other fields a kind has. */
import { z } from "zod";
import { compact, isObject } from "../../../platform/base/json.ts";
import { badRequest } from "./status_error.ts";

const ownerReference = z.object({
  apiVersion: z.string(),
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  controller: z.boolean().nullish(),
  blockOwnerDeletion: z.boolean().nullish(),
}).transform(({ controller, blockOwnerDeletion, ...rest }) => ({
  ...rest,
  ...(typeof controller === "boolean" && { controller }),
  ...(typeof blockOwnerDeletion === "boolean" && { blockOwnerDeletion }),
}));

const strings = z.record(z.string(), z.string().nullable().transform((value) => value ?? ""));

function orAbsent<T extends z.ZodType>(schema: T) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** Fields of metadata that a client may send; others are dropped. */
const sentMetadata = z.object({
  name: orAbsent(z.string()),
  generateName: orAbsent(z.string()),
  namespace: orAbsent(z.string()),
  uid: orAbsent(z.string()),
  resourceVersion: orAbsent(z.string()),
  labels: orAbsent(strings),
  annotations: orAbsent(strings),
  finalizers: orAbsent(z.array(z.string())),
  ownerReferences: orAbsent(z.array(ownerReference)),
  creationTimestamp: orAbsent(z.string()),
  deletionTimestamp: orAbsent(z.string()),
  deletionGracePeriodSeconds: orAbsent(z.number()),
  generation: orAbsent(z.number()),
});

/** Metadata as a client sends it. */
export type SentMetadata = Partial<z.infer<typeof sentMetadata>>;

/** Reference to an owner of an object. */
export type OwnerReference = z.infer<typeof ownerReference>;

/** Metadata as the server stores it. */
export interface Metadata extends SentMetadata {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
}

/** A stored object. It is shared by all readers: copy it to change it. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: Metadata;
  [field: string]: unknown;
}

/** An object as a client sends it. */
export interface SentObject {
  apiVersion?: string;
  kind?: string;
  metadata: SentMetadata;
  [field: string]: unknown;
}

/** Parses an object that a client sent. Throws 400 if it is not an object, or its metadata has wrong types. */
export function parseSent(value: unknown): SentObject {
  if (!isObject(value)) throw badRequest("the body must be a JSON object of a Kubernetes kind");
  const metadata = sentMetadata.safeParse(value.metadata ?? {});
  if (!metadata.success) {
    const issue = metadata.error.issues[0];
    const path = ["metadata", ...(issue?.path ?? [])].join(".");
    throw badRequest(`cannot decode the object: ${path}: ${issue?.message}`);
  }
  const { apiVersion, kind } = value;
  if (apiVersion !== undefined && typeof apiVersion !== "string") {
    throw badRequest("cannot decode the object: apiVersion must be a string");
  }
  if (kind !== undefined && typeof kind !== "string") {
    throw badRequest("cannot decode the object: kind must be a string");
  }
  return compact({ ...value, apiVersion, kind, metadata: compact(metadata.data) });
}
