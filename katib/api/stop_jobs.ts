/** Requests to stop jobs early: checks of the caller and of the body, and the owner's answer. */
import { jobRefOf, jobText } from "../../crds/job_kind.ts";
import { jsonOfBytes } from "../../platform/base/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import { STOP_LIMITS } from "../../crds/trainjob.ts";
import type { HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { refusalOfRights } from "../../platform/http/callers/reader_checks.ts";
import { FRESH_JSON, okResponse } from "../../platform/http/json_responses.ts";
import {
  bodyTooLarge,
  conflict,
  failureOf,
  invalid,
  notFound,
  notNow,
  type Refusal,
  refusal,
} from "../../platform/http/refusals.ts";
import { type ApiParts, checkCaller, type JobName, unknownJob } from "./checks.ts";
import {
  STOP_REQUEST_LIMITS,
  type StopAnswer,
  type StopBody,
  stopRequestSchema,
} from "../../crds/wire/stop_request.ts";
import type { StopRequest } from "../../owner/observations/observations.ts";

/** What is said of a job that cannot be stopped. */
const FAILURES = { ended: conflict, gone: notFound, elsewhere: failureOf(422, "Invalid") };

const refuseStop = (why: keyof typeof FAILURES, reason: string) =>
  refusal(`job_${why}`, FAILURES[why](reason));

/** Reads the body. */
async function readStop(
  request: HttpRequest,
): Promise<StopBody | Refusal> {
  const { bodyBytes: maxBytes } = STOP_REQUEST_LIMITS;
  const bytes = await request.readBody(maxBytes);
  if (bytes === undefined) return bodyTooLarge(maxBytes);
  const parsed = stopRequestSchema.safeParse(jsonOfBytes(bytes));
  if (parsed.success) return parsed.data;
  const causes = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.slice(0, 20).map((key) => ({ field: key.slice(0, 64), message: "is not known" }))
      : [{ field: issue.path.join("."), message: issue.message }]
  );
  return invalid("stop", causes);
}

function answerOf(answer: StopAnswer): HttpResponse | Refusal {
  if ("stop" in answer) return okResponse({ stop: answer.stop }, FRESH_JSON);
  if ("refusal" in answer) return refuseStop(answer.refusal, answer.reason);
  return notNow(answer);
}

/** Stops a job for whoever may update it, and the Trial that controls it. */
export async function stopJob(
  parts: ApiParts,
  request: HttpRequest,
  name: JobName,
): Promise<HttpResponse | Refusal> {
  const granted = await checkCaller(parts, request, name, "update");
  if ("why" in granted) return granted;
  const { reader } = granted;
  const read = await readStop(request);
  if ("why" in read) return read;
  const { uid, ...stop } = read;
  const found = await parts.findJob(name);
  if (found === undefined) return unknownJob(name);
  if (uid !== undefined && found.metadata.uid !== uid) {
    const meant = `the ${jobText(name)} that was meant`;
    return refuseStop("gone", `${meant} is gone: another one has its name now`);
  }
  const trial = trialReference(found.metadata);
  if (trial !== undefined) {
    const { namespace } = name;
    const text = `Trial ${namespace}/${trial.name}`;
    const object = { kind: KINDS.trial, namespace, name: trial.name, text };
    const refused = await refusalOfRights(parts, reader, object, "update");
    if (refused !== undefined) return refused;
  }
  const ask: StopRequest = {
    job: jobRefOf(name.kind, found),
    trialUid: trial?.uid ?? null,
    user: reader.username.slice(0, STOP_LIMITS.userLength),
    stop,
  };
  const { signal } = new AbortController();
  return answerOf(await parts.stop(ask, request.signal?.() ?? signal));
}
