/** The progress of a JobSet before there is one. */
import type { Progress } from "../../controller/runtime/child.ts";

export const NO_PROGRESS: Progress = { restarted: false, jobs: new Map() };
