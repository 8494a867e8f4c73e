/** Shape of the pods that get an identity: as much of it as the injection reads. */
import { z } from "zod";
import { asList, objectAt } from "../platform/base/json.ts";
import type { Pod } from "../platform/kube/kubernetes.ts";

/** Containers of a pod, init containers included: each of them gets variables and a mount. */
const MAX_CONTAINERS = 256;

const named = z.looseObject({ name: z.string() });
const containers = z.array(z.looseObject({
  name: z.string(),
  env: z.array(named).nullish(),
  volumeMounts: z.array(z.looseObject({ mountPath: z.string() })).nullish(),
}));
const shape = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()).optional() }),
  spec: z.looseObject({
    containers,
    initContainers: containers.nullish(),
    volumes: z.array(named).nullish(),
  }),
});

function hasFewContainers(value: unknown): boolean {
  const { containers, initContainers } = objectAt(value, "spec");
  return asList(containers).length + asList(initContainers).length <= MAX_CONTAINERS;
}

/** Schema of the pods. The containers are counted before they are validated. */
export const identifiedPodSchema: z.ZodType<Pod> = z.custom<Pod>(hasFewContainers, {
  error: `must have at most ${MAX_CONTAINERS} containers, init containers included`,
  path: ["spec"],
  abort: true,
}).refine((value) => shape.safeParse(value).success, {
  error: "must be a Pod with metadata, and containers with names; variables, mounts and volumes " +
    "must have names and paths",
});
