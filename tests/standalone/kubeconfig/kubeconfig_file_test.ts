/** Tests of the kubeconfig file of a standalone: locked, replaced at once, through links, for its user alone. */
import assert from "node:assert/strict";
import { parse as parseYaml } from "yaml";
import { addToKubeconfig } from "../../../standalone/kubeconfig/kubeconfig_file.ts";
import { ConfigurationError } from "../../../platform/kube/errors.ts";
import { FakeClock } from "../../support/fake_clock.ts";
import { freePort } from "../../support/free_port.ts";

const content = { server: "https://127.0.0.1:1", caCertificate: "CA", token: "secret" };
const OTHERS =
  "kind: Config\ncontexts: [{name: prod, context: {cluster: a}}]\ncurrent-context: prod\n";

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const currentIn = async (file: string) =>
  parseYaml(await Deno.readTextFile(file))["current-context"];
const namesIn = (folder: string) =>
  [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();

Deno.test("`addToKubeconfig()` merges into a file through links, for its user alone, and takes it back", () =>
  inFolder(async (folder) => {
    await Deno.mkdir(`${folder}/real`);
    await Deno.writeTextFile(`${folder}/real/config`, OTHERS, { mode: 0o644 });
    await Deno.symlink("real/config", `${folder}/inner`);
    await Deno.symlink(`${folder}/inner`, `${folder}/link`);
    const remove = await addToKubeconfig(`${folder}/link`, content);
    assert.equal(await currentIn(`${folder}/real/config`), "milepost");
    assert.equal(((await Deno.stat(`${folder}/real/config`)).mode ?? 0) & 0o777, 0o600);
    assert.ok((await Deno.lstat(`${folder}/link`)).isSymlink);
    await remove();
    assert.equal(await currentIn(`${folder}/real/config`), "prod");
    assert.deepEqual([namesIn(folder), namesIn(`${folder}/real`)], [
      ["inner", "link", "real"],
      ["config"],
    ]);
  }));

Deno.test("`addToKubeconfig()` makes folders and the target of a link that leads nowhere", () =>
  inFolder(async (folder) => {
    await Deno.symlink("new/config", `${folder}/link`);
    await addToKubeconfig(`${folder}/link`, content);
    assert.equal(await currentIn(`${folder}/new/config`), "milepost");
    assert.ok((await Deno.lstat(`${folder}/link`)).isSymlink);
  }));

const bad: Record<string, { make: (file: string) => Promise<string | void>; want: RegExp }> = {
  "a file that is no YAML": { make: (file) => Deno.writeTextFile(file, "a: ["), want: /not YAML/ },
  "a directory": { make: (file) => Deno.mkdir(file), want: /directory/i },
  "a device": { make: () => Promise.resolve("/dev/null"), want: /not a regular file/ },
  "a path below a file": {
    make: async (file) => {
      await Deno.writeTextFile(file, "");
      return `${file}/config`;
    },
    want: /cannot be used: /,
  },
  "a place where nothing can be created": {
    make: () => Promise.resolve("/proc/milepost/config"),
    want: /cannot be used: /,
  },
  "a cluster `milepost` of somebody else": {
    make: (file) =>
      Deno.writeTextFile(file, "clusters: [{name: milepost, cluster: {server: https://a}}]"),
    want:
      /"milepost" in clusters is not of a standalone; rename or remove it, or choose another file/,
  },
};
for (const [sentence, { make, want }] of Object.entries(bad)) {
  Deno.test(`\`addToKubeconfig()\` refuses ${sentence}, and changes nothing`, () =>
    inFolder(async (folder) => {
      const file = await make(`${folder}/config`) ?? `${folder}/config`;
      const before = await Deno.readTextFile(file).catch(() => undefined);
      await assert.rejects(
        addToKubeconfig(file, content),
        (error) =>
          error instanceof ConfigurationError && want.test(error.message) &&
          error.message.startsWith(`--kubeconfig ${file} cannot be used: `),
      );
      assert.equal(await Deno.readTextFile(file).catch(() => undefined), before);
      assert.ok(namesIn(folder).every((name) => name === "config"), namesIn(folder).join());
    }));
}

Deno.test({
  name: "`addToKubeconfig()` refuses a file that its user has write-protected",
  ignore: Deno.uid() === 0, // The administrator may write it.
  fn: () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(`${folder}/config`, OTHERS, { mode: 0o400 });
      await assert.rejects(addToKubeconfig(`${folder}/config`, content), /cannot be used/);
    }),
});

Deno.test("`addToKubeconfig()` names a lock that nobody releases", () =>
  inFolder(async (folder) => {
    const file = `${folder}/config`;
    await Deno.writeTextFile(`${file}.lock`, "");
    const clock = new FakeClock();
    const adding = assert.rejects(
      addToKubeconfig(file, content, clock),
      /config\.lock exists; if no program is writing the kubeconfig, remove it/,
    );
    const done = adding.then(() => true);
    const tick = () => clock.advance(1_000).then(() => false);
    while (!await Promise.race([done, tick()]));
    assert.deepEqual(namesIn(folder), ["config.lock"]);
  }));

Deno.test("`addToKubeconfig()` waits for a lock that is released", () =>
  inFolder(async (folder) => {
    const file = `${folder}/config`;
    await Deno.writeTextFile(`${file}.lock`, "");
    const waiting = Promise.withResolvers<void>();
    const clock = {
      now: () => 0,
      monotonic: () => 0,
      sleep: () => {
        waiting.resolve();
        return new Promise<void>((resolve) => setTimeout(resolve, 0));
      },
    };
    const adding = addToKubeconfig(file, content, clock);
    await waiting.promise;
    await Deno.remove(`${file}.lock`);
    await adding;
    assert.equal(await currentIn(file), "milepost");
  }));

Deno.test("concurrent runs leave a whole kubeconfig, in which the last one is current", () =>
  inFolder(async (folder) => {
    const file = `${folder}/config`;
    await Deno.writeTextFile(file, OTHERS);
    const runs = Array.from({ length: 8 }, () => ({
      ...content,
      server: `https://127.0.0.1:${freePort()}`,
    }));
    const removes = await Promise.all(runs.map((run) => addToKubeconfig(file, run)));
    const { clusters, users, contexts } = parseYaml(await Deno.readTextFile(file));
    assert.deepEqual([clusters.length, users.length, contexts.length], [1, 1, 2]);
    await Promise.all(removes.map((remove) => remove()));
    assert.equal(await currentIn(file), "prod");
    assert.deepEqual(namesIn(folder), ["config"]);
  }));

Deno.test("the end of a run that cannot read the kubeconfig any more leaves it as it is", () =>
  inFolder(async (folder) => {
    const file = `${folder}/config`;
    const remove = await addToKubeconfig(file, content);
    await Deno.writeTextFile(file, "a: [");
    await remove();
    assert.equal(await Deno.readTextFile(file), "a: [");
    await Deno.remove(file);
    await remove();
    assert.deepEqual(namesIn(folder), []);
  }));
