/** JSON Schema of the chart's values: Helm refuses a value that the chart does not have, or cannot use. */
import { OPTIMIZATION, POLICY_SECRETS, RESTARTS } from "../crds/names.ts";

const text = { type: "string" } as const;
const flag = { type: "boolean" } as const;
const listOf = (items: Readonly<Record<string, unknown>>) => ({ type: "array", items });
const oneOf = (...values: readonly string[]) => ({ enum: values });

function objectOf(properties: Readonly<Record<string, unknown>>) {
  return { type: "object", additionalProperties: false, properties };
}

/** Users in a list of CEL, between quotes. */
const users = listOf({ type: "string", pattern: "^[^'\\\\]+$" });

/** Schema of `values.yaml`. A number as an image's tag would be rendered as a power of ten. */
export const VALUES_SCHEMA = {
  $schema: "http://json-schema.org/draft-07/schema#",
  ...objectOf({
    // Of a chart that has this one as a dependency.
    global: { type: "object" },
    name: { type: "string", pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 },
    replicas: { type: "integer", minimum: 0 },
    image: objectOf({
      repository: text,
      tag: text,
      digest: { type: "string", pattern: "^(sha256:[0-9a-f]{64})?$" },
      pullPolicy: oneOf("Always", "IfNotPresent", "Never"),
    }),
    jobset: oneOf("", "auto", "builtin", "external"),
    featureGates: text,
    logLevel: text,
    resources: { type: "object" },
    crds: objectOf({ trainer: flag, jobset: flag, v1: flag }),
    v1Jobs: flag,
    trialResources: listOf({
      type: "string",
      pattern: "^[A-Z][A-Za-z0-9]*\\.v[0-9][a-z0-9]*\\.[a-z0-9]([-a-z0-9.]*[a-z0-9])?$",
    }),
    v1Mpi: flag,
    v1Elastic: flag,
    v1Gangs: flag,
    [OPTIMIZATION.helmValue]: flag,
    katib: flag,
    [POLICY_SECRETS.helmValue]: flag,
    [RESTARTS.helmValue]: flag,
    notifications: text,
    createNamespace: flag,
    ui: objectOf({
      enabled: flag,
      name: { type: "string", pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$", maxLength: 63 },
      replicas: { type: "integer", minimum: 0 },
      hosts: listOf({ type: "string", pattern: "^[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?$" }),
      tlsSecretName: { type: "string", minLength: 1 },
      resources: { type: "object" },
    }),
    networkPolicy: objectOf({
      enabled: flag,
      apiServerPorts: listOf({ type: "integer", minimum: 1, maximum: 65535 }),
    }),
    admissionPolicy: objectOf({
      enabled: flag,
      jobControllers: users,
      jobSetControllers: users,
      v1JobControllers: users,
      trialControllers: users,
      trialResourceControllers: users,
    }),
    monitoring: objectOf({ enabled: flag }),
  }),
} as const;
