/** Bill of materials: the packages of others in the program, as SPDX 2.3 with the hashes of the lock file. Pure. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import type { Part } from "./parts_list.ts";

/** What of `deno.lock` is read. */
export const lockSchema = z.object({
  npm: z.record(z.string(), z.object({ integrity: z.string() })),
});

/** What the document is about. */
export interface Product {
  readonly version: string;
  /** Of the runtime that runs it. */
  readonly deno: string;
  /** Seconds since the epoch. */
  readonly seconds: number;
}

const idOf = (text: string) => `SPDXRef-${text.replaceAll(/[^a-zA-Z0-9.-]+/g, "-")}`;

/** Returns a hash of the lock file in hexadecimal digits. Throws if it is none. */
function sha512(key: string, lock: z.infer<typeof lockSchema>): string {
  const [, base64] = /^sha512-(\S+)$/.exec(lock.npm[key]?.integrity ?? "") ?? [];
  if (base64 === undefined) throw new Error(`deno.lock has no sha512 of ${key}`);
  return Buffer.from(base64, "base64").toString("hex");
}

/** Returns the document. Throws if the lock file lacks a package. */
export function spdxOf(
  parts: readonly Part[],
  lock: z.infer<typeof lockSchema>,
  { version, deno, seconds }: Product,
) {
  const own = (name: string, versionInfo: string, licenseDeclared: string) => ({
    SPDXID: idOf(name),
    name,
    versionInfo,
    downloadLocation: "NOASSERTION",
    filesAnalyzed: false,
    licenseConcluded: "NOASSERTION",
    licenseDeclared,
    copyrightText: "NOASSERTION",
  });
  const packages = parts.map(({ key, name, version, license }) => ({
    ...own(key, version, license),
    name,
    downloadLocation: `https://registry.npmjs.org/${name}/-/${
      name.replace(/^.*\//, "")
    }-${version}.tgz`,
    checksums: [{ algorithm: "SHA512", checksumValue: sha512(key, lock) }],
    externalRefs: [{
      referenceCategory: "PACKAGE-MANAGER",
      referenceType: "purl",
      referenceLocator: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    }],
  }));
  const known = new Set(parts.map(({ key }) => key));
  const needed = new Set(parts.flatMap(({ dependencies }) => dependencies));
  const dependsOn = (from: string, to: string) => ({
    spdxElementId: idOf(from),
    relationshipType: "DEPENDS_ON",
    relatedSpdxElement: idOf(to),
  });
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `milepost-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/milepost-${version}-${seconds}`,
    creationInfo: {
      created: new Date(seconds * 1000).toISOString().replace(".000Z", "Z"),
      creators: ["Tool: build/release.ts"],
    },
    packages: [own("milepost", version, "Apache-2.0"), own("deno", deno, "MIT"), ...packages],
    relationships: [
      {
        spdxElementId: "SPDXRef-DOCUMENT",
        relationshipType: "DESCRIBES",
        relatedSpdxElement: idOf("milepost"),
      },
      dependsOn("milepost", "deno"),
      ...parts.filter(({ key }) => !needed.has(key)).map(({ key }) => dependsOn("milepost", key)),
      ...parts.flatMap(({ key, dependencies }) =>
        dependencies.filter((it) => known.has(it)).map((it) => dependsOn(key, it))
      ),
    ],
  };
}
