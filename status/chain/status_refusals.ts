/** Refusals of the status endpoint. */
import {
  COMMON_REFUSALS,
  type FailureShape,
  forbidden,
  notFound,
  refusalsOf,
  tooMany,
  unauthorized,
} from "../../platform/http/refusals.ts";

/** A good token that may not report for this job. */
export type ForbiddenReason =
  | "other_namespace"
  | "not_bound"
  | "pod_gone"
  | "pod_finished"
  | "service_account_gone"
  | "not_of_this_job";

/** What is said of a path that is none of the endpoint's. */
export const UNKNOWN_PATH = notFound(
  "no such path: push to the URL in KUBEFLOW_TRAINER_STATUS_URL",
);

const BAD_TOKEN = "the bearer token is not valid here: send the token of the pod's " +
  "kubeflow-trainer-token volume, read again for each push";

/** The table of refusals. */
const TABLE = {
  ...COMMON_REFUSALS,
  unknown_job: notFound("no TrainJob of that name in the token's namespace"),
  no_status: notFound("nothing was pushed for this TrainJob yet: push, or wait with ?watch=true"),
  no_token: unauthorized(
    "a push needs the header Authorization: Bearer TOKEN with the pod's token",
  ),
  malformed_token: unauthorized(BAD_TOKEN),
  refused_before: unauthorized(BAD_TOKEN),
  unknown_key: unauthorized(BAD_TOKEN),
  wrong_algorithm: unauthorized(BAD_TOKEN),
  bad_signature: unauthorized(BAD_TOKEN),
  wrong_issuer: unauthorized(BAD_TOKEN),
  expired: unauthorized("the bearer token has expired: read the token file again for each push"),
  wrong_audience: unauthorized("the bearer token is for another audience: see KEP-2779"),
  revoked: unauthorized("the API server no longer accepts the bearer token"),
  other_namespace: forbidden("the token belongs to another namespace than the TrainJob"),
  not_bound: forbidden("the token is not bound to a pod: use the pod's projected token"),
  pod_gone: forbidden("the pod that the token is bound to no longer exists"),
  pod_finished: forbidden("the pod that the token is bound to has finished"),
  service_account_gone: forbidden("the service account of the token no longer exists"),
  not_of_this_job: forbidden("the pod that the token is bound to is not part of this TrainJob"),
  pod_limit: tooMany("this pod pushes too often: wait, then send the newest status"),
  beat_limit: tooMany("this pod sends heartbeats too often: one in ten seconds is enough"),
  history_limit: tooMany(
    "this pod sends histories too often: wait, then send more samples in one request",
  ),
  sample_limit: tooMany(
    "histories of this pod, or of its service account, hold too many samples: wait, then go on",
  ),
  subject_limit: tooMany("pods of this service account push too often: wait, then try again"),
  subject_stream_limit: tooMany(
    "pods of this service account have too many streams open " +
      "(--max-streams-per-subject): close one, or read without watch",
  ),
} satisfies Readonly<Record<string, FailureShape>>;

/** Reason codes of the table. */
export type StatusReason = keyof typeof TABLE;

/** Returns a refusal of the table. */
export const refuse = refusalsOf<StatusReason>(TABLE);
