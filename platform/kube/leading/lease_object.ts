/** coordination.k8s.io Leases, as leader election uses them. */
import { z } from "zod";
import type { Kind, KubeObject } from "../resource.ts";

/** A Lease. Times are RFC 3339 with microseconds. */
export interface LeaseObject extends KubeObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    acquireTime?: string;
    renewTime?: string;
    leaseTransitions?: number;
  };
}

const leaseSchema = z.looseObject({
  metadata: z.looseObject({
    name: z.string().optional(),
    namespace: z.string().optional(),
    uid: z.string().optional(),
    resourceVersion: z.string().optional(),
  }),
  spec: z.looseObject({
    holderIdentity: z.string().optional(),
    leaseDurationSeconds: z.int().optional(),
    acquireTime: z.string().optional(),
    renewTime: z.string().optional(),
    leaseTransitions: z.int().optional(),
  }).optional(),
});

/** Leases of coordination.k8s.io/v1. */
export const LEASE_KIND: Kind<LeaseObject> = {
  group: "coordination.k8s.io",
  version: "v1",
  kind: "Lease",
  plural: "leases",
  namespaced: true,
  parse: (value) => leaseSchema.parse(value),
};
