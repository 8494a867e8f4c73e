/**
 * Test of Flux with a stand-in for it: everything that the policy renders is there and runs, and the program trains.
 * Debian has no package of Flux, and its image cannot be had.
 */
import { KINDS } from "../../crds/kinds.ts";
import { isInstalled } from "../support/command.ts";
import { writeScript } from "./debian_packages.ts";
import { seeTraining, shippedRuntime } from "./seen_training.ts";

/** Runs what `flux start … flux run -N n -n m PROGRAM` runs; a follower has nothing to serve. */
const FLUX = `#!/bin/bash
case "$1" in
R) echo '{"version": 1}' ;;
start)
  [ "$(find /mnt/flux -name curve.cert -exec stat -c %a {} +)" = 600 ] || exit 1
  echo "stand-in of Flux: $*"
  while [ $# -gt 0 ] && [ "$1" != run ]; do shift; done
  [ $# -gt 0 ] || exit 0
  shift 5
  exec "$@" ;;
esac
`;

/** Stands in for the files of the installer's image, which are in /opt there. */
const copy = (image: string) =>
  `#!/bin/bash
arguments=()
for argument; do
  case "$argument" in
  /opt/views/*) argument=${image}/view/. ;;
  /opt/software) argument=${image}/software ;;
  esac
  arguments+=("$argument")
done
exec /bin/cp "\${arguments[@]}"
`;

/** Makes the files of the installer's image, and a folder of programs. */
async function makeImage(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/image/view/bin`, { recursive: true });
  await Deno.mkdir(`${folder}/image/software`);
  await Deno.mkdir(`${folder}/bin`);
  await writeScript(`${folder}/image/view/bin/flux`, FLUX);
  await writeScript(`${folder}/bin/cp`, copy(`${folder}/image`));
}

const searchPath = Deno.env.get("PATH") ?? "";
let folder = "";
Deno.test.beforeAll(async () => {
  folder = await Deno.makeTempDir({ prefix: "milepost-flux-" });
  await makeImage(folder);
  Deno.env.set("PATH", `${folder}/bin:${searchPath}`);
});
Deno.test.afterAll(async () => {
  Deno.env.set("PATH", searchPath);
  await Deno.remove(folder, { recursive: true });
});

seeTraining({
  name: "a stand-in of Flux runs the program in the lead node of two",
  environment: await isInstalled("python3")
    ? { bin: "/usr/local/bin" }
    : { missing: "python3 is not installed" },
  program: {
    job: "tests/training/programs/flux.yaml",
    files: [
      "examples/training/train.py",
      "examples/training/report.py",
      "examples/training/digits.txt",
    ],
  },
  prints: /^stand-in of Flux: .* flux run -N 2 -n 2 python3 \/workspace\/training\/train\.py$/,
  accuracy: 0.5,
  prepare: async (client) =>
    client.create(KINDS.clusterTrainingRuntime, await shippedRuntime("flux-distributed")),
});
