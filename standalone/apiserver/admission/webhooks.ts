/** Mutating and validating admission webhooks. */
import { getLogger } from "@logtape/logtape";
import { asList, sameJson } from "../../../platform/base/json.ts";
import type { ApiObject } from "../objects/api_object.ts";
import { badRequest, internalError, StatusError } from "../objects/status_error.ts";
import { KEYS } from "../storage/resource_keys.ts";
import type { ObjectReader, ResourceKey } from "../storage/store.ts";
import type { AdmissionRequest } from "./admission_request.ts";
import type { CallHttps } from "./https_calls.ts";
import { callWebhook, type WebhookAnswer, WebhookFailure } from "./webhook_call.ts";
import { matchWebhook, type Webhook, webhookSchema } from "./webhook_matching.ts";

const log = getLogger(["milepost", "apiserver"]);

/** Webhooks never see webhook configurations: they could prevent their own repair. */
const EXEMPT_GROUP = "admissionregistration.k8s.io";

/** Throws if a stored configuration cannot be read: skipping it could admit what it refuses. */
function webhooksOf(store: ObjectReader, key: ResourceKey): Webhook[] {
  return store.list(key).flatMap((configuration) =>
    asList(configuration.webhooks).map((webhook) => readWebhook(webhook, configuration))
  );
}

function readWebhook(webhook: unknown, { kind, metadata }: ApiObject): Webhook {
  const parsed = webhookSchema.safeParse(webhook);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw internalError(
    `${kind} "${metadata.name}" cannot be read: webhooks: ${
      issue?.path.join(".")
    }: ${issue?.message}`,
  );
}

function failure(webhook: Webhook, problem: string): StatusError {
  const message = `failed calling webhook "${webhook.name}": ${problem}`;
  return internalError(message, { causes: [{ message }] });
}

/** Says if the webhook must be called. Throws if its conditions fail and its policy is `Fail`. */
function isCalled(webhook: Webhook, request: AdmissionRequest, store: ObjectReader): boolean {
  const match = matchWebhook(webhook, request, store);
  if (typeof match === "string") {
    if (webhook.failurePolicy === "Ignore") return false;
    throw new StatusError(403, "Forbidden", `webhook "${webhook.name}": ${match}`);
  }
  if (!match) return false;
  if (request.dryRun && !["None", "NoneOnDryRun"].includes(webhook.sideEffects)) {
    throw badRequest(`admission webhook "${webhook.name}" does not support dry run`);
  }
  return true;
}

/** Calls one webhook and applies its failure policy. Throws if the request is refused. */
async function settle(
  webhook: Webhook,
  request: AdmissionRequest,
  call: CallHttps,
  mutating: boolean,
): Promise<WebhookAnswer> {
  try {
    return await callWebhook(webhook, request, call, mutating);
  } catch (error) {
    if (!(error instanceof WebhookFailure)) throw error;
    if (webhook.failurePolicy === "Fail") throw failure(webhook, error.message);
    log.warn("A webhook failed and its failure policy is Ignore", {
      webhook: webhook.name,
      problem: error.message,
    });
    return { object: request.object, warnings: [] };
  }
}

/**
 * Sends the request through the mutating webhooks, in the order of their configurations' names.
 * A webhook with `reinvocationPolicy: IfNeeded` is called once more if a later one changed the object.
 * Throws a StatusError if a webhook refuses, or fails with the policy `Fail`.
 */
export async function mutate(
  request: AdmissionRequest,
  store: ObjectReader,
  call: CallHttps,
): Promise<WebhookAnswer> {
  if (request.resource.group === EXEMPT_GROUP) return { object: request.object, warnings: [] };
  const warnings: string[] = [];
  let { object } = request;
  /** The object after each webhook, to detect changes by later ones. */
  const seen = new Map<Webhook, unknown>();
  const webhooks = webhooksOf(store, KEYS.mutatingWebhooks);
  const run = async (webhook: Webhook) => {
    const current = { ...request, object };
    if (!isCalled(webhook, current, store)) return;
    const result = await settle(webhook, current, call, true);
    warnings.push(...result.warnings);
    if (!sameJson(object, result.object)) object = result.object;
    seen.set(webhook, object);
  };
  for (const webhook of webhooks) await run(webhook);
  for (const webhook of webhooks) {
    const changed = seen.has(webhook) && seen.get(webhook) !== object;
    if (changed && webhook.reinvocationPolicy === "IfNeeded") await run(webhook);
  }
  return { object, warnings };
}

/** Calls the validating webhooks in parallel. Throws a StatusError if one refuses. */
export async function validate(
  request: AdmissionRequest,
  store: ObjectReader,
  call: CallHttps,
): Promise<string[]> {
  if (request.resource.group === EXEMPT_GROUP) return [];
  const called = webhooksOf(store, KEYS.validatingWebhooks)
    .filter((webhook) => isCalled(webhook, request, store));
  const results = await Promise.allSettled(
    called.map((webhook) => settle(webhook, request, call, false)),
  );
  const warnings: string[] = [];
  for (const result of results) {
    if (result.status === "rejected") throw result.reason;
    warnings.push(...result.value.warnings);
  }
  return warnings;
}
