/** Audiences of tokens with which pods push: KEP-2779's, and upstream's for each job. */
import { PUSH_AUDIENCE, upstreamPushAudience } from "../../crds/names.ts";
import type { TokenIdentity } from "../../http/callers/token_verification.ts";

const ANY_JOB = "any-job";

/** Returns the audience of the token that lets it push for this job, if there is one. */
export function pushAudience(
  identity: Pick<TokenIdentity, "audiences">,
  job: { readonly namespace: string; readonly name: string },
): string | undefined {
  return identity.audiences.find((audience) =>
    audience === PUSH_AUDIENCE || audience === upstreamPushAudience(job.namespace, job.name)
  );
}

/** Returns those audiences of a token that are for pushes, for whichever job of its namespace. */
export function pushAudiences({ audiences, namespace }: TokenIdentity): readonly string[] {
  const [before = "", after = ""] = upstreamPushAudience(namespace, ANY_JOB).split(ANY_JOB);
  return audiences.filter((it) =>
    it === PUSH_AUDIENCE || (it.startsWith(before) && it.endsWith(after))
  );
}
