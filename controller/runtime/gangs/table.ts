/** Table of the gang schedulers whose pod groups are made, by the field of `podGroupPolicy`. */
import type { Policies } from "../policy.ts";
import { coscheduling } from "./coscheduling.ts";
import { volcano } from "./volcano.ts";

/** A runtime that names both gets both pod groups, as upstream. */
export const GANGS: Policies["gangs"] = { coscheduling, volcano };
