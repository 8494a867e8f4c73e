/** REST resources of the v1 kinds: the path of each, and the parser at its door. */
import type { z } from "zod";
import { customKind } from "../kinds.ts";
import { replicaSpecsSchema, type V1Job, v1JobSchema, v1SpecSchema } from "./job.ts";
import { V1_KINDS, type V1Kind } from "./kinds.ts";
import { V1_GROUP, V1_VERSION } from "./names.ts";

/** The resource, with the schema of its objects. */
function resource({ kind, specsKey }: V1Kind) {
  const schema: z.ZodType<V1Job> = v1JobSchema.extend({
    spec: v1SpecSchema.extend({ [specsKey]: replicaSpecsSchema.optional() }).default({}),
  });
  return { ...customKind({ group: V1_GROUP, version: V1_VERSION }, kind, schema), schema };
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
