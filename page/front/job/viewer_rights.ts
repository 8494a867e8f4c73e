/** Rights of the viewer to change a job, which are asked for again from time to time. */
import { pathOf } from "../feed/job_key.ts";
import { type Reading, useReading } from "../feed/repeated_reading.ts";
import { readRights, type Rights } from "./job_details.ts";
import type { JobName } from "../../../crds/wire/row.ts";

/** Time between two questions, in milliseconds. */
const RIGHTS_MS = 60_000;

/** Returns the rights on a job, asked for anew if `when` changes; of no job none are asked for. */
export const useRights = (job: JobName | undefined, when = ""): Reading<Rights> =>
  useReading(job ? pathOf("rights", job) : "", readRights, RIGHTS_MS, when);
