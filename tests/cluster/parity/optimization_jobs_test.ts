/**
 * Test of the definition of OptimizationJobs on a real API server: it admits, refuses and stores what upstream's does. Upstream's
 * file is that of a checkout which the variable names; without it what was recorded under it is held against.
 */
import assert from "node:assert/strict";
import { z } from "zod";
import { crdManifests } from "../../../crds/manifests.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { isObject } from "../../../platform/base/json.ts";
import { isNotFound, KubeError } from "../../../platform/kube/errors.ts";
import { until } from "../../support/until.ts";
import { type ControlPlane, withControlPlane } from "../control_plane/control_plane.ts";
import { install, remove } from "./answers.ts";
import {
  type Changes,
  type DefinitionCase,
  OPTIMIZATION_JOBS,
  SEARCH,
} from "./cases/optimization_jobs.ts";
import { readManifests } from "./loopback_webhooks.ts";
import { collectionPath, type Manifest } from "./manifest.ts";

const RECORDING = new URL("recordings/optimization_jobs.json", import.meta.url);
const UPSTREAM = "manifests/base/crds/trainer.kubeflow.org_optimizationjobs.yaml";
const checkout = Deno.env.get("KUBEFLOW_TRAINER_CHECKOUT");

/** Causes of a refusal, or the spec and status that were stored. */
const answerSchema = z.union([
  z.object({ refused: z.array(z.string()) }),
  z.object({ spec: z.unknown(), status: z.unknown().optional() }),
]);
const answersSchema = z.record(z.string(), answerSchema);
type Answer = z.infer<typeof answerSchema>;

const statusSchema = z.object({
  causes: z.array(z.object({ field: z.string().default(""), message: z.string().default("") })),
});

/** Returns an object with one value set, or taken away. */
function withValue(node: unknown, [key = "", ...rest]: readonly string[], value: unknown): unknown {
  const next = rest.length === 0 ? value : withValue(Reflect.get(Object(node), key), rest, value);
  if (Array.isArray(node)) return node.with(Number(key), next);
  return { ...isObject(node) ? node : {}, [key]: next };
}

const changed = (changes: Changes = {}) =>
  Object.entries(changes).reduce<unknown>(
    (object, [path, value]) => withValue(object, path.split("."), value),
    SEARCH,
  );

const COLLECTION = collectionPath(SEARCH, "default");
const OBJECT = `${COLLECTION}/${SEARCH.metadata.name}`;

/** Sends a request. Returns what was stored, or the causes of a refusal, in an order of their own. */
async function send(
  { client }: ControlPlane,
  method: "POST" | "PATCH",
  path: string,
  body: unknown,
): Promise<Answer> {
  const type = method === "POST" ? "json" : "merge-patch+json";
  try {
    const { text } = await client.read(path, {
      method,
      headers: { "content-type": `application/${type}` },
      body: JSON.stringify(body),
    });
    return answerSchema.parse(JSON.parse(text));
  } catch (error) {
    if (!(error instanceof KubeError) || error.code !== 422) throw error;
    const { causes } = statusSchema.parse(error.details);
    return { refused: causes.map(({ field, message }) => `${field}: ${message}`).toSorted() };
  }
}

async function perform(plane: ControlPlane, { make, patch }: DefinitionCase): Promise<Answer> {
  const made = await send(plane, "POST", COLLECTION, changed(make));
  if ("refused" in made) {
    assert.equal(patch, undefined, `what is to be changed was refused: ${made.refused.join()}`);
    return made;
  }
  try {
    if (patch === undefined) return made;
    const { body, subresource } = patch;
    return await send(plane, "PATCH", subresource ? `${OBJECT}/${subresource}` : OBJECT, body);
  } finally {
    await plane.client.delete(KINDS.optimizationJob, { namespace: "default", ...SEARCH.metadata });
  }
}

/** Performs all cases under a definition, and takes that away. */
async function answersUnder(plane: ControlPlane, definition: Manifest) {
  await install(plane.client, [definition]);
  const answers: Record<string, Answer> = {};
  for (const [name, it] of Object.entries(OPTIMIZATION_JOBS)) {
    answers[name] = await perform(plane, it);
  }
  const { apiVersion, kind, metadata: { name } } = definition;
  await remove(plane.client, { apiVersion, kind, name });
  await until(
    "the definition to be gone",
    () => plane.client.get(KINDS.customResourceDefinition, { name }).then(() => false, isNotFound),
  );
  return answersSchema.parse(JSON.parse(JSON.stringify(answers)));
}

async function upstreamAnswers(plane: ControlPlane) {
  if (checkout === undefined) {
    return answersSchema.parse(JSON.parse(await Deno.readTextFile(RECORDING)));
  }
  const [definition] = await readManifests(`${checkout}/${UPSTREAM}`);
  assert.ok(definition, `${UPSTREAM} has a definition`);
  const answers = await answersUnder(plane, definition);
  if (Deno.env.get("MILEPOST_RECORD")) {
    await Deno.writeTextFile(RECORDING, `${JSON.stringify(answers, null, 1)}\n`);
  }
  return answers;
}

const count = Object.keys(OPTIMIZATION_JOBS).length;
const against = checkout === undefined ? "as recorded" : "beside it";

Deno.test(`the definition of OptimizationJobs does what upstream's does (${count} cases, ${against})`, () =>
  withControlPlane(async (plane) => {
    const ours = crdManifests().find(({ spec }) => spec.names.kind === KINDS.optimizationJob.kind);
    assert.ok(ours);
    const answers = await answersUnder(plane, ours);
    assert.deepEqual(answers, await upstreamAnswers(plane));
  }, { scheduler: false, controllerManager: false }));
