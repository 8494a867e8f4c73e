/** The CustomResourceDefinitions of Milepost's kinds, made from the same schemas as the types. */
import type { z } from "zod";
import { stringify } from "yaml";
import { jobSetSchema } from "./jobset.ts";
import { TRAINER_GROUP, TRAINER_VERSION } from "./names.ts";
import { JOBSET_GROUP, JOBSET_VERSION } from "./jobset_names.ts";
import { type OpenApiSchema, openApiSchema } from "./openapi_schema.ts";
import { clusterTrainingRuntimeSchema, trainingRuntimeSchema } from "./training_runtime.ts";
import { trainJobSchema } from "./trainjob.ts";

/** One column of `kubectl get`. Priority 1 shows with `-o wide` only. */
export interface PrinterColumn {
  name: string;
  type: "string" | "integer" | "date";
  jsonPath: string;
  priority?: number;
}

/** Fields of a kind that its subresource `scale` reads and writes, as JSON paths. */
export interface ScalePaths {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath: string;
}

/** A CustomResourceDefinition as `kubectl apply` takes it. */
export interface CustomResourceDefinition {
  apiVersion: "apiextensions.k8s.io/v1";
  kind: "CustomResourceDefinition";
  metadata: { name: string; annotations?: Record<string, string> };
  spec: {
    group: string;
    names: { kind: string; listKind: string; plural: string; singular: string };
    scope: "Namespaced" | "Cluster";
    versions: {
      name: string;
      served: true;
      storage: true;
      schema: { openAPIV3Schema: OpenApiSchema };
      subresources?: { status: Record<string, never>; scale?: ScalePaths };
      additionalPrinterColumns?: PrinterColumn[];
    }[];
  };
}

/** The columns that several kinds have. */
export const COLUMNS = {
  age: { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  progress: {
    name: "Progress %",
    type: "integer",
    jsonPath: ".status.trainerStatus.progressPercentage",
  },
} as const satisfies Record<string, PrinterColumn>;

interface Definition {
  group: string;
  version: string;
  kind: string;
  scope: "Namespaced" | "Cluster";
  schema: z.ZodType;
  status: boolean;
  columns: PrinterColumn[];
}

const DEFINITIONS: readonly Definition[] = [
  {
    group: TRAINER_GROUP,
    version: TRAINER_VERSION,
    kind: "TrainJob",
    scope: "Namespaced",
    schema: trainJobSchema,
    status: true,
    columns: [
      { name: "State", type: "string", jsonPath: ".status.state" },
      COLUMNS.progress,
      {
        name: "ETA",
        type: "integer",
        jsonPath: ".status.trainerStatus.estimatedRemainingSeconds",
        priority: 1,
      },
      COLUMNS.age,
    ],
  },
  {
    group: TRAINER_GROUP,
    version: TRAINER_VERSION,
    kind: "TrainingRuntime",
    scope: "Namespaced",
    schema: trainingRuntimeSchema,
    status: false,
    columns: [],
  },
  {
    group: TRAINER_GROUP,
    version: TRAINER_VERSION,
    kind: "ClusterTrainingRuntime",
    scope: "Cluster",
    schema: clusterTrainingRuntimeSchema,
    status: false,
    columns: [],
  },
  {
    group: JOBSET_GROUP,
    version: JOBSET_VERSION,
    kind: "JobSet",
    scope: "Namespaced",
    schema: jobSetSchema,
    status: true,
    columns: [
      { name: "TerminalState", type: "string", jsonPath: ".status.terminalState" },
      { name: "Restarts", type: "string", jsonPath: ".status.restarts" },
      {
        name: "Completed",
        type: "string",
        jsonPath: '.status.conditions[?(@.type=="Completed")].status',
      },
      { name: "Suspended", type: "string", jsonPath: ".spec.suspend" },
      COLUMNS.age,
    ],
  },
];

/** The root of a kind: apiVersion, kind and metadata are the API server's own business. */
function rootSchema(definition: Definition): OpenApiSchema {
  const schema = openApiSchema(definition.schema);
  const parts = typeof schema.properties === "object" ? schema.properties : {};
  const required = definition.kind === "TrainJob" ? { required: ["spec"] } : {};
  return {
    ...schema,
    ...required,
    properties: {
      ...parts,
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
    },
  };
}

function manifest(definition: Definition): CustomResourceDefinition {
  const plural = `${definition.kind.toLowerCase()}s`;
  const schema = rootSchema(definition);
  if (definition.kind !== "TrainJob") delete schema.required;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${definition.group}` },
    spec: {
      group: definition.group,
      names: {
        kind: definition.kind,
        listKind: `${definition.kind}List`,
        plural,
        singular: definition.kind.toLowerCase(),
      },
      scope: definition.scope,
      versions: [{
        name: definition.version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        ...(definition.status ? { subresources: { status: {} } } : {}),
        ...(definition.columns.length > 0 ? { additionalPrinterColumns: definition.columns } : {}),
      }],
    },
  };
}

/** All four definitions: TrainJob, TrainingRuntime, ClusterTrainingRuntime, JobSet. */
export function crdManifests(): CustomResourceDefinition[] {
  return DEFINITIONS.map(manifest);
}

/** The definitions without JobSet's, for clusters with upstream's JobSet controller. */
export function crdsWithoutJobSet(): CustomResourceDefinition[] {
  return crdManifests().filter(({ spec }) => spec.group !== JOBSET_GROUP);
}

/** The definitions as one YAML stream, for `milepost crds` and `kubectl apply -f -`. */
export function crdYaml(crds: readonly CustomResourceDefinition[] = crdManifests()): string {
  return crds
    .map((crd) => stringify(crd, { aliasDuplicateObjects: false, lineWidth: 0 }))
    .join("---\n");
}
