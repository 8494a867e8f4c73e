/** OpenAPI document of the observation API, made from the schemas that the API itself uses. */
import { z } from "zod";
import {
  type JobKind,
  observationPath,
  observationsPath,
  restartPath,
  stopPath,
} from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { OBSERVATION_AUDIENCE, TRAINER_VERSION } from "../../crds/names.ts";
import { logRowSchema, metricSchema } from "../../crds/wire/observation.ts";
import { restartRequestSchema } from "../../crds/wire/restart_request.ts";
import { stopRequestSchema } from "../../crds/wire/stop_request.ts";
import type { ChangeVerb } from "./change_requests.ts";
import {
  endSchema,
  failureSchema,
  jobGoneSchema,
  jobObservationSchema,
  jobsPathSchema,
  jobsRequestSchema,
  observationSchema,
  pathSchema,
  querySchema,
  restartingSchema,
  stoppingSchema,
  streamEndSchema,
} from "./messages.ts";
import {
  JOBS_REFUSALS,
  REFUSALS,
  type Refusals,
  RESTART_REFUSALS,
  STOP_REFUSALS,
} from "./openapi_refusals.ts";

/** The schemas that the document names. */
const NAMED = z.registry<{ id: string }>();
NAMED.add(observationSchema, { id: "Observation" });
NAMED.add(metricSchema, { id: "Metric" });
NAMED.add(logRowSchema, { id: "LogRow" });
NAMED.add(endSchema, { id: "End" });
NAMED.add(jobsRequestSchema, { id: "JobsRequest" });
NAMED.add(jobObservationSchema, { id: "JobObservation" });
NAMED.add(jobGoneSchema, { id: "JobGone" });
NAMED.add(streamEndSchema, { id: "StreamEnd" });
NAMED.add(failureSchema, { id: "Status" });
NAMED.add(stopRequestSchema, { id: "StopRequest" });
NAMED.add(stoppingSchema, { id: "Stopping" });
NAMED.add(restartRequestSchema, { id: "RestartRequest" });
NAMED.add(restartingSchema, { id: "Restarting" });

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object) => ({ "application/json": { schema } });

const responsesOf = (refusals: Refusals) =>
  Object.fromEntries(Object.entries(refusals).map(([code, one]) => [code, refusal(one)]));

function refusal({ description, header }: { description: string; header?: string }) {
  const headers = header && { headers: { [header]: { schema: { type: "string" } } } };
  return { description, ...headers, content: json(ref("Status")) };
}

/** The properties of an object as parameters, each with its description beside its schema. */
function parametersOf(schema: z.ZodObject, where: "path" | "query") {
  const { properties = {} } = z.toJSONSchema(schema, { io: "input" });
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...rest } = typeof property === "boolean" ? {} : property;
    return { name, in: where, required: where === "path", description, schema: rest };
  });
}

/** One of the server-sent events; of a stream the schema describes each, up to OpenAPI 3.1. */
function event(name: string, schema?: string) {
  return {
    type: "object",
    properties: {
      event: { type: "string", const: name },
      ...(name === "observation" &&
        { id: { type: "string", description: "A number that grows." } }),
      data: {
        type: "string",
        contentMediaType: "application/json",
        contentSchema: schema === undefined ? { type: "object" } : ref(schema),
      },
    },
    required: ["event", "data"],
  };
}

const stream = (...events: readonly object[]) => ({
  "text/event-stream": { schema: { oneOf: events } },
});

const EVENTS =
  "With `watch=true`: `event: observation` with an Observation as data, whose log holds " +
  "the rows since the event before; `event: end` with a reason once the job has ended.";

/** The path of one kind of job; operations have different names in one document. */
function pathItem({ kind }: JobKind, { implied }: JobKinds) {
  return {
    parameters: [...parametersOf(pathSchema, "path"), ...parametersOf(querySchema, "query")],
    get: {
      operationId: kind === implied.kind ? "getObservation" : `get${kind}Observation`,
      summary: `How a ${kind} stands, and a page of its observation log`,
      security: [{ bearer: [] }],
      responses: {
        200: {
          description: `The observation. ${EVENTS}`,
          content: {
            ...json(ref("Observation")),
            ...stream(event("observation", "Observation"), event("end", "End")),
          },
        },
        ...responsesOf(REFUSALS),
      },
    },
  };
}

