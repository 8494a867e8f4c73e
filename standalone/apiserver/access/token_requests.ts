/** Token requests (`serviceaccounts/NAME/token`): tokens for an audience, bound to an object. */
import { asTexts, at, isObject, textAt } from "../../../platform/base/json.ts";
import { rfc3339 } from "../../../platform/base/timestamps.ts";
import type { ApiObject } from "../objects/api_object.ts";
import * as field from "../../../crds/status_cause.ts";
import {
  badRequest,
  conflict,
  invalid,
  notFound,
  type StatusError,
} from "../objects/status_error.ts";
import { lifetimeProblem } from "../schemas/rules/field_checks.ts";
import { KEYS } from "../storage/resource_keys.ts";
import type { ObjectReader, ResourceKey } from "../storage/store.ts";
import {
  AUDIENCES,
  type BoundReference,
  type ServiceAccountTokens,
  type TokenSubject,
} from "./service_account_tokens.ts";

const DEFAULT_SECONDS = 3600;

/**
 * Creates a function that issues tokens for TokenRequests. It throws a StatusError: 422 for a lifetime
 * out of bounds, 404 for a bound object that is missing, 409 if that has another UID, and 400 for a
 * pod of another service account.
 */
export function createTokenRequests(options: {
  readonly store: ObjectReader;
  readonly tokens: ServiceAccountTokens;
}) {
  return async (serviceAccount: ApiObject, body: unknown): Promise<unknown> => {
    const { name, namespace = "", uid } = serviceAccount.metadata;
    const expirationSeconds = secondsOf(body);
    const requested = asTexts(at(body, "spec", "audiences"));
    const audiences = requested.length > 0 ? requested : AUDIENCES;
    const bound = boundTo(options.store, serviceAccount, at(body, "spec", "boundObjectRef"));
    const { token, expiresAtMs } = await options.tokens.issue(
      { namespace, serviceAccount: { name, uid }, ...bound },
      { audiences, expirationSeconds },
    );
    const reference = at(body, "spec", "boundObjectRef");
    return {
      kind: "TokenRequest",
      apiVersion: "authentication.k8s.io/v1",
      metadata: { name, namespace },
      spec: {
        audiences,
        expirationSeconds,
        boundObjectRef: isObject(reference) ? reference : null,
      },
      status: {
        token,
        expirationTimestamp: rfc3339(expiresAtMs),
      },
    };
  };
}

function secondsOf(body: unknown): number {
  const seconds = at(body, "spec", "expirationSeconds") ?? DEFAULT_SECONDS;
  if (Number.isInteger(seconds) && typeof seconds === "number") {
    const problem = lifetimeProblem(seconds);
    if (problem === undefined) return seconds;
    throw refusal(seconds, problem);
  }
  throw refusal(seconds, "must be an integer");
}

function refusal(seconds: unknown, problem: string): StatusError {
  const cause = field.invalid("spec.expirationSeconds", seconds, problem);
  return invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [cause]);
}

/** Returns name and UID of a bound object. Throws if it is missing or has another UID than the reference. */
function referenced(
  object: ApiObject | undefined,
  reference: unknown,
  key: ResourceKey,
): BoundReference {
  const name = textAt(reference, "name") ?? "";
  if (object === undefined) throw notFound(key, name);
  const uid = textAt(reference, "uid") ?? "";
  if (uid !== "" && uid !== object.metadata.uid) {
    throw conflict(
      key,
      name,
      `the UID in the bound object reference (${uid}) does not match the UID in record. ` +
        "The object might have been deleted and then recreated",
    );
  }
  return { name, uid: object.metadata.uid };
}

function boundTo(
  store: ObjectReader,
  serviceAccount: ApiObject,
  reference: unknown,
): Partial<TokenSubject> {
  if (!isObject(reference)) return {};
  const { namespace, name } = serviceAccount.metadata;
  const target = textAt(reference, "name") ?? "";
  const kind = `${textAt(reference, "apiVersion")}/${textAt(reference, "kind")}`;
  const find = (key: ResourceKey, namespace: string | undefined) =>
    referenced(store.get(key, namespace, target), reference, key);
  if (kind === "v1/Secret") return { secret: find(KEYS.secrets, namespace) };
  if (kind === "v1/Node") return { node: find(KEYS.nodes, undefined) };
  if (kind !== "v1/Pod") {
    throw badRequest(`cannot bind token to object of type ${kind}; use v1 Pod, Secret or Node`);
  }
  const pod = find(KEYS.pods, namespace);
  const spec = store.get(KEYS.pods, namespace, target)?.spec;
  const other = textAt(spec, "serviceAccountName") || "default";
  if (other !== name) {
    throw badRequest(
      `cannot bind token for serviceaccount "${name}" to pod running with different ` +
        `serviceaccount "${other}"; name the pod's own`,
    );
  }
  return { pod, ...nodeOf(store, textAt(spec, "nodeName")) };
}

function nodeOf(store: ObjectReader, name: string | undefined): { node?: BoundReference } {
  if (name === undefined || name === "") return {};
  const node = store.get(KEYS.nodes, undefined, name);
  return node === undefined ? {} : { node: { name, uid: node.metadata.uid } };
}
