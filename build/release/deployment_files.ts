/** Files that a cluster takes, which name the image of a release: manifests for `kubectl apply`, and the chart for Helm. */
import { generatedFiles, settingsFor } from "../../deploy/generate.ts";
import { pack, tool, writeFiles } from "./tools.ts";

/** Manifests by the folders of kustomize that they come from. */
const MANIFESTS = {
  "milepost.yaml": "base",
  "milepost-with-jobset.yaml": "overlays/standalone-jobset",
} as const;

/** The image that they name, and how they are packed. */
export interface DeploymentOptions {
  readonly version: string;
  /** Repository; the clone's own without one. */
  readonly image: string | undefined;
  readonly digest: string | undefined;
  readonly seconds: number;
  readonly work: string;
}

/** Makes the folder that both are made of. Returns it. */
async function stage({ image, digest, work }: DeploymentOptions): Promise<string> {
  const folder = `${work}/deploy`;
  await writeFiles(folder, generatedFiles(settingsFor(image, digest)));
  return folder;
}

/** Writes the manifests into a folder. Needs kubectl. */
export async function writeManifests(out: string, options: DeploymentOptions): Promise<void> {
  const folder = await stage(options);
  for (const [name, source] of Object.entries(MANIFESTS)) {
    const text = await tool("kubectl", { args: ["kustomize", `${folder}/kustomize/${source}`] });
    await Deno.writeTextFile(`${out}/${name}`, `${text}\n`);
  }
}

/** Packs the chart into a folder, as `helm package` does. */
export async function packChart(out: string, options: DeploymentOptions): Promise<void> {
  const folder = `${await stage(options)}/helm`;
  const name = `milepost-chart-${options.version}.tgz`;
  await pack(`${out}/${name}`, { folder, names: ["milepost"], seconds: options.seconds });
}
