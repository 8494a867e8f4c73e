/** Keys of jobs by name, such as `trainjobs.trainer.kubeflow.org/default/mnist`, and how many one request names. Pure. */
import type { JobName } from "../../../crds/wire/row.ts";
import type { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";
import { fields, type FieldsOf, type Read, textOf } from "./answer_fields.ts";

/** Returns `<plural>.<group>/<namespace>/<name>`. */
export const keyOf = ({ kind, namespace, name }: JobName) => `${kind}/${namespace}/${name}`;

/** Readers of the parts of a job's name. */
export const nameFields = {
  kind: textOf,
  namespace: textOf,
  name: textOf,
} satisfies FieldsOf<JobName>;

/** Reads the parts of a job's name. */
export const nameOf: Read<JobName> = fields(nameFields);

/** Most jobs of one request. */
export const MOST_JOBS: typeof CURVE_LIMITS.jobs = 100;

/** Returns the path of what is asked or changed of a job, or a search. */
export const pathOf = (route: string, { kind, namespace, name }: JobName) =>
  `/${route}/${[kind, namespace, name].map(encodeURIComponent).join("/")}`;
