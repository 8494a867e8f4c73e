/** Kept log: the record of a pod that is gone and whose log `standalone` still has. */
import { z } from "zod";
import { schemas } from "../platform/kube/kubernetes.ts";
import { KUBERNETES_KINDS } from "../platform/kube/kubernetes_kinds.ts";

/** Its schema. The object has the labels of its pod, and the pod's UID as its name. */
export const keptLogSchema = z.object({
  apiVersion: z.string().optional(),
  kind: z.string().optional(),
  metadata: schemas.objectMeta,
  spec: z.object({
    /** The pod as it was last. */
    pod: z.unknown().transform((value) => KUBERNETES_KINDS.pod.parse(value)),
    /** When its object went, RFC 3339. */
    gone: z.string(),
    /** Whether its containers ran and printed nothing. */
    isSilent: z.boolean().optional(),
  }),
});

/** Most that are kept, and of one job, which may restart for ever: the newest. */
export const MOST_KEPT_LOGS = { inAll: 10_000, ofJob: 100 } as const;
