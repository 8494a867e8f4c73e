/** Call of one admission webhook: the AdmissionReview and the interpretation of the response. */
import { z } from "zod";
import { textOfBase64 } from "../../../platform/base/base64.ts";
import { isObject } from "../../../platform/base/json.ts";
import { userInfo } from "../access/user.ts";
import { applyJsonPatch } from "../objects/json_patch.ts";
import { StatusError } from "../objects/status_error.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import type { CallHttps } from "./https_calls.ts";
import type { Webhook } from "./webhook_matching.ts";

/** Object and warnings after a webhook has allowed a request. */
export interface WebhookAnswer {
  readonly object: unknown;
  readonly warnings: string[];
}

/** A call that brought no decision, for which the failure policy of the webhook decides. */
export class WebhookFailure extends Error {}

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

/** Returns what `work` does. Throws a {@link WebhookFailure} that says what has failed, and why. */
async function orFailure<T>(what: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new WebhookFailure(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Calls the webhook. A patch is applied if `mutating` is true; otherwise it counts as a failure. Throws a
 * {@link WebhookFailure}, or a StatusError if the webhook denies the request.
 */
export async function callWebhook(
  webhook: Webhook,
  request: AdmissionRequest,
  call: CallHttps,
  mutating: boolean,
): Promise<WebhookAnswer> {
  const problem = obstacle(webhook);
  if (problem !== undefined) throw new WebhookFailure(`failed to call webhook: ${problem}`);
  const uid = crypto.randomUUID();
  const { url: given = "", caBundle } = webhook.clientConfig;
  const url = `${given}${given.includes("?") ? "&" : "?"}timeout=${webhook.timeoutSeconds}s`;
  const { status, body } = await orFailure(`failed to call webhook: Post "${url}"`, () =>
    call({
      url,
      body: JSON.stringify(reviewOf(request, uid)),
      ...(caBundle !== undefined && caBundle !== "" && { ca: textOfBase64(caBundle) }),
      timeoutMs: webhook.timeoutSeconds * 1000,
    }));
  if (status !== 200) {
    throw new WebhookFailure(`failed to call webhook: the server answered with status ${status}`);
  }
  const response = await responseOf(body, uid);
  if (!response.allowed) throw denial(webhook, response);
  const warnings = (response.warnings ?? []).slice(0, WARNINGS_MAX)
    .map((warning) => warning.slice(0, WARNING_MAX));
  return { object: await patched(request.object, response, mutating), warnings };
}

async function responseOf(body: string, uid: string): Promise<Response> {
  const json = await orFailure<unknown>("the answer is no JSON", () => JSON.parse(body));
  const { data, error } = responseSchema.safeParse(json);
  if (data === undefined) {
    const issue = error.issues[0];
    throw new WebhookFailure(
      `the answer is no AdmissionReview: ${issue?.path.join(".")}: ${issue?.message}`,
    );
  }
  const { response } = data;
  if (response.uid === uid) return response;
  throw new WebhookFailure(`expected response.uid="${uid}", got response.uid="${response.uid}"`);
}

function denial(webhook: Webhook, response: Response): StatusError {
  const { code = 0, reason = "", message = "" } = response.status ?? {};
  const why = message || reason;
  const what = `admission webhook "${webhook.name}" denied the request`;
  const text = why === "" ? `${what} without explanation` : `${what}: ${why}`;
  return new StatusError(code < 400 ? 400 : code, reason, text);
}

async function patched(object: unknown, response: Response, mutating: boolean): Promise<unknown> {
  const { patch, patchType } = response;
  if (!patch) return object;
  if (!mutating) throw new WebhookFailure("a validating webhook must not send a patch");
  if (patchType !== "JSONPatch") {
    throw new WebhookFailure(`the patch type must be JSONPatch, not ${patchType}`);
  }
  const next = await orFailure(
    "the patch cannot be applied",
    () => applyJsonPatch(object, JSON.parse(textOfBase64(patch))),
  );
  if (!isObject(next)) throw new WebhookFailure("the patch leaves no object");
  return next;
}
