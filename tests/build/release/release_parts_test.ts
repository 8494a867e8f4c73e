/** Tests of what a release says of itself: notes, bill of materials, manifests of packages and of krew. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { RUN_ARGUMENTS, V8_FLAGS } from "../../../build/bundle.ts";
import { compileArguments } from "../../../build/compile.ts";
import { krewManifest } from "../../../build/release/krew.ts";
import { notesOf } from "../../../build/release/notes.ts";
import { npmManifest } from "../../../build/release/npm_package.ts";
import type { Part } from "../../../build/release/parts_list.ts";
import { spdxOf } from "../../../build/release/sbom.ts";
import { makeRelease } from "../../../build/release.ts";
import { obstaclesTo } from "../../../build/release/unpublished.ts";
import { settingsFor } from "../../../deploy/generate.ts";

const CHANGELOG =
  "# Changelog\n\n## Unreleased\n\n- later\n\n## 0.2.0 (2026-12-01)\n\n- b\n\n## 0.1.0\n";

const notes: readonly [version: string, orUnreleased: boolean, want: string | RegExp][] = [
  ["0.2.0", false, "- b\n"],
  ["0.3.0", true, "- later\n"],
  ["0.2.0", true, "- b\n"],
  ["0.3.0", false, /no section "## 0\.3\.0": give the section "## Unreleased" that name/],
  ["0.1.0", false, /no section/],
  ["0.2", false, /no section/],
];
for (const [version, orUnreleased, want] of notes) {
  Deno.test(`notesOf() of ${version}${orUnreleased ? ", or of what comes next," : ""} gives ${want}`, () => {
    const notes = () => notesOf(CHANGELOG, version, { orUnreleased });
    if (want instanceof RegExp) assert.throws(notes, want);
    else assert.equal(notes(), want);
  });
}

const part = (key: string, name: string, dependencies: string[] = []): Part => ({
  key,
  name,
  version: "1.0.0",
  dependencies,
  folder: "",
  license: "MIT",
});
const PARTS = [
  part("@a/b@1.0.0_c@1.0.0", "@a/b", ["c@1.0.0", "types@1.0.0"]),
  part("c@1.0.0", "c"),
];
const integrity = "sha512-AAECAw==";
const PRODUCT = { version: "0.1.0", deno: "2.9.6", seconds: 1_800_000_000 };

Deno.test("spdxOf() names each package with its hash, and who needs it", () => {
  const lock = { npm: { [PARTS[0]!.key]: { integrity }, "c@1.0.0": { integrity } } };
  const { packages, relationships, creationInfo } = spdxOf(PARTS, lock, PRODUCT);
  assert.equal(creationInfo.created, "2027-01-15T08:00:00Z");
  assert.deepEqual(packages.map(({ name, versionInfo }) => `${name} ${versionInfo}`), [
    "milepost 0.1.0",
    "deno 2.9.6",
    "@a/b 1.0.0",
    "c 1.0.0",
  ]);
  assert.partialDeepStrictEqual(packages[2], {
    downloadLocation: "https://registry.npmjs.org/@a/b/-/b-1.0.0.tgz",
    checksums: [{ algorithm: "SHA512", checksumValue: "00010203" }],
    externalRefs: [{ referenceLocator: "pkg:npm/%40a/b@1.0.0" }],
  });
  const ids = packages.map(({ SPDXID }) => SPDXID);
  assert.equal(new Set(ids).size, ids.length);
  for (const id of ids) assert.match(id, /^SPDXRef-[a-zA-Z0-9.-]+$/);
  const [own, deno, ab, c] = ids;
  assert.deepEqual(
    relationships.map((it) => [it.spdxElementId, it.relationshipType, it.relatedSpdxElement]),
    [
      ["SPDXRef-DOCUMENT", "DESCRIBES", own],
      [own, "DEPENDS_ON", deno],
      [own, "DEPENDS_ON", ab],
      [ab, "DEPENDS_ON", c],
    ],
  );
  assert.throws(() => spdxOf(PARTS, { npm: {} }, PRODUCT), /deno\.lock has no sha512 of @a\/b/);
});

Deno.test("krewManifest() names an archive for each machine", () => {
  const archives = ["amd64", "arm64"].map((machine) => ({
    machine,
    url: `https://example.org/${machine}.tar.gz`,
    sha256: machine.repeat(2),
  }));
  const manifest: unknown = parseYaml(
    krewManifest({ version: "1.2.3", homepage: "https://example.org", archives }),
  );
  assert.partialDeepStrictEqual(manifest, {
    kind: "Plugin",
    metadata: { name: "milepost" },
    spec: {
      version: "v1.2.3",
      platforms: archives.map(({ machine, url, sha256 }) => ({
        selector: { matchLabels: { os: "linux", arch: machine } },
        uri: url,
        sha256,
        bin: "milepost",
      })),
    },
  });
});

Deno.test("the npm package needs one package, by its exact version", () => {
  const manifest = npmManifest({ version: "0.1.0", deno: "2.9.6", repository: "a/b" });
  assert.deepEqual(manifest.repository?.url, "git+https://github.com/a/b.git");
  assert.deepEqual(manifest.dependencies, { deno: "2.9.6" });
  assert.deepEqual(Object.keys(manifest).filter((key) => /dependencies|scripts/i.test(key)), [
    "dependencies",
  ]);
});

Deno.test("packages and bin/milepost run the program as the executable does", async () => {
  const compiled = compileArguments({ source: "milepost.js" });
  for (const flag of ["--allow-all", "--no-config", "--no-remote", V8_FLAGS]) {
    assert.ok(compiled.includes(flag) && RUN_ARGUMENTS.some((it) => it === flag), flag);
  }
  const script = await Deno.readTextFile(new URL("../../../bin/milepost", import.meta.url));
  assert.match(script, new RegExp(`^V8_FLAGS=${V8_FLAGS}$`, "m"));
  assert.match(script, new RegExp(`^VERSION=${Deno.version.deno.replaceAll(".", "\\.")}$`, "m"));
  assert.match(script, /run --allow-all "\$V8_FLAGS"/);
});

Deno.test("a release's image is named with its digest, and a digest is one", () => {
  const digest = `sha256:${"0f".repeat(32)}`;
  assert.match(
    settingsFor("ghcr.io/a/b", digest).image,
    new RegExp(`^ghcr\\.io/a/b:[^@]+@${digest}$`),
  );
  for (const wrong of ["", "sha256:0f", `${digest}0`, "0f".repeat(32)]) {
    assert.throws(() => settingsFor("ghcr.io/a/b", wrong), /--digest: must be sha256: and 64/);
  }
});

Deno.test("obstaclesTo() names who has a version, and who does not say", async () => {
  const statuses: Readonly<Record<string, number>> = {
    "https://pypi.org/pypi/milepost/0.1.0/json": 200,
    "https://api.github.com/repos/a/b/releases/tags/v0.1.0": 500,
  };
  const ask = (status: (address: string) => Promise<number>) => obstaclesTo("0.1.0", "a/b", status);
  assert.deepEqual(await ask((address) => Promise.resolve(statuses[address] ?? 404)), [
    "PyPI: milepost has 0.1.0 already: raise the version",
    "GitHub: release does not say whether it has 0.1.0: 500 of https://api.github.com/repos/a/b/releases/tags/v0.1.0",
  ]);
  assert.deepEqual(await ask(() => Promise.resolve(404)), []);
  const silent = await ask(() => Promise.reject(new Error("away")));
  assert.equal(silent.length, 4);
  assert.match(silent[0] ?? "", /^npm: milepost does not say .* Error: away of https:/);
});

Deno.test("makeRelease() makes nothing for what is no image, and empties no other folder", async () => {
  const output = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    await Deno.writeTextFile(`${output}/mine`, "");
    const release = { check: false, output, repository: "a/b", image: "ghcr.io/a/b" };
    const digest = `sha256:${"0f".repeat(32)}`;
    await assert.rejects(makeRelease({ ...release, digest: "sha256:0" }), /--digest: must be/);
    await assert.rejects(makeRelease({ ...release, image: "b", digest }), /--image: must be/);
    await assert.rejects(makeRelease({ ...release, check: false }), /needs --image, --digest and/);
    await assert.rejects(makeRelease({ check: true, output }), /--output: .* holds files/);
    assert.deepEqual([...Deno.readDirSync(output)].map(({ name }) => name), ["mine"]);
  } finally {
    await Deno.remove(output, { recursive: true });
  }
});
