/** The objects of `examples/trial-controller/`, for the control plane of a test. */
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { namedObjectSchema } from "../../../platform/kube/kubernetes.ts";
import { builtIn } from "../../../platform/kube/kubernetes_kinds.ts";
import type { Kind } from "../../../platform/kube/resource.ts";
import manifests from "../../../examples/trial-controller/controller.yaml" with { type: "text" };

/** Name of all its objects, as in `examples/trial-controller/`. */
export const TRIAL_CONTROLLER = "trial-controller";

/** Any object of the manifests. */
export type AnyObject = z.infer<typeof namedObjectSchema>;

const jobSchema = namedObjectSchema.extend({
  spec: z.looseObject({
    template: z.looseObject({
      spec: z.looseObject({
        containers: z.tuple([
          z.looseObject({ env: z.array(z.looseObject({ name: z.string() })) }),
        ]),
      }),
    }),
  }),
});

/** How objects of such a kind are created: those of the manifests have regular plurals. */
export function kindOf({ apiVersion, kind }: AnyObject): Kind<AnyObject> {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { ...builtIn<AnyObject>(group, kind), version };
}

/** The Job with these variables instead of those of the manifest that have their names. */
function withEnv(object: AnyObject, env: Readonly<Record<string, string>>): AnyObject {
  const job = jobSchema.parse(object);
  for (const container of job.spec.template.spec.containers) {
    const others = container.env.filter(({ name }) => !(name in env));
    container.env = [...others, ...Object.entries(env).map(([name, value]) => ({ name, value }))];
  }
  return job;
}

/** Its rights, and its Job. `env` has the addresses of the API server and of the observation API. */
export function controllerObjects(
  namespace: string,
  env: Readonly<Record<string, string>>,
): AnyObject[] {
  return parseAllDocuments(manifests).map((document) => {
    const object = namedObjectSchema.parse(document.toJS());
    const placed = { ...object, metadata: { ...object.metadata, namespace } };
    const subjects = z.object({ subjects: z.array(z.looseObject({})) }).safeParse(object).data;
    if (object.kind === "Job") return withEnv(placed, env);
    // As kustomize does with a namespace.
    if (subjects === undefined) return placed;
    return { ...placed, subjects: subjects.subjects.map((it) => ({ ...it, namespace })) };
  });
}
