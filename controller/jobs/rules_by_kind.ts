/** Table of the rules of the v1 kinds. */
import type { V1KindName } from "../../crds/v1/kinds.ts";
import type { KindRules } from "./kind_rules.ts";
import { jaxJob } from "./kinds/jaxjob.ts";
import { mpiJob } from "./kinds/mpijob.ts";
import { mxJob } from "./kinds/mxjob.ts";
import { paddleJob } from "./kinds/paddlejob.ts";
import { pyTorchJob } from "./kinds/pytorchjob.ts";
import { tfJob } from "./kinds/tfjob.ts";
import { xgBoostJob } from "./kinds/xgboostjob.ts";

/** The rules by the name of the kind. */
export const KIND_RULES: Readonly<Record<V1KindName, KindRules>> = {
  TFJob: tfJob,
  PyTorchJob: pyTorchJob,
  XGBoostJob: xgBoostJob,
  MXJob: mxJob,
  MPIJob: mpiJob,
  PaddleJob: paddleJob,
  JAXJob: jaxJob,
};
