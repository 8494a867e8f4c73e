/** Tests of the OpenAPI document against the observation API. */
import assert from "node:assert/strict";
import { restartPath, stopPath } from "../../../crds/job_kind.ts";
import { createJobKinds, JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { z } from "zod";
import { openApiDocument } from "../../../katib/api/observation_openapi.ts";
import { querySchema } from "../../../katib/api/messages.ts";
import { OBSERVATION_LIMITS } from "../../../crds/wire/observation.ts";
import { apiBench, requestOf } from "./api_bench.ts";

const documentSchema = z.object({
  openapi: z.string(),
  paths: z.record(
    z.string(),
    z.object({
      parameters: z.array(z.looseObject({ name: z.string(), in: z.string() })),
      get: z.looseObject({ responses: z.record(z.string(), z.unknown()) }).optional(),
      post: z.looseObject({ responses: z.record(z.string(), z.unknown()) }).optional(),
    }),
  ),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

Deno.test("the document is served without authentication or a review", async () => {
  const { api, server } = apiBench();
  const document = requestOf({ url: "/openapi/v3", authorization: null });
  const { status, headers, body } = await api.handle(document);
  assert.equal(status, 200);
  assert.equal(headers["Content-Type"], "application/json");
  assert.equal(body, JSON.stringify(openApiDocument(JOB_KINDS)));
  documentSchema.parse(JSON.parse(body));
  assert.equal(server.asked.length, 0);
});

Deno.test("every parameter of the document is one that is read, with its bounds", () => {
  const { paths } = documentSchema.parse(openApiDocument(JOB_KINDS));
  const [path = "", { parameters } = { parameters: [] }] = Object.entries(paths)[0] ?? [];
  assert.equal(
    path,
    "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/observation",
  );
  const named = (where: string) =>
    parameters.filter((it) => it.in === where).map(({ name }) => name);
  assert.deepEqual(named("path"), ["namespace", "name"]);
  assert.deepEqual(named("query"), Object.keys(querySchema.shape));
  assert.partialDeepStrictEqual(parameters.find(({ name }) => name === "limit"), {
    schema: { type: "integer", minimum: 1, maximum: OBSERVATION_LIMITS.maxPage },
  });
});

Deno.test("the document says how to stop a job, with the bounds of the body", () => {
  const { paths, components } = documentSchema.parse(openApiDocument(JOB_KINDS));
  const { parameters, get, post } = paths[stopPath(TRAINJOB, "{namespace}", "{name}")] ?? {};
  assert.deepEqual(parameters?.map(({ name }) => name), ["namespace", "name"]);
  assert.equal(get, undefined);
  assert.ok(Object.keys(post?.responses ?? {}).includes("409"));
  assert.partialDeepStrictEqual(components.schemas.StopRequest, {
    required: ["reason"],
    additionalProperties: false,
    properties: { graceSeconds: { type: "integer", minimum: 0, maximum: 3600 } },
  });
});

Deno.test("the document says how to restart a job, also one that another operator runs: it is told why not", () => {
  const { paths, components } = documentSchema.parse(openApiDocument(JOB_KINDS));
  const { post } = paths[restartPath(TRAINJOB, "{namespace}", "{name}")] ?? {};
  assert.ok(Object.keys(post?.responses ?? {}).includes("422"));
  assert.partialDeepStrictEqual(components.schemas.RestartRequest, {
    required: ["count", "reason"],
    additionalProperties: false,
    properties: { count: { type: "integer", minimum: 1 } },
  });
  const foreign = { ...TRAINJOB, plural: "others", isForeign: true };
  const all = openApiDocument(createJobKinds(TRAINJOB, foreign)).paths;
  assert.ok(restartPath(foreign, "{namespace}", "{name}") in all);
  assert.ok(!(stopPath(foreign, "{namespace}", "{name}") in all));
});

Deno.test("every reference of the document leads somewhere", () => {
  const { components } = documentSchema.parse(openApiDocument(JOB_KINDS));
  const refs = [...JSON.stringify(openApiDocument(JOB_KINDS)).matchAll(/"\$ref":"([^"]+)"/g)].map((
    [, ref = ""],
  ) => ref);
  assert.ok(refs.length > 5);
  for (const ref of new Set(refs)) {
    assert.ok(Object.hasOwn(components.schemas, ref.split("/").at(-1) ?? ""), `no ${ref}`);
  }
});