const JOBS_EVENTS =
  "`event: observation` for each job that matches, once at the beginning, then with its new rows or state; " +
  "`event: synced` when all that matched at the beginning have been sent, those whose log cannot be read now with that; `event: gone` for one that was deleted " +
  "or matches no more; `event: end` with a reason when the server ends the stream.";

/** The path at which the observations of many jobs of one kind are streamed. */
function jobsPathItem({ kind }: JobKind, { implied }: JobKinds) {
  return {
    parameters: parametersOf(jobsPathSchema, "path"),
    post: {
      operationId: kind === implied.kind ? "streamObservations" : `stream${kind}Observations`,
      summary: `Stream the observations of all jobs of the kind ${kind} that have some labels`,
      security: [{ bearer: [] }],
      requestBody: { required: true, content: json(ref("JobsRequest")) },
      responses: {
        200: {
          description: JOBS_EVENTS,
          content: stream(
            event("observation", "JobObservation"),
            event("synced"),
            event("gone", "JobGone"),
            event("end", "StreamEnd"),
          ),
        },
        ...responsesOf(JOBS_REFUSALS),
      },
    },
  };
}

/** What the document says of a change of jobs. */
const CHANGES = {
  stop: {
    summary: (kind: string) => `Stop a ${kind} early`,
    description: "The first decision about a job holds; a shorter grace shortens that one's.",
    done: "The decision is stored.",
    schemas: ["StopRequest", "Stopping"],
    refusals: STOP_REFUSALS,
  },
  restart: {
    summary: (kind: string) => `Restart a ${kind} from its last checkpoint`,
    description: "All its pods go before new ones come. The same count is the same restart.",
    done: "The restart is stored.",
    schemas: ["RestartRequest", "Restarting"],
    refusals: RESTART_REFUSALS,
  },
} as const;

/** The path at which one kind of job is stopped, or restarted. */
function changePathItem(verb: ChangeVerb, { kind }: JobKind, { implied }: JobKinds) {
  const { summary, description, done, schemas: [body, answer], refusals } = CHANGES[verb];
  return {
    parameters: parametersOf(pathSchema, "path"),
    post: {
      operationId: kind === implied.kind ? `${verb}Job` : `${verb}${kind}`,
      summary: summary(kind),
      description,
      security: [{ bearer: [] }],
      requestBody: { required: true, content: json(ref(body)) },
      responses: {
        200: { description: done, content: json(ref(answer)) },
        ...responsesOf(refusals),
      },
    },
  };
}

/** Returns the document as a value. */
export function openApiDocument(kinds: JobKinds) {
  return {
    openapi: "3.1.0",
    info: {
      title: "Milepost observations",
      version: TRAINER_VERSION,
      description:
        "What trial controllers learn of TrainJobs, how they stand and their metrics, and how they stop and restart them.",
    },
    paths: Object.fromEntries(kinds.all.flatMap((kind) => [
      [observationPath(kind, "{namespace}", "{name}"), pathItem(kind, kinds)],
      [observationsPath(kind, "{namespace}"), jobsPathItem(kind, kinds)],
      ...(kind.isForeign
        ? []
        : [[stopPath(kind, "{namespace}", "{name}"), changePathItem("stop", kind, kinds)]]),
      [restartPath(kind, "{namespace}", "{name}"), changePathItem("restart", kind, kinds)],
    ])),
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          bearerFormat: "JWT",
          description: `A token of a service account with the audience ${OBSERVATION_AUDIENCE}.`,
        },
      },
    },
  };
}

/** The named schemas; what they do not name may be added later. */
function componentSchemas() {
  const { schemas } = z.toJSONSchema(NAMED, { io: "input", uri: (id) => ref(id).$ref });
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _, $id: __, ...schema }]) => [name, schema]),
  );
}
