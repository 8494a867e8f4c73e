/** Audiences of tokens with which pods push: KEP-2779's, and upstream's for each job. */
import { jobAudience, type JobRef } from "../../crds/job_kind.ts";
import type { JobKinds } from "../../crds/job_kinds.ts";
import { PUSH_AUDIENCE } from "../../crds/names.ts";
import type { TokenIdentity } from "../../platform/http/callers/token_verification.ts";

const ANY_JOB = "any-job";

/** Returns the audience of the token that lets it push for this job, if there is one. */
export function pushAudience(
  identity: Pick<TokenIdentity, "audiences">,
  { kind, namespace, name }: Omit<JobRef, "uid">,
): string | undefined {
  return identity.audiences.find((audience) =>
    audience === PUSH_AUDIENCE || audience === jobAudience(kind, namespace, name)
  );
}

/** Creates the filter for audiences of a token that are for pushes, for whichever job of its namespace. */
export function createPushAudiences(kinds: JobKinds) {
  return ({ audiences, namespace }: TokenIdentity): readonly string[] =>
    audiences.filter((it) =>
      it === PUSH_AUDIENCE || kinds.all.some((kind) => {
        const [before = "", after = ""] = jobAudience(kind, namespace, ANY_JOB).split(ANY_JOB);
        return it.startsWith(before) && it.endsWith(after);
      })
    );
}
