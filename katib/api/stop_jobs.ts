/** Requests to stop jobs early: checks of the caller and of the body, and the owner's answer. */
import { jobRefOf } from "../../crds/job_kind.ts";
import { jsonOfBytes } from "../../platform/base/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import { STOP_LIMITS } from "../../crds/trainjob.ts";
import type { HttpRequest, HttpResponse } from "../../platform/http/message.ts";
import { trialReference } from "../../trials/plan/claim.ts";
import { refusalOfRights } from "../../platform/http/callers/reader_checks.ts";
import { okResponse } from "../../platform/http/callers/reader_refusals.ts";
import type { ApiRefusal } from "./answers.ts";
import { type ApiParts, checkStop, type JobName, jobText } from "./checks.ts";
import { STOP_REQUEST_LIMITS, stopRequestSchema } from "./messages.ts";
import type { OwnerStopAnswer, StopAsk } from "./owner_stops.ts";
import type { z } from "zod";

const WHY = { ended: "job_ended", gone: "job_gone", elsewhere: "job_elsewhere" } as const;

/** Reads the body. */
async function readStop(
  request: HttpRequest,
): Promise<z.infer<typeof stopRequestSchema> | ApiRefusal> {
  const { bodyBytes: maxBytes } = STOP_REQUEST_LIMITS;
  const bytes = await request.readBody(maxBytes);
  if (bytes === undefined) return { why: "body_too_large", maxBytes };
  const parsed = stopRequestSchema.safeParse(jsonOfBytes(bytes));
  if (parsed.success) return parsed.data;
  const causes = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.slice(0, 20).map((key) => ({ field: key.slice(0, 64), message: "is not known" }))
      : [{ field: issue.path.join("."), message: issue.message }]
  );
  return { why: "invalid_stop", causes };
}

function answerOf(answer: OwnerStopAnswer): HttpResponse | ApiRefusal {
  if ("stop" in answer) return okResponse({ stop: answer.stop });
  if ("refusal" in answer) return { why: WHY[answer.refusal], reason: answer.reason };
  return { why: "unavailable", ...answer };
}

/** Stops a job for whoever may update it, and the Trial that controls it. */
export async function stopJob(
  parts: ApiParts,
  request: HttpRequest,
  name: JobName,
): Promise<HttpResponse | ApiRefusal> {
  const granted = await checkStop(parts, request, name);
  if ("why" in granted) return granted;
  const { reader } = granted;
  const read = await readStop(request);
  if ("why" in read) return read;
  const { uid, ...stop } = read;
  const found = await parts.findJob(name);
  if (found === undefined) return { why: "unknown_job", job: jobText(name) };
  if (uid !== undefined && found.metadata.uid !== uid) {
    const reason = `the ${jobText(name)} that was meant is gone: another one has its name now`;
    return { why: "job_gone", reason };
  }
  const trial = trialReference(found.metadata);
  if (trial !== undefined) {
    const { namespace } = name;
    const text = `Trial ${namespace}/${trial.name}`;
    const object = { kind: KINDS.trial, namespace, name: trial.name, text };
    const refusal = await refusalOfRights(parts, reader, object, "update");
    if (refusal !== undefined) return refusal;
  }
  const ask: StopAsk = {
    job: jobRefOf(name.kind, found),
    trialUid: trial?.uid ?? null,
    user: reader.username.slice(0, STOP_LIMITS.userLength),
    stop,
  };
  const { signal } = new AbortController();
  return answerOf(await parts.stop(ask, request.signal?.() ?? signal));
}
