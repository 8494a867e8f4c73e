/** ML policies that the cluster's definition of runtimes drops, as the API server's OpenAPI document shows. */
import { getLogger } from "@logtape/logtape";
import { isObject } from "../../platform/base/json.ts";
import { KINDS } from "../../crds/kinds.ts";
import { TRAINER_API_VERSION } from "../../crds/names.ts";
import { fieldOf } from "../../crds/schema_field.ts";
import type { AnyTrainingRuntime } from "../../crds/training_runtime.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { messageOf } from "../../platform/kube/errors.ts";
import { POLICIES } from "../runtime/policies/table.ts";
import { type Policies, policyOfLabel } from "../runtime/policy.ts";

const log = getLogger(["milepost", "trainjob"]);

/** Time after which a definition that drops policies is read again, in milliseconds. */
const STALE_MS = 60_000;
/** Deadline of one reading, for which reconciliations wait, in milliseconds. */
const DEADLINE_MS = 10_000;
const PATH = `/openapi/v3/apis/${TRAINER_API_VERSION}`;
const RUNTIME_KINDS = [KINDS.trainingRuntime.kind, KINDS.clusterTrainingRuntime.kind];

/** Returns the ML policies that the definition of either kind of runtime drops. Throws if it has none of a kind. */
export function droppedPolicies(document: unknown, policies: readonly string[]): string[] {
  const components = isObject(document) ? document.components : undefined;
  const schemas = isObject(components) && isObject(components.schemas) ? components.schemas : {};
  const definitions = RUNTIME_KINDS.map((kind) => {
    const name = Object.keys(schemas).find((it) => it.endsWith(`.${kind}`));
    if (name === undefined) throw new TypeError(`no schema of ${kind}`);
    return fieldOf(fieldOf(schemas[name], "spec"), "mlPolicy");
  });
  return policies.filter((policy) =>
    definitions.some((mlPolicy) => fieldOf(mlPolicy, policy) === undefined)
  );
}

/** The definitions of runtimes, as far as they matter for one runtime. */
export type RuntimeDefinitions = ReturnType<typeof createRuntimeDefinitions>;

/** Creates the reader of the definitions: they are read for the first runtime that asks. */
export function createRuntimeDefinitions(
  { client, clock, policies = POLICIES }: {
    readonly client: Pick<KubeClient, "read">;
    readonly clock: Pick<Clock, "monotonic">;
    readonly policies?: Policies;
  },
) {
  const own = Object.keys(policies.ml).filter((field) =>
    policies.ml[field]?.framework !== undefined
  );
  let known: { readonly dropped: Promise<readonly string[]>; staleAt: number } | undefined;
  async function read(): Promise<readonly string[]> {
    try {
      const { text } = await client.read(PATH, { deadlineMs: DEADLINE_MS });
      return droppedPolicies(JSON.parse(text), own);
    } catch (error) {
      log.warn("cannot read the definition of runtimes", { error: messageOf(error) });
      return own;
    }
  }
  return {
    /**
     * Returns the ML policies that the definitions drop; none for a runtime whose label asks for none of ours,
     * which costs no request. If they cannot be read, all of ours count as dropped: such a runtime must not run as plain.
     */
    async droppedFor(runtime: AnyTrainingRuntime | undefined): Promise<readonly string[]> {
      if (runtime === undefined || policyOfLabel(policies, runtime) === undefined) return [];
      if (known === undefined || clock.monotonic() >= known.staleAt) {
        known = { dropped: read(), staleAt: clock.monotonic() + STALE_MS };
      }
      const current = known;
      const dropped = await current.dropped;
      if (dropped.length === 0) current.staleAt = Infinity;
      return dropped;
    },
  };
}
