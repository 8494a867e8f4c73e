/** Admission request, as `AdmissionRequest` of admission.k8s.io. */
import type { User } from "../access/user.ts";

/** A request before it reaches the store. */
export interface AdmissionRequest {
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly kind: { group: string; version: string; kind: string };
  readonly resource: { group: string; version: string; resource: string };
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly user: User;
  readonly dryRun: boolean;
  readonly options?: unknown;
}
