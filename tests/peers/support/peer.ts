/**
 * Peers: programs of other projects that run beside Milepost, built from Go modules by exact version. The
 * sums of every source are in go.sum, and Go refuses a build whose sources differ.
 */
import { isInstalled } from "../../support/command.ts";
import {
  moduleFolder,
  type ModuleRoot,
  type Programs,
  programs,
} from "../../cluster/control_plane/programs.ts";

/** One compilation at a time: the machine may be small, and it has other work. */
const ROOT: ModuleRoot = {
  folder: new URL("../modules/", import.meta.url).pathname,
  goFlags: "-p=1",
};

/** A peer to be found: a folder of `modules/`, the Go module in it, and the names of the programs. */
export interface PeerName {
  readonly module: string;
  readonly goModule: string;
  readonly programs: readonly string[];
}

/** A peer that is there. */
export interface Peer {
  /** Such as `v0.19.0`. */
  readonly version: string;
  /** Paths of the programs. */
  readonly programs: Programs;
  /** Folder of its sources, with its manifests. */
  readonly sources: string;
}

/** A peer, or the reason why there is none. */
export type FoundPeer =
  | { readonly peer: Peer; readonly version: string }
  | { readonly reason: string; readonly version: string };

/** Returns the version that the go.mod of a peer's module requires. */
async function versionOf({ module, goModule }: PeerName): Promise<string> {
  const text = await Deno.readTextFile(`${ROOT.folder}${module}/go.mod`);
  for (const line of text.split("\n")) {
    const [name, version] = line.trim().replace(/^require /, "").split(" ");
    if (name === goModule && version !== undefined) return version;
  }
  throw new Error(`${module}/go.mod requires no ${goModule}`);
}

/** Finds a peer in the cache, or builds it, which takes minutes. */
export async function findPeer(name: PeerName): Promise<FoundPeer> {
  const { module, goModule } = name;
  const version = await versionOf(name);
  if (!await isInstalled("go")) return { version, reason: "Go is not installed" };
  try {
    const built = await programs(module, name.programs, ROOT);
    const sources = await moduleFolder(module, goModule, ROOT);
    return { version, peer: { version, programs: built, sources } };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { version, reason: `it cannot be built: ${text.slice(0, 300)}` };
  }
}

/** Registers a test that needs a peer. Without the peer it is skipped, and its name says why. */
export function testWithPeer(
  found: FoundPeer,
  name: string,
  work: (peer: Peer, t: Deno.TestContext) => Promise<void>,
): void {
  if ("reason" in found) {
    Deno.test({ name: `${name} (skipped: ${found.reason})`, ignore: true, fn() {} });
    return;
  }
  Deno.test(name, (t) => work(found.peer, t));
}
