/**
 * PyTorch from Debian's packages: PyPI has none for CPUs alone, and the one that it has does not load without
 * two gigabytes of CUDA.
 */
import { run } from "../support/command.ts";
import { type Environment, failureOf } from "../support/python_environment.ts";
import { debianPackage, librariesOf, writeScript } from "./debian_packages.ts";

/** The system's Python, for which Debian builds its packages, with the unpacked libraries and modules. */
const python = (root: string, libraries: string) =>
  `#!/bin/sh
export LD_LIBRARY_PATH=${libraries}
export PYTHONPATH=${root}/usr/lib/python3/dist-packages\${PYTHONPATH:+:$PYTHONPATH}
exec /usr/bin/python3 "$@"
`;

/**
 * The program `torchrun`. Version 1.13 under Python 3.11 does not understand its own default of what to
 * redirect, nothing; a process that does not exist is as good.
 */
const torchrun = (bin: string) =>
  `#!/bin/sh
export PET_REDIRECTS=9:1 PET_TEE=9:1
exec ${bin}/python3 -m torch.distributed.run "$@"
`;

/** Returns the programs `python3` and `torchrun` with PyTorch, or the reason why there are none. */
export async function debianTorch(): Promise<Environment> {
  return await debianPackage("python3-torch", async ({ root, bin }) => {
    await writeScript(`${bin}/python3`, python(root, await librariesOf(root)));
    await writeScript(`${bin}/torchrun`, torchrun(bin));
    const question = "import torch.distributed as d; assert d.is_gloo_available()";
    const answer = await run(`${bin}/python3`, { args: ["-c", question], timeoutMs: 300_000 });
    return answer.code === 0 ? undefined : failureOf("import torch", answer);
  });
}
