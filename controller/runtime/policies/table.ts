/** Table of the policies that are executed, by the API field that names each. */
import { GANGS } from "../gangs/table.ts";
import type { Policies } from "../policy.ts";
import { plain } from "./plain.ts";
import { torch } from "./torch.ts";

/** The policies of this build; a field of the API without a row here is refused as not supported. */
export const POLICIES: Policies = { ml: { torch }, plain, gangs: GANGS };
