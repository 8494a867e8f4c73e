/** Chromium and what drives it, each made once and kept outside the checkout. */
import { isInstalled, run } from "../support/command.ts";
import { cached, failureOf } from "../support/python_environment.ts";
import { debianPackage, librariesOf, writeScript } from "../training/debian_packages.ts";

/** Packages for Node: what drives the browser, and what looks for barriers. */
const PACKAGES = ["playwright-core@1.65.1", "axe-core@4.14.1"] as const;

/** Paths of a browser and of the packages. */
export interface Browser {
  readonly chromium: string;
  readonly packages: string;
}

/** Returns a browser, or why there is none. */
export async function browser(): Promise<Browser | { readonly missing: string }> {
  if (!await isInstalled("node") || !await isInstalled("npm")) {
    return { missing: "node and npm are not installed" };
  }
  const packages = await cached(`node/${PACKAGES.join("+")}`, async (folder) => {
    await Deno.mkdir(folder, { recursive: true });
    const result = await run("npm", {
      args: ["install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, ...PACKAGES],
      timeoutMs: 300_000,
    });
    return result.code === 0 ? undefined : failureOf("npm", result);
  });
  if ("missing" in packages) return packages;
  const chromium = await debianPackage("chromium", async ({ root, bin }) => {
    const libraries = await librariesOf(root);
    const path = `${bin}/chromium`;
    await writeScript(
      path,
      `#!/bin/sh
LD_LIBRARY_PATH="${libraries}:${libraries.split(":")[0]}/pulseaudio"
export LD_LIBRARY_PATH
program="${root}/usr/lib/chromium/chromium"
[ -x "$program" ] || program=chromium
exec "$program" "$@"
`,
    );
    const result = await run(path, { args: ["--version"] });
    return result.code === 0 ? undefined : failureOf("chromium", result);
  });
  if ("missing" in chromium) return chromium;
  return {
    chromium: `${chromium.bin}/chromium`,
    packages: `${packages.folder}/node_modules`,
  };
}
