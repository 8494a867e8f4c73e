/** ConfigMap with the CA by which a v1 job's pods know the status endpoint. Pure. */
import { KINDS } from "../../crds/kinds.ts";
import { CA_KEY, childNames } from "../../crds/names.ts";
import type { JobChild } from "./kind_rules.ts";
import { metadataOf } from "./owner.ts";
import type { Run } from "./run.ts";

/** Returns the ConfigMap. */
export function caOf(run: Run, caBundle: string): JobChild {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: metadataOf(run, childNames.tlsConfig(run.name)),
    data: { [CA_KEY]: caBundle },
  };
  return { kind: KINDS.configMap, object, changes: ["data"] };
}
