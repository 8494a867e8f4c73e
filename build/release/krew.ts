/** Manifest of krew, by which `kubectl krew install milepost` makes the program `kubectl milepost`. Pure. */
import { stringify } from "yaml";

/** An archive with the executable in it. */
export interface PluginArchive {
  readonly machine: string;
  readonly url: string;
  readonly sha256: string;
}

/** Returns the manifest as YAML. */
export function krewManifest(
  { version, homepage, archives }: {
    readonly version: string;
    readonly homepage: string;
    readonly archives: readonly PluginArchive[];
  },
): string {
  return stringify({
    apiVersion: "krew.googlecontainertools.github.com/v1alpha2",
    kind: "Plugin",
    metadata: { name: "milepost" },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: "Watch training jobs and their metrics",
      description:
        "Shows TrainJobs and the Training Operator's jobs of a cluster that runs Milepost:\n" +
        "their progress, metrics and logs, in the terminal (top, get, logs) or in a browser (ui), and stops them.\n",
      platforms: archives.map(({ machine, url, sha256 }) => ({
        selector: { matchLabels: { os: "linux", arch: machine } },
        uri: url,
        sha256,
        bin: "milepost",
      })),
    },
  }, { lineWidth: 0 });
}
