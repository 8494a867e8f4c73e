/** AdmissionReview `admission.k8s.io/v1`: reading the request, writing the answer. Pure. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { causeOf, fieldPath, type FieldProblem } from "../crds/field_problem.ts";
import { causesText, causeText, type StatusCause } from "../crds/status_cause.ts";
import type { JsonPatchOperation } from "./json_diff.ts";

/** `apiVersion` of the one version of AdmissionReview that is spoken. */
const ADMISSION_API_VERSION = "admission.k8s.io/v1";

const groupVersionKind = z.looseObject({
  group: z.string(),
  version: z.string(),
  kind: z.string(),
});

const admissionRequestSchema = z.looseObject({
  uid: z.string().min(1),
  kind: groupVersionKind,
  operation: z.enum(["CREATE", "UPDATE", "DELETE", "CONNECT"]),
  name: z.string().optional(),
  namespace: z.string().optional(),
  object: z.unknown().optional(),
  oldObject: z.unknown().optional(),
  dryRun: z.boolean().optional(),
});

/** Request of the API server. */
export type AdmissionRequest = z.infer<typeof admissionRequestSchema>;

const admissionReviewSchema = z.looseObject({
  apiVersion: z.literal(ADMISSION_API_VERSION),
  kind: z.literal("AdmissionReview"),
  request: admissionRequestSchema,
});

/** A refusal, as the user of the API server will read it. */
export interface Refusal {
  readonly code: 403 | 422 | 429;
  readonly reason: "Forbidden" | "Invalid" | "TooManyRequests";
  readonly message: string;
  readonly causes: readonly StatusCause[];
  /** The API server repeats it to its client in `Retry-After`. */
  readonly retryAfterSeconds?: number;
}

/** Decision of a handler. Warnings are shown to the user either way. */
export type AdmissionOutcome =
  | {
    readonly allowed: true;
    readonly patch?: readonly JsonPatchOperation[];
    readonly warnings?: readonly string[];
  }
  | { readonly allowed: false; readonly refusal: Refusal; readonly warnings?: readonly string[] };

/** Circumstances of a request. */
export interface ReviewContext {
  /** Aborts when the decision is no longer awaited. */
  readonly signal: AbortSignal;
  /** Whether it comes from an address that is reserved for API servers. */
  readonly isReserved: boolean;
}

/** Decides about one request. Value in, value out; throws only if it could not decide. */
export type AdmissionHandler = (
  request: AdmissionRequest,
  context: ReviewContext,
) => AdmissionOutcome | Promise<AdmissionOutcome>;

/** Refuses for rules beyond the schema: 403, as upstream's webhooks do. */
export function refuse(
  problems: readonly FieldProblem[],
  warnings: readonly string[] = [],
): AdmissionOutcome {
  const causes = problems.map(causeOf);
  const message = causesText(causes);
  return { allowed: false, refusal: { code: 403, reason: "Forbidden", message, causes }, warnings };
}

/** Refuses an object that does not have the shape of its kind: 422. */
export function refuseShape(kind: string, error: z.ZodError): AdmissionOutcome {
  const causes = error.issues.slice(0, 20).map((issue) => ({
    reason: "FieldValueInvalid",
    message: issue.message,
    field: fieldPath(issue.path),
  }));
  const message = `${kind} is invalid: ${causes.map(causeText).join(", ")}`;
  return { allowed: false, refusal: { code: 422, reason: "Invalid", message, causes } };
}

/**
 * Refuses what can be decided a moment later. The API server gives its client the same code with `Retry-After`, and
 * clients of Kubernetes try again by themselves. An error of the call would be 500, without a time.
 */
export function refuseForNow(message: string): AdmissionOutcome {
  const refusal = { code: 429, reason: "TooManyRequests", message, causes: [] } as const;
  return { allowed: false, refusal: { ...refusal, retryAfterSeconds: 1 } };
}

/** Reads a parsed body. `problem` says in one line why it is no AdmissionReview of version 1. */
export function decodeReview(
  body: unknown,
): { ok: true; request: AdmissionRequest } | { ok: false; problem: string } {
  const review = admissionReviewSchema.safeParse(body);
  if (review.success) return { ok: true, request: review.data.request };
  const issue = review.error.issues[0];
  const at = fieldPath(issue?.path ?? []) || "body";
  return {
    ok: false,
    problem: `body must be an AdmissionReview ${ADMISSION_API_VERSION}: ${at}: ${issue?.message}`,
  };
}

/** Longest warning that the API server passes on whole, in characters; longer ones are cut. */
const WARNING_MAX = 256;

/** The AdmissionReview that answers a request. */
export function encodeReview(uid: string, outcome: AdmissionOutcome): unknown {
  const warnings = (outcome.warnings ?? []).map((warning) => warning.slice(0, WARNING_MAX));
  const response = {
    uid,
    allowed: outcome.allowed,
    ...(warnings.length > 0 ? { warnings } : {}),
    ...(outcome.allowed ? encodePatch(outcome.patch) : { status: encodeStatus(outcome.refusal) }),
  };
  return { apiVersion: ADMISSION_API_VERSION, kind: "AdmissionReview", response };
}

function encodePatch(patch: readonly JsonPatchOperation[] | undefined) {
  if (patch === undefined || patch.length === 0) return {};
  return {
    patchType: "JSONPatch",
    patch: Buffer.from(JSON.stringify(patch), "utf8").toString("base64"),
  };
}

function encodeStatus({ code, reason, message, causes, retryAfterSeconds }: Refusal) {
  const details = {
    ...(causes.length > 0 && { causes }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  };
  return {
    apiVersion: "v1",
    kind: "Status",
    metadata: {},
    status: "Failure",
    code,
    reason,
    message,
    ...(Object.keys(details).length > 0 && { details }),
  };
}
