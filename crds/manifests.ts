/** The CustomResourceDefinitions of Milepost's kinds, made from the same schemas as the types. */
import type { z } from "zod";
import { stringify } from "yaml";
import { jobSetSchema } from "./jobset.ts";
import { isObject } from "../platform/base/json.ts";
import type { Kind } from "../platform/kube/resource.ts";
import { KINDS } from "./kinds.ts";
import { JOBSET_GROUP } from "./jobset_names.ts";
import { asUpstreamGenerates, type OpenApiSchema, openApiSchema } from "./openapi_schema.ts";
import { optimizationJobSchema } from "./optimization_job.ts";
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
export type CustomResourceDefinition = ReturnType<typeof definitionOf>;

/** The columns that several kinds have. */
export const COLUMNS = {
  age: { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  progress: {
    name: "Progress %",
    type: "integer",
    jsonPath: ".status.trainerStatus.progressPercentage",
  },
} as const satisfies Record<string, PrinterColumn>;

/** Returns the definition of a kind, which has one version. */
export function definitionOf(
  { group, version, kind, plural, namespaced }: Kind<unknown>,
  { schema, subresources, columns = [], annotations, categories }: {
    readonly schema: OpenApiSchema;
    readonly subresources?: { status: Record<string, never>; scale?: ScalePaths };
    readonly columns?: readonly PrinterColumn[];
    readonly annotations?: Record<string, string>;
    readonly categories?: string[];
  },
) {
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...(annotations && { annotations }) },
    spec: {
      group,
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(categories && { categories }),
      },
      scope: namespaced ? "Namespaced" : "Cluster",
      versions: [{
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: schema },
        ...(subresources && { subresources }),
        ...(columns.length > 0 && { additionalPrinterColumns: [...columns] }),
      }],
    },
  };
}

/** The parts of a kind's root that are the API server's own business. */
export const ROOT_PROPERTIES = {
  apiVersion: { type: "string" },
  kind: { type: "string" },
  metadata: { type: "object" },
} as const;

function rootSchema(source: z.ZodType, required?: string[]): OpenApiSchema {
  const schema: OpenApiSchema = { ...openApiSchema(source), required };
  if (required === undefined) delete schema.required;
  const parts = typeof schema.properties === "object" ? schema.properties : {};
  return { ...schema, properties: { ...parts, ...ROOT_PROPERTIES } };
}

const STATUS = { status: {} };

/** The schema of an OptimizationJob, with its template's as upstream has it. */
function optimizationJobRoot(): OpenApiSchema {
  const schema = rootSchema(optimizationJobSchema, ["spec"]);
  const template = ["spec", "trainJobTemplate", "spec"].reduce<unknown>(
    (node, name) => isObject(node) && isObject(node.properties) ? node.properties[name] : undefined,
    schema,
  );
  asUpstreamGenerates(template);
  return schema;
}

/** All five definitions: TrainJob, TrainingRuntime, ClusterTrainingRuntime, OptimizationJob, JobSet. */
export function crdManifests(): CustomResourceDefinition[] {
  return [
    definitionOf(KINDS.trainJob, {
      schema: rootSchema(trainJobSchema, ["spec"]),
      subresources: STATUS,
      columns: [
        { name: "State", type: "string", jsonPath: ".status.state" },
        COLUMNS.progress,
        // A path cannot ask how the job is: of one that has ended it is what was said last, not what is left.
        {
          name: "Last ETA",
          type: "integer",
          jsonPath: ".status.trainerStatus.estimatedRemainingSeconds",
          priority: 1,
        },
        { name: "Failure", type: "string", jsonPath: ".status.failure.headline", priority: 1 },
        COLUMNS.age,
      ],
    }),
    definitionOf(KINDS.trainingRuntime, { schema: rootSchema(trainingRuntimeSchema) }),
    definitionOf(KINDS.clusterTrainingRuntime, {
      schema: rootSchema(clusterTrainingRuntimeSchema),
    }),
    definitionOf(KINDS.optimizationJob, {
      schema: optimizationJobRoot(),
      subresources: STATUS,
    }),
    definitionOf(KINDS.jobSet, {
      schema: rootSchema(jobSetSchema),
      subresources: STATUS,
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
    }),
  ];
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
