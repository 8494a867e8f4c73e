/** HorizontalPodAutoscaler of an elastic PyTorchJob, which scales its workers by metrics. Pure. */
import type { MetricSpec } from "../../platform/kube/kubernetes.ts";
import { KINDS } from "../../crds/kinds.ts";
import { V1_API_VERSION } from "../../crds/v1/names.ts";
import type { JobChild } from "./kind_rules.ts";
import { metadataOf } from "./owner.ts";
import type { Run } from "./run.ts";

/** Returns the autoscaler; undefined if the job names no metrics to scale by. */
export function autoscalerOf(run: Run): JobChild | undefined {
  const { kind, name, spec: { elasticPolicy } } = run;
  if (kind.kind !== "PyTorchJob" || elasticPolicy?.metrics === undefined) return undefined;
  const { minReplicas, maxReplicas } = elasticPolicy;
  const metrics: readonly MetricSpec[] = elasticPolicy.metrics;
  const object = {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    metadata: metadataOf(run, name),
    spec: {
      scaleTargetRef: { apiVersion: V1_API_VERSION, kind: kind.kind, name },
      minReplicas,
      maxReplicas,
      metrics,
    },
  };
  return { kind: KINDS.horizontalPodAutoscaler, object, changes: ["spec"] };
}
