/** Katib's programs and manifests that a benchmark is given; nothing of Katib is built here. */
import { isFile } from "../../tests/cluster/control_plane/programs.ts";

/** A flag of a benchmark that names a file of Katib's, and where in kubeflow/katib the file comes from. */
const FILES = {
  "controller": { from: "cmd/katib-controller/v1beta1", what: "trial controller" },
  "db-manager": { from: "cmd/db-manager/v1beta1", what: "DB manager" },
} as const;

/** Returns the path of a program of Katib v0.19. Throws an Error that says how to build it if it is missing. */
export async function katibProgram(
  flag: keyof typeof FILES,
  path: string | undefined,
): Promise<string> {
  const { from, what } = FILES[flag];
  const hint = `build it with go build -o FILE ./${from} in a checkout of kubeflow/katib v0.19`;
  if (path === undefined) throw new Error(`--${flag} FILE is missing, Katib's ${what}; ${hint}`);
  if (!await isFile(path)) throw new Error(`--${flag}: there is no file ${path}; ${hint}`);
  return path;
}

/** The CRDs and the webhook of Katib, in its folder of manifests. */
export interface KatibManifests {
  readonly crds: readonly string[];
  readonly webhooks: string;
}

/** Returns the manifests of Katib v0.19. Throws an Error that says where they are if one is missing. */
export async function katibManifests(folder: string | undefined): Promise<KatibManifests> {
  const hint = "name the folder manifests/v1beta1 of a checkout of kubeflow/katib v0.19";
  if (folder === undefined) throw new Error(`--manifests FOLDER is missing; ${hint}`);
  const crds = ["experiment", "suggestion", "trial"].map((kind) =>
    `${folder}/components/crd/${kind}.yaml`
  );
  const webhooks = `${folder}/components/webhook/webhooks.yaml`;
  for (const file of [...crds, webhooks]) {
    if (!await isFile(file)) throw new Error(`--manifests: there is no file ${file}; ${hint}`);
  }
  return { crds, webhooks };
}
