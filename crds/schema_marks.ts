/** Zod schemas that carry Kubernetes' list types, integer formats and embedded metadata. */
import { z } from "zod";
import { type ObjectMeta, schemas } from "../platform/kube/kubernetes.ts";

/** Mark of what the API server checks by a rule of CEL, with what it says if that does not hold. */
export const checked = (rule: string, message: string) => ({
  "x-kubernetes-validations": [{ rule, message }],
});

/** Mark of a field that cannot be changed. */
export const immutable = checked("self == oldSelf", "field is immutable");

/** A list that is merged by the values of `keys` (`x-kubernetes-list-type: map`). */
export function listMap<T extends z.ZodType>(item: T, keys: string[]) {
  return z.array(item).meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": keys,
  });
}

/** A list that is replaced as a whole (`x-kubernetes-list-type: atomic`). */
export function atomicList<T extends z.ZodType>(item: T) {
  return z.array(item).meta({ "x-kubernetes-list-type": "atomic" });
}

/** A set of scalars (`x-kubernetes-list-type: set`). */
export function listSet<T extends z.ZodType>(item: T) {
  return z.array(item).meta({ "x-kubernetes-list-type": "set" });
}

/** A 32-bit signed integer. */
export function int32() {
  return z.int32().meta({ format: "int32" });
}

/** A 64-bit integer; JavaScript's safe range is the bound that is checked here. */
export function int64() {
  return z.int().meta({ format: "int64" });
}

/** Metadata inside a template: the API server keeps name, namespace, labels, annotations, finalizers. */
export function embeddedMeta(): z.ZodType<ObjectMeta> {
  return schemas.objectMeta.meta({ embeddedMetadata: true });
}
