/** The version of this build, and the API versions that it serves. */
import manifest from "../deno.json" with { type: "json" };
import { TRAINER_API_VERSION } from "../crds/names.ts";
import { JOBSET_API_VERSION } from "../crds/jobset_names.ts";
import { V1_API_VERSION } from "../crds/v1/names.ts";

/** The version, from `deno.json`. */
export const VERSION: string = manifest.version;

/** Output of `milepost version`. */
export function versionText(): string {
  return [
    `milepost ${VERSION}`,
    `serves ${TRAINER_API_VERSION}, ${JOBSET_API_VERSION}, ${V1_API_VERSION}`,
    `deno ${Deno.version.deno}`,
  ].join("\n");
}
