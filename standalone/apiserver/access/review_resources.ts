/** Token reviews, access reviews and rules reviews. */
import { asTexts, at, isObject, objectAt, textAt } from "../../../platform/base/json.ts";
import * as field from "../../../crds/status_cause.ts";
import { badRequest, invalid, StatusError } from "../objects/status_error.ts";
import type { Authenticator } from "./authenticator.ts";
import type { Authorizer } from "./authorizer.ts";
import { AUDIENCES } from "./service_account_tokens.ts";
import { type User, userInfo } from "./user.ts";

/** Options of {@link createReviews}. */
export interface ReviewOptions {
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
}

const AUTHENTICATION = "authentication.k8s.io/v1";
const AUTHORIZATION = "authorization.k8s.io/v1";

/**
 * Creates a function that carries out every kind of review; `resource` is its plural, such as `tokenreviews`. It throws a
 * StatusError: 400 or 404.
 */
export function createReviews(options: ReviewOptions) {
  const reviews: Readonly<Record<string, (body: unknown, user: User) => unknown>> = {
    tokenreviews: (body) => reviewToken(body, options),
    selfsubjectreviews: (_body, user) =>
      answer(AUTHENTICATION, "SelfSubjectReview", undefined, { userInfo: userInfo(user) }),
    subjectaccessreviews: (body) => reviewSubject("SubjectAccessReview", body, options),
    localsubjectaccessreviews: (body) => reviewLocal(body, options),
    selfsubjectaccessreviews: (body, user) =>
      accessReview("SelfSubjectAccessReview", body, user, options),
    selfsubjectrulesreviews: (body, user) => reviewRules(body, user, options),
  };
  return async (resource: string, body: unknown, user: User): Promise<unknown> => {
    const review = reviews[resource];
    if (review === undefined) {
      throw new StatusError(404, "NotFound", `the server has no review ${resource}`);
    }
    return await review(body, user);
  };
}

/** Returns a review with its result. */
function answer(apiVersion: string, kind: string, spec: unknown, status: unknown) {
  return { kind, apiVersion, metadata: {}, ...(spec !== undefined && { spec }), status };
}

async function reviewToken(body: unknown, options: ReviewOptions): Promise<unknown> {
  const token = textAt(body, "spec", "token") ?? "";
  if (token === "") {
    throw badRequest("token is required for TokenReview in authentication: set spec.token");
  }
  const requested = asTexts(at(body, "spec", "audiences"));
  const audiences = requested.length > 0 ? requested : AUDIENCES;
  const verdict = await options.authenticator.authenticateToken(token, audiences);
  // The token itself is not sent back: the client has it.
  const spec = requested.length > 0 ? { audiences: requested } : {};
  const status = verdict.ok
    ? { authenticated: true, user: userInfo(verdict.user), audiences: verdict.audiences }
    : { authenticated: false, user: {}, error: `invalid bearer token: ${verdict.reason}` };
  return answer(AUTHENTICATION, "TokenReview", spec, status);
}

function reviewedUser(body: unknown): User {
  const name = textAt(body, "spec", "user") ?? "";
  const groups = asTexts(at(body, "spec", "groups"));
  if (name === "" && groups.length === 0) {
    throw badRequest(
      'spec.user: Invalid value: "": at least one of user or group must be specified',
    );
  }
  return { name, groups };
}

function reviewSubject(kind: string, body: unknown, options: ReviewOptions): unknown {
  return accessReview(kind, body, reviewedUser(body), options);
}

function reviewLocal(body: unknown, options: ReviewOptions): unknown {
  const namespace = textAt(body, "metadata", "namespace");
  const asked = textAt(body, "spec", "resourceAttributes", "namespace");
  if (at(body, "spec", "resourceAttributes") === undefined) {
    throw badRequest("spec.resourceAttributes: Required value: a local review is about a resource");
  }
  if (namespace !== undefined && asked !== namespace) {
    throw badRequest("spec.resourceAttributes.namespace must be the namespace of the review");
  }
  return reviewSubject("LocalSubjectAccessReview", body, options);
}

function accessReview(
  kind: string,
  body: unknown,
  user: User,
  options: ReviewOptions,
): unknown {
  const spec = objectAt(body, "spec");
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (isObject(resourceAttributes) === isObject(nonResourceAttributes)) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    throw invalid({ group: "authorization.k8s.io", kind }, "", [
      field.invalid("spec.resourceAttributes", null, detail),
    ]);
  }
  const verb = textAt(resourceAttributes ?? nonResourceAttributes, "verb") ?? "";
  const attribute = (name: string) => textAt(resourceAttributes, name) ?? "";
  const { allowed, reason } = options.authorizer.authorize(
    user,
    isObject(nonResourceAttributes)
      ? { verb, path: textAt(nonResourceAttributes, "path") ?? "" }
      : {
        verb,
        group: attribute("group"),
        version: attribute("version"),
        resource: attribute("resource"),
        subresource: attribute("subresource"),
        namespace: attribute("namespace"),
        name: attribute("name"),
      },
  );
  return answer(AUTHORIZATION, kind, spec, { allowed, ...(reason !== "" && { reason }) });
}

function reviewRules(body: unknown, user: User, options: ReviewOptions): unknown {
  const namespace = textAt(body, "spec", "namespace") ?? "";
  if (namespace === "") {
    throw badRequest("no namespace on request: set spec.namespace");
  }
  const rules = options.authorizer.rulesOf(user, namespace);
  return answer(AUTHORIZATION, "SelfSubjectRulesReview", { namespace }, {
    resourceRules: rules.filter((rule) => rule.resources.length > 0).map((rule) => ({
      verbs: rule.verbs,
      apiGroups: rule.apiGroups,
      resources: rule.resources,
      ...(rule.resourceNames.length > 0 && { resourceNames: rule.resourceNames }),
    })),
    nonResourceRules: rules.filter((rule) => rule.nonResourceURLs.length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  });
}
