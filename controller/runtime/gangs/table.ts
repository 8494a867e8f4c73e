/** Table of the gang schedulers whose pod groups are made, by the field of `podGroupPolicy`. */
import type { PolicyTable } from "../policy.ts";

/** Empty: every gang scheduler is refused as not supported. */
export const GANGS: PolicyTable = {};
