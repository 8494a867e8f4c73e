/** Requests to stop and to restart jobs: checks of the caller and of the body, and the owner's answer. */
import type { z } from "zod";
import { jobRefOf, jobText } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import { STOP_LIMITS } from "../../crds/trainjob.ts";
import type { HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { refusalOfRights } from "../../platform/http/callers/reader_checks.ts";
import { FRESH_JSON, okResponse } from "../../platform/http/json_responses.ts";
import {
  conflict,
  failureOf,
  notFound,
  notNow,
  type Refusal,
  refusal,
} from "../../platform/http/refusals.ts";
import { type ApiParts, checkCaller, type JobName, unknownJob } from "./checks.ts";
import { CHANGE_REQUEST_LIMITS, type ChangeAsk } from "../../crds/wire/change_request.ts";
import { readJsonBody } from "./json_body.ts";
import { restartRequestSchema } from "../../crds/wire/restart_request.ts";
import { stopRequestSchema } from "../../crds/wire/stop_request.ts";

/** What is asked for. */
export type ChangeVerb = "stop" | "restart";

/** What is said of a job that cannot be stopped, or restarted. */
const FAILURES = {
  ended: conflict,
  conflict,
  gone: notFound,
  elsewhere: failureOf(422, "Invalid"),
};

const refuse = (why: keyof typeof FAILURES, reason: string) =>
  refusal(`job_${why}`, FAILURES[why](reason));

/** Returns the body, and who asks for which job: somebody who may update it, and the Trial that controls it. */
async function granted<Body extends { readonly uid?: string | undefined }>(
  parts: ApiParts,
  request: HttpRequest,
  name: JobName,
  { schema, verb }: { readonly schema: z.ZodType<Body>; readonly verb: ChangeVerb },
): Promise<{ readonly body: Omit<Body, "uid">; readonly by: ChangeAsk } | Refusal> {
  const caller = await checkCaller(parts, request, name, "update");
  if ("why" in caller) return caller;
  const { reader } = caller;
  const { bodyBytes: maxBytes } = CHANGE_REQUEST_LIMITS;
  const read = await readJsonBody(request, schema, { what: verb, maxBytes });
  if ("why" in read) return read;
  const { uid, ...body } = read.body;
  const found = await parts.findJob(name);
  if (found === undefined) return unknownJob(name);
  if (uid !== undefined && found.metadata.uid !== uid) {
    const meant = `the ${jobText(name)} that was meant`;
    return refuse("gone", `${meant} is gone: another one has its name now`);
  }
  const trial = trialReference(found.metadata);
  if (trial !== undefined) {
    const { namespace } = name;
    const text = `Trial ${namespace}/${trial.name}`;
    const object = { kind: KINDS.trial, namespace, name: trial.name, text };
    const refused = await refusalOfRights(parts, reader, object, "update");
    if (refused !== undefined) return refused;
  }
  const by: ChangeAsk = {
    job: jobRefOf(name.kind, found),
    trialUid: trial?.uid ?? null,
    user: reader.username.slice(0, STOP_LIMITS.userLength),
  };
  return { body, by };
}

const signalOf = (request: HttpRequest) => request.signal?.() ?? new AbortController().signal;

/** Stops a job for whoever may update it. */
async function stopJob(
  parts: ApiParts,
  request: HttpRequest,
  name: JobName,
): Promise<HttpResponse | Refusal> {
  const asked = await granted(parts, request, name, { schema: stopRequestSchema, verb: "stop" });
  if ("why" in asked) return asked;
  const answer = await parts.stop({ ...asked.by, stop: asked.body }, signalOf(request));
  if ("stop" in answer) return okResponse({ stop: answer.stop }, FRESH_JSON);
  return "refusal" in answer ? refuse(answer.refusal, answer.reason) : notNow(answer);
}

/** Restarts a job for whoever may update it. */
async function restartJob(
  parts: ApiParts,
  request: HttpRequest,
  name: JobName,
): Promise<HttpResponse | Refusal> {
  const how = { schema: restartRequestSchema, verb: "restart" } as const;
  const asked = await granted(parts, request, name, how);
  if ("why" in asked) return asked;
  const answer = await parts.restart({ ...asked.by, restart: asked.body }, signalOf(request));
  if ("restart" in answer) return okResponse({ restart: answer.restart }, FRESH_JSON);
  return "refusal" in answer ? refuse(answer.refusal, answer.reason) : notNow(answer);
}

/** Changes a job as it is asked for. */
export const changeJob = { stop: stopJob, restart: restartJob } as const satisfies Record<
  ChangeVerb,
  typeof stopJob
>;
