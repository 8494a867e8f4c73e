/** ValidatingAdmissionPolicies as manifests, with the variables and rules that they share. */
import { labelled, type Manifest, type Settings } from "./installation_settings.ts";

const ADMISSION = "admissionregistration.k8s.io/v1";

/** Values as a list of texts in CEL. */
export const celList = (values: readonly string[]) =>
  `[${values.map((it) => `'${it}'`).join(", ")}]`;

/** Variables that identify the manager; each expression sees the variables before it. */
export function managerVariables({ namespace, name }: Settings): Record<string, string> {
  return {
    managerNamespace: `'${namespace}'`,
    managerAccount: `'${name}'`,
    user: "request.userInfo.username",
    isManager: "variables.user == 'system:serviceaccount:' + variables.managerNamespace + ':' + " +
      "variables.managerAccount",
  };
}

/** Returns a validation; its message ends in the value of the expression `about`. */
export function validation(expression: string, message: string, about: string) {
  return {
    expression,
    message,
    messageExpression: `"${message}: " + ${about}`,
    reason: "Forbidden",
  };
}

/** Returns a rule that selects requests. */
export function resourceRule(
  apiGroups: readonly string[],
  resources: readonly string[],
  operations: readonly string[],
  scope: "Namespaced" | "Cluster" = "Namespaced",
) {
  return { apiGroups, apiVersions: ["*"], operations, resources, scope };
}

/** The parts of a policy. */
export interface PolicyParts {
  readonly resourceRules: readonly ReturnType<typeof resourceRule>[];
  /** Expressions by their names. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly validations: readonly ReturnType<typeof validation>[];
}

/** Returns a policy and its binding. */
export function policyManifests(
  name: string,
  { resourceRules, variables, validations }: PolicyParts,
): Manifest[] {
  return [
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicy",
      metadata: labelled(name),
      spec: {
        failurePolicy: "Fail",
        matchConstraints: { matchPolicy: "Equivalent", resourceRules },
        variables: Object.entries(variables).map(([name, expression]) => ({ name, expression })),
        validations,
      },
    },
    {
      apiVersion: ADMISSION,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: labelled(name),
      spec: { policyName: name, validationActions: ["Deny"] },
    },
  ];
}
