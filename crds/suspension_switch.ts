/** Suspension of jobs: the place of the switch in the specification of each kind. Pure. */
import { z } from "zod";
import type { Kind } from "../platform/kube/resource.ts";
import { KATIB } from "./katib_names.ts";

/** The kinds of the Training Operator and of the MPI Operator have the switch in their run policy. */
export const hasRunPolicy = ({ group }: Pick<Kind<unknown>, "group">): boolean =>
  group === KATIB.group;

/** Returns the part of a specification that suspends a job of the kind, or lets it go on. */
export function suspensionSpec(
  kind: Pick<Kind<unknown>, "group">,
  suspend: boolean,
): { readonly [field: string]: unknown } {
  return hasRunPolicy(kind) ? { runPolicy: { suspend } } : { suspend };
}

const suspensible = z.looseObject({
  spec: z.looseObject({
    suspend: z.boolean().optional(),
    runPolicy: z.looseObject({ suspend: z.boolean().optional() }).optional(),
  }),
});

/** Reports whether the job's specification says that it is to rest. */
export function isSuspended(kind: Pick<Kind<unknown>, "group">, job: unknown): boolean {
  const { spec } = suspensible.safeParse(job).data ?? {};
  return (hasRunPolicy(kind) ? spec?.runPolicy?.suspend : spec?.suspend) === true;
}
