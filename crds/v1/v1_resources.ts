/** REST resources of the v1 kinds: the path of each, and the parser at its door. */
import type { z } from "zod";
import type { Kind } from "../../platform/kube/resource.ts";
import { replicaSpecsSchema, type V1Job, v1JobSchema, v1SpecSchema } from "./job.ts";
import { V1_KINDS, type V1Kind } from "./kinds.ts";
import { V1_GROUP, V1_VERSION } from "./names.ts";

/** A resource with the schema of its objects. */
export interface V1Resource extends Kind<V1Job> {
  readonly schema: z.ZodType<V1Job>;
}

function resource({ kind, plural, specsKey }: V1Kind): V1Resource {
  const schema = v1JobSchema.extend({
    spec: v1SpecSchema.extend({ [specsKey]: replicaSpecsSchema.optional() }).default({}),
  });
  return {
    group: V1_GROUP,
    version: V1_VERSION,
    kind,
    plural,
    namespaced: true,
    schema,
    parse: (value) => schema.parse(value),
  };
}

/** The resource of each v1 kind, by its name. */
export const V1_RESOURCES = {
  TFJob: resource(V1_KINDS.TFJob),
  PyTorchJob: resource(V1_KINDS.PyTorchJob),
  XGBoostJob: resource(V1_KINDS.XGBoostJob),
  MXJob: resource(V1_KINDS.MXJob),
  MPIJob: resource(V1_KINDS.MPIJob),
  PaddleJob: resource(V1_KINDS.PaddleJob),
  JAXJob: resource(V1_KINDS.JAXJob),
} as const;
