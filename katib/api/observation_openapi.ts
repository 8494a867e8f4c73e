/** OpenAPI document of the observation API, made from the schemas that the API itself uses. */
import { z } from "zod";
import { type JobKind, observationPath, restartPath, stopPath } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { OBSERVATION_AUDIENCE, TRAINER_VERSION } from "../../crds/names.ts";
import { logRowSchema, metricSchema } from "../../crds/wire/observation.ts";
import { restartRequestSchema } from "../../crds/wire/restart_request.ts";
import { stopRequestSchema } from "../../crds/wire/stop_request.ts";
import type { ChangeVerb } from "./change_requests.ts";
import {
  endSchema,
  failureSchema,
  observationSchema,
  pathSchema,
  querySchema,
  restartingSchema,
  stoppingSchema,
} from "./messages.ts";

/** The schemas that the document names. */
const NAMED = z.registry<{ id: string }>();
NAMED.add(observationSchema, { id: "Observation" });
NAMED.add(metricSchema, { id: "Metric" });
NAMED.add(logRowSchema, { id: "LogRow" });
NAMED.add(endSchema, { id: "End" });
NAMED.add(failureSchema, { id: "Status" });
NAMED.add(stopRequestSchema, { id: "StopRequest" });
NAMED.add(stoppingSchema, { id: "Stopping" });
NAMED.add(restartRequestSchema, { id: "RestartRequest" });
NAMED.add(restartingSchema, { id: "Restarting" });

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object) => ({ "application/json": { schema } });

/** Refusals by code: what they mean, and the headers that come with them. */
type Refusals = Readonly<Record<number, { description: string; header?: string }>>;

const REFUSALS: Refusals = {
  401: {
    description: "No token, or one that the API server does not accept for this audience.",
    header: "WWW-Authenticate",
  },
  403: { description: "The bearer may not get the TrainJob." },
  404: { description: "There is no such TrainJob, or no such path." },
  405: { description: "Only GET is taken.", header: "Allow" },
  422: { description: "The query is not valid." },
  429: { description: "Too many reads, streams or failed authentications.", header: "Retry-After" },
  500: { description: "A fault of the manager; its log says more." },
  503: { description: "Log or API server are out of reach now.", header: "Retry-After" },
};

const STOP_REFUSALS: Refusals = {
  ...REFUSALS,
  403: {
    description: "The bearer may not update the TrainJob, or the Katib Trial that controls it.",
  },
  404: { description: "There is no such TrainJob, it is being deleted, or there is no such path." },
  405: { description: "Only POST is taken.", header: "Allow" },
  409: { description: "The TrainJob, or its Trial, has ended, and was not stopped early." },
  413: { description: "The body is too long." },
  422: { description: "The body is not valid, or the TrainJob is run in another cluster." },
  429: { description: "Too many requests or failed authentications.", header: "Retry-After" },
  503: {
    description:
      "The decision cannot be stored now, or the cluster's TrainJobs have no status.stop.",
    header: "Retry-After",
  },
};

const RESTART_REFUSALS: Refusals = {
  ...STOP_REFUSALS,
  409: {
    description:
      "The TrainJob has ended, has not begun, is suspended or being stopped; a restart of it is under way; or the count is not that of the next one.",
  },
  422: { description: "The body is not valid, or Milepost does not run the TrainJob." },
  503: {
    description:
      "The restart cannot be stored now, or the cluster's TrainJobs have no status.restart.",
    header: "Retry-After",
  },
};

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
function event(name: "observation" | "end") {
  return {
    type: "object",
    properties: {
      event: { type: "string", const: name },
      ...(name === "observation" &&
        { id: { type: "string", description: "A number that grows." } }),
      data: {
        type: "string",
        contentMediaType: "application/json",
        contentSchema: ref(name === "observation" ? "Observation" : "End"),
      },
    },
    required: ["event", "data"],
  };
}

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
            "text/event-stream": { schema: { oneOf: [event("observation"), event("end")] } },
          },
        },
        ...responsesOf(REFUSALS),
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
