/** Shape of the parts of a job that conversion reads and no definition checks: metadata and pod templates. */
import { z } from "zod";

const texts = z.array(z.string());
const textMap = z.record(z.string(), z.string());

const metadata = z.looseObject({
  name: z.string(),
  namespace: z.string().optional(),
  labels: textMap.optional(),
  annotations: textMap.optional(),
  finalizers: texts.optional(),
  ownerReferences: z.array(z.looseObject({ kind: z.string(), name: z.string() })).optional(),
});

const port = z.looseObject({ name: z.string().optional(), containerPort: z.int() });
const variable = z.looseObject({ name: z.string(), value: z.string().optional() });
const container = z.looseObject({
  name: z.string().min(1),
  image: z.string().optional(),
  command: texts.optional(),
  args: texts.optional(),
  env: z.array(variable).optional(),
  ports: z.array(port).optional(),
});

const template = z.looseObject({
  metadata: z.looseObject({ labels: textMap.optional(), annotations: textMap.optional() })
    .optional(),
  spec: z.looseObject({
    restartPolicy: z.string().optional(),
    containers: z.array(container).optional(),
    initContainers: z.array(container).optional(),
  }).optional(),
});

const replicaSpec = z.looseObject({ template: template.optional() });

/** Returns the schema of a job whose replica types stand under one of these keys: by their names, or in a list. */
export function jobShape(specsKeys: readonly string[], form: "map" | "list"): z.ZodType {
  const specs = form === "list" ? z.array(replicaSpec) : z.record(z.string(), replicaSpec);
  const spec = z.looseObject(
    Object.fromEntries(specsKeys.map((key) => [key, specs.optional()])),
  );
  return z.looseObject({ metadata, spec: spec.optional() });
}
