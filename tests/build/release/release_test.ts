/** Tests of a release: its files, and the packages of npm and PyPI where they are installed from these files. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import house from "../../../deno.json" with { type: "json" };
import { run } from "../../support/command.ts";
import { testWith } from "../../training/seen_training.ts";
import {
  bareEnvironment,
  gone,
  installNpm,
  installWheels,
  type MadeRelease,
  madeRelease,
  registries,
  startedStandalone,
} from "./installed_packages.ts";

const MACHINE = Deno.build.arch === "aarch64" ? "arm64" : "amd64";
const ARCHIVE = `kubectl-milepost-linux-${MACHINE}.tar.gz`;
/** What is made everywhere. */
const MADE = [
  "NOTES.md",
  "THIRD_PARTY_LICENSES",
  ARCHIVE,
  `milepost-${house.version}-py3-none-any.whl`,
  `milepost-${house.version}.spdx.json`,
  `milepost-chart-${house.version}.tgz`,
  "milepost-krew.yaml",
  `milepost-linux-${MACHINE}`,
  `milepost-npm-${house.version}.tgz`,
  "milepost.js",
  `milepost_server-${house.version}-py3-none-any.whl`,
];
/** Made where kubectl is. */
const MANIFESTS = /^milepost(-with-jobset)?\.yaml$/;

const python = `
import os, signal, sys
import milepost
here = milepost.local()
print(here.is_running, os.environ["KUBECONFIG"] == here.kubeconfig, milepost.__version__)
print(os.popen(f"ps -o pid= --ppid {os.getpid()}").read().split()[0], flush=True)
if sys.argv[1] == "kill": os.kill(os.getpid(), signal.SIGKILL)
`;

async function testFiles({ files, release }: MadeRelease): Promise<void> {
  const always = release.files.filter((name) => !MANIFESTS.test(name));
  assert.deepEqual(always, [...MADE, "SHA256SUMS"]);
  const hasManifests = release.files.some((name) => MANIFESTS.test(name));
  assert.deepEqual(release.missing, {
    executables: `DENORT_BIN is the runtime of one machine: only ${MACHINE} was made`,
    ...hasManifests ? {} : { manifests: "kubectl is not on the PATH" },
  });
  const sums = (await Deno.readTextFile(`${files}/SHA256SUMS`)).trimEnd().split("\n");
  assert.equal(sums.length, release.files.length - 1);
  for (const line of sums) {
    const [sum, name = ""] = line.split("  ");
    const bytes = await Deno.readFile(`${files}/${name}`);
    assert.equal(createHash("sha256").update(bytes).digest("hex"), sum, name);
  }
  const { stdout: packed } = await run("tar", { args: ["-tvzf", `${files}/${ARCHIVE}`] });
  assert.match(packed, /^-rwxr-xr-x 0\/0 .* milepost$/m);
  assert.match(packed, /^-rw-r--r-- 0\/0 .* THIRD_PARTY_LICENSES$/m);
  const krew = await Deno.readTextFile(`${files}/milepost-krew.yaml`);
  assert.match(krew, new RegExp(`uri: https://.*/v${house.version}/${ARCHIVE}\n`));
  const [sum] = sums.find((line) => line.endsWith(`  ${ARCHIVE}`))?.split(" ") ?? [];
  assert.ok(krew.includes(`sha256: ${sum}`), krew);
}

async function testNpm(made: MadeRelease): Promise<void> {
  const command = await installNpm(made);
  const { stdout: node } = await run("sh", { args: ["-c", 'dirname "$(command -v node)"'] });
  const env = bareEnvironment(await made.empty("npm-home"), `${node.trim()}:/usr/bin:/bin`);
  const milepost = (...args: string[]) => run(command, { args, env, cwd: env.HOME! });
  assert.match((await milepost("version")).stdout, new RegExp(`^milepost ${house.version}\n`));
  const wrong = await milepost("get", "--no-such-flag");
  assert.deepEqual([wrong.code, wrong.stdout], [2, ""]);
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"] as const) {
    const { child, program } = await startedStandalone(command, env);
    assert.notEqual(program, child.pid);
    child.kill(signal);
    const { code, signal: ended } = await child.status;
    if (signal === "SIGKILL") assert.equal(ended, signal);
    else assert.deepEqual([code, ended], [0, null], signal);
    await gone(program);
  }
  const npx = await startedStandalone("npx", { ...env, PATH: Deno.env.get("PATH") ?? "" }, {
    args: ["--no-install", "milepost"],
    cwd: dirname(dirname(dirname(command))),
  });
  npx.child.kill("SIGKILL");
  await npx.child.status;
  await gone(npx.program);
  // As on machines for which there is no Deno, or with another C library.
  const modules = dirname(dirname(command));
  await Deno.remove(`${modules}/@deno`, { recursive: true });
  const without = await milepost("version");
  assert.equal(without.code, 1);
  assert.match(
    without.stderr,
    /^milepost: npm has not installed @deno\/linux-\w+-glibc, .*--omit=optional\n$/,
  );
}

async function testWheels(made: MadeRelease): Promise<void> {
  const alone = await installWheels(made, "client", "milepost");
  const missing = await run(`${alone}/milepost`, { args: ["version"] });
  assert.equal(missing.code, 1);
  assert.match(
    missing.stderr,
    /^milepost: the program is a package of its own: pip install "milepost\[server\]", .*\n$/,
  );
  const bin = await installWheels(made, "server", "milepost[server]");
  const home = await made.empty("python-home");
  const env = bareEnvironment(home, "/usr/bin:/bin");
  const { stdout } = await run(`${bin}/milepost`, { args: ["version"], env, cwd: home });
  assert.match(stdout, new RegExp(`^milepost ${house.version}\n`));
  const { child, program } = await startedStandalone(`${bin}/milepost`, env);
  assert.equal(program, child.pid, "the command becomes the program");
  child.kill("SIGTERM");
  assert.equal((await child.status).code, 0);
  for (const how of ["exit", "kill"]) {
    const here = await run(`${bin}/python`, { args: ["-c", python, how], env, cwd: home });
    const [words, process] = here.stdout.split("\n");
    assert.equal(words, `True True ${house.version}`, here.stderr);
    await gone(Number(process));
  }
}

testWith(
  await registries(),
  "a release is made, and its packages run where they are installed alone",
  async () => {
    await using made = await madeRelease();
    await testFiles(made);
    await testNpm(made);
    await testWheels(made);
  },
);
