/** Call of one admission webhook: the AdmissionReview and the interpretation of the response. */
import { z } from "zod";
import { isObject } from "../../../platform/base/json.ts";
import { userInfo } from "../access/user.ts";
import { applyJsonPatch } from "../objects/json_patch.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import type { CallHttps } from "./https_call.ts";
import type { Webhook } from "./webhook_matching.ts";

/** Outcome of a call. */
export type WebhookAnswer =
  | { readonly outcome: "allowed"; readonly object: unknown; readonly warnings: string[] }
  | {
    readonly outcome: "denied";
    readonly code: number;
    readonly reason: string;
    readonly message: string;
    readonly warnings: string[];
  }
  | { readonly outcome: "failed"; readonly message: string };

const WARNING_MAX = 256;
const WARNINGS_MAX = 50;

const responseSchema = z.object({
  apiVersion: z.literal("admission.k8s.io/v1"),
  kind: z.literal("AdmissionReview"),
  response: z.object({
    uid: z.string(),
    allowed: z.boolean(),
    status: z.object({
      code: z.number().optional(),
      reason: z.string().optional(),
      message: z.string().optional(),
    }).nullish(),
    patch: z.string().nullish(),
    patchType: z.string().nullish(),
    warnings: z.array(z.string()).nullish(),
  }),
});
type Response = z.infer<typeof responseSchema>["response"];

const OPTIONS = {
  CREATE: "CreateOptions",
  UPDATE: "UpdateOptions",
  DELETE: "DeleteOptions",
} as const;

/** Returns the options of the request with their kind. */
function optionsOf({ operation, options, dryRun }: AdmissionRequest): unknown {
  return {
    ...(isObject(options) && options),
    kind: OPTIONS[operation],
    apiVersion: "meta.k8s.io/v1",
    ...(dryRun && { dryRun: ["All"] }),
  };
}

function reviewOf(request: AdmissionRequest, uid: string): unknown {
  const { kind, resource, subresource, name, namespace, operation, user } = request;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid,
      kind,
      resource,
      ...(subresource && { subResource: subresource }),
      requestKind: kind,
      requestResource: resource,
      ...(subresource && { requestSubResource: subresource }),
      ...(name && { name }),
      ...(namespace && { namespace }),
      operation,
      userInfo: userInfo(user),
      object: request.object ?? null,
      oldObject: request.oldObject ?? null,
      dryRun: request.dryRun,
      options: optionsOf(request),
    },
  };
}

/** Returns the reason why a webhook cannot be called; undefined if it can. */
function obstacle({ clientConfig: { url, service } }: Webhook): string | undefined {
  if (url !== undefined) {
    const isHttps = URL.parse(url)?.protocol === "https:";
    return isHttps ? undefined : `clientConfig.url must be an https URL, not ${url}`;
  }
  if (service === undefined) return "clientConfig must have a url or a service";
  // Services have no virtual address here.
  return `service "${service.name}.${service.namespace}.svc" cannot be reached from this server`;
}

function decodeBase64(text: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(text));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Calls the webhook. Never rejects: every failure is the outcome `failed`. A patch is applied if
 * `mutating` is true; otherwise it counts as a failure.
 */
export async function callWebhook(
  webhook: Webhook,
  request: AdmissionRequest,
  call: CallHttps,
  mutating: boolean,
): Promise<WebhookAnswer> {
  const problem = obstacle(webhook);
  if (problem !== undefined) return failed(`failed to call webhook: ${problem}`);
  const uid = crypto.randomUUID();
  const { url: given = "", caBundle } = webhook.clientConfig;
  const url = `${given}${given.includes("?") ? "&" : "?"}timeout=${webhook.timeoutSeconds}s`;
  let answer;
  try {
    answer = await call({
      url,
      body: JSON.stringify(reviewOf(request, uid)),
      ...(caBundle !== undefined && caBundle !== "" && { ca: decodeBase64(caBundle) }),
      timeoutMs: webhook.timeoutSeconds * 1000,
    });
  } catch (error) {
    return failed(`failed to call webhook: Post "${url}": ${messageOf(error)}`);
  }
  if (answer.status !== 200) {
    return failed(`failed to call webhook: the server answered with status ${answer.status}`);
  }
  return judge(answer.body, uid, request, mutating);
}

function failed(message: string): WebhookAnswer {
  return { outcome: "failed", message };
}

function judge(
  body: string,
  uid: string,
  request: AdmissionRequest,
  mutating: boolean,
): WebhookAnswer {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch (error) {
    return failed(`the answer is no JSON: ${messageOf(error)}`);
  }
  const parsed = responseSchema.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    return failed(`the answer is no AdmissionReview: ${issue?.path.join(".")}: ${issue?.message}`);
  }
  const { response } = parsed.data;
  if (response.uid !== uid) {
    return failed(`expected response.uid="${uid}", got response.uid="${response.uid}"`);
  }
  const warnings = (response.warnings ?? []).slice(0, WARNINGS_MAX)
    .map((warning) => warning.slice(0, WARNING_MAX));
  if (!response.allowed) return { ...denial(response), warnings };
  return patched(response, request, mutating, warnings);
}

function denial(response: Response) {
  const { code = 0, reason = "", message = "" } = response.status ?? {};
  const outcome = "denied" as const;
  return { outcome, code: code < 400 ? 400 : code, reason, message: message || reason };
}

function patched(
  response: Response,
  request: AdmissionRequest,
  mutating: boolean,
  warnings: string[],
): WebhookAnswer {
  const { patch, patchType } = response;
  if (!patch) return { outcome: "allowed", object: request.object, warnings };
  if (!mutating) return failed("a validating webhook must not send a patch");
  if (patchType !== "JSONPatch") {
    return failed(`the patch type must be JSONPatch, not ${patchType}`);
  }
  try {
    const object = applyJsonPatch(request.object, JSON.parse(decodeBase64(patch)));
    if (!isObject(object)) return failed("the patch leaves no object");
    return { outcome: "allowed", object, warnings };
  } catch (error) {
    return failed(`the patch cannot be applied: ${messageOf(error)}`);
  }
}
