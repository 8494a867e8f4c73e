/** The CustomResourceDefinitions of the v1 kinds, and JSON patches of those that upstream installs. */
import { z } from "zod";
import { isObject } from "../../platform/base/json.ts";
import { shellQuoted } from "../../platform/base/shell_words.ts";
import type { JsonPatchOperation } from "../../platform/kube/connection/request.ts";
import {
  COLUMNS,
  type CustomResourceDefinition,
  definitionOf,
  type PrinterColumn,
  ROOT_PROPERTIES,
  type ScalePaths,
} from "../manifests.ts";
import { type OpenApiSchema, openApiSchema } from "../openapi_schema.ts";
import { statusParts } from "../trainjob.ts";
import { elasticPolicySchema, replicaSpecsSchema, v1SpecSchema, v1StatusSchema } from "./job.ts";
import { V1_KIND_LIST, v1CrdName, type V1Kind, type V1KindName } from "./kinds.ts";
import { V1_RUN_BY, V1_RUN_BY_ANNOTATION, V1_VERSION } from "./names.ts";
import { V1_RESOURCES } from "./v1_resources.ts";

const { shape } = v1SpecSchema;

/** The fields of a kind's spec besides the run policy and the replica types. */
const OWN_FIELDS: Readonly<Record<V1KindName, z.core.$ZodShape>> = {
  TFJob: {
    successPolicy: shape.successPolicy,
    enableDynamicWorker: shape.enableDynamicWorker,
  },
  PyTorchJob: { nprocPerNode: shape.nprocPerNode, elasticPolicy: shape.elasticPolicy },
  XGBoostJob: {},
  MXJob: { jobMode: z.string().meta({ description: "MXTrain or MXTune." }) },
  MPIJob: {
    slotsPerWorker: shape.slotsPerWorker,
    mainContainer: shape.mainContainer,
    cleanPodPolicy: shape.cleanPodPolicy,
  },
  PaddleJob: {
    elasticPolicy: elasticPolicySchema
      .pick({ minReplicas: true, maxReplicas: true, maxRestarts: true, metrics: true })
      .optional().meta({ description: "Bounds of the number of workers." }),
  },
  JAXJob: {},
};

/** Type of the newest condition, whatever its status. */
const STATE: PrinterColumn = {
  name: "State",
  type: "string",
  jsonPath: ".status.conditions[-1:].type",
};

/** The columns of a kind; upstream's MPIJob prints its age first. */
function columnsOf({ kind }: V1Kind): PrinterColumn[] {
  return kind === ("MPIJob" satisfies V1KindName)
    ? [COLUMNS.age, STATE, COLUMNS.progress]
    : [STATE, COLUMNS.progress, COLUMNS.age];
}

function scalePaths({ specsKey }: V1Kind): ScalePaths {
  const worker = "status.replicaStatuses.Worker";
  return {
    specReplicasPath: `.spec.${specsKey}.Worker.replicas`,
    statusReplicasPath: `.${worker}.active`,
    labelSelectorPath: `.${worker}.selector`,
  };
}

/** The parts that all kinds have; those of pod templates are large. */
type CommonSchemas = ReturnType<typeof commonSchemas>;

function commonSchemas() {
  return {
    replicas: openApiSchema(
      replicaSpecsSchema.meta({ description: "The pods of the job, by their type." }),
    ),
    runPolicy: openApiSchema(
      // Clients of the SDK cannot read a job without it.
      shape.runPolicy.meta({
        ...z.globalRegistry.get(shape.runPolicy),
        default: { suspend: false },
      }),
    ),
    status: openApiSchema(v1StatusSchema),
  };
}

/** Stands for a part that is common to all kinds. */
const COMMON_PART = z.looseObject({});

function specSchema({ kind, specsKey }: V1Kind, common: CommonSchemas): OpenApiSchema {
  const spec = openApiSchema(z.looseObject({
    [specsKey]: COMMON_PART,
    runPolicy: COMMON_PART.optional(),
    ...OWN_FIELDS[kind],
  }));
  const { replicas, runPolicy } = common;
  const own = isObject(spec.properties) ? spec.properties : {};
  return { ...spec, properties: { ...own, [specsKey]: replicas, runPolicy } };
}

/** The definitions of all v1 kinds; they carry the annotation by which Milepost runs a kind. */
export function v1CrdManifests(): CustomResourceDefinition[] {
  const common = commonSchemas();
  return V1_KIND_LIST.map((kind) =>
    definitionOf(V1_RESOURCES[kind.kind], {
      schema: {
        type: "object",
        properties: { ...ROOT_PROPERTIES, spec: specSchema(kind, common), status: common.status },
      },
      subresources: { status: {}, ...(kind.scalable && { scale: scalePaths(kind) }) },
      columns: columnsOf(kind),
      annotations: { [V1_RUN_BY_ANNOTATION]: V1_RUN_BY },
    })
  );
}

/**
 * Returns what adds our fields of the status and the column of the progress to upstream's definition of a
 * kind. It can be applied again, and fails for a definition whose first version is not v1.
 */
export function v1CrdPatch(kind: V1Kind): Extract<JsonPatchOperation, { value: unknown }>[] {
  const version = "/spec/versions/0";
  const fields = `${version}/schema/openAPIV3Schema/properties/status/properties`;
  return [
    { op: "test", path: `${version}/name`, value: V1_VERSION },
    ...Object.entries(statusParts).map(([field, schema]) => ({
      op: "add" as const,
      path: `${fields}/${field}`,
      value: openApiSchema(schema),
    })),
    { op: "add", path: `${version}/additionalPrinterColumns`, value: columnsOf(kind) },
  ];
}

/** The patches as commands of kubectl, for `milepost crds --v1 --patch | sh`. */
export function v1PatchCommands(): string {
  const commands = V1_KIND_LIST.map((kind) =>
    `kubectl patch customresourcedefinition ${v1CrdName(kind)} --type=json ` +
    `--patch=${shellQuoted(JSON.stringify(v1CrdPatch(kind)))}\n`
  );
  return [
    "# Progress in the definitions of the Training Operator; a line for each kind. Apply them by `sh`.\n",
    ...commands,
  ].join("");
}
