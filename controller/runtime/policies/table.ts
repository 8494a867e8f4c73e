/** Table of the policies that are executed, by the API field that names each. */
import { GANGS } from "../gangs/table.ts";
import type { Policies } from "../policy.ts";
import { flux } from "./flux/flux.ts";
import { jax } from "./jax.ts";
import { mpi } from "./mpi/mpi.ts";
import { plain } from "./plain.ts";
import { tensorflow } from "./tensorflow.ts";
import { torch } from "./torch.ts";
import { xgboost } from "./xgboost.ts";

/** The policies of this build; a field of the API without a row here is refused as not supported. */
export const POLICIES: Policies = {
  ml: { torch, mpi, jax, xgboost, flux, tensorflow },
  plain,
  gangs: GANGS,
};
