/** Tests of the Python client's callbacks: each framework trains in a pod of `standalone` until the job is told to stop. */
import assert from "node:assert/strict";
import { ANNOTATIONS } from "../../crds/names.ts";
import { KINDS } from "../../crds/kinds.ts";
import { run } from "../support/command.ts";
import {
  cached,
  type Environment,
  failureOf,
  pythonEnvironment,
} from "../support/python_environment.ts";
import { shareStandalone, shellRuntime, trainJob, trainJobThat } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { writeScript } from "./debian_packages.ts";
import { debianTorch } from "./debian_torch.ts";
import { testWith } from "./seen_training.ts";
import { podLog } from "../support/pod_log.ts";

const SOURCES = new URL("../../clients/python/src", import.meta.url).pathname;
const PROGRAMS = new URL("programs/", import.meta.url).pathname;

/** Frameworks of the time of Debian's PyTorch, and what they need beside it. */
const OF_TORCH = [
  ..."pytorch-lightning==2.2.5 lightning-utilities==0.15.3 torchmetrics==1.2.1".split(" "),
  ..."accelerate==0.34.2 huggingface_hub==0.36.0 safetensors==0.8.0 psutil==7.2.2".split(" "),
  ..."packaging==26.3 PyYAML==6.0.3 fsspec==2026.9.0 tqdm==4.70.1 filelock==4.2.12".split(" "),
  ..."requests==2.34.2 idna==3.20 urllib3==2.8.0 certifi==2026.10.18".split(" "),
  ..."charset-normalizer==3.5.2 typing_extensions==4.16.0 setuptools==75.8.0".split(" "),
];

/** Lightning and accelerate beside Debian's PyTorch, whose Python they are installed for. */
async function frameworksOfTorch(): Promise<Environment> {
  const torch = await debianTorch();
  if ("missing" in torch) return torch;
  const made = await cached("python/frameworks-of-torch-1", async (folder) => {
    const version = await run("/usr/bin/python3", {
      args: ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
    });
    if (version.code !== 0) return failureOf("/usr/bin/python3", version);
    const installed = await run("python3", {
      args: ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        .concat("--only-binary=:all:", "--python-version", version.stdout.trim())
        .concat("--target", `${folder}/site`, ...OF_TORCH),
      timeoutMs: 600_000,
    });
    if (installed.code !== 0) return failureOf("pip", installed);
    await Deno.mkdir(`${folder}/bin`);
    await writeScript(
      `${folder}/bin/python`,
      `#!/bin/sh\nexport PYTHONPATH=${folder}/site:$PYTHONPATH\nexec ${torch.bin}/python3 "$@"\n`,
    );
  });
  return "missing" in made ? made : { bin: `${made.folder}/bin` };
}

const torch = await frameworksOfTorch();

/** What Transformers' own callback reports, which pushes every five seconds and knows no field `step`. */
const OF_TRANSFORMERS = ["loss", "current_step", "current_epoch", "total_steps"];
/** So late that the job shows metrics first, a second or more after the phase that comes before them. */
const afterStep = (startStep: number) => ({ startStep, unit: "step" });

/** By the framework: where it is, the metrics that its program logs, and when a rule stops it. */
const FRAMEWORKS: Readonly<Record<string, readonly [Environment, readonly string[], object]>> = {
  lightning: [torch, ["loss", "val/loss"], afterStep(1000)],
  accelerate: [torch, ["loss", "val/loss"], afterStep(100)],
  keras: [
    await pythonEnvironment("keras==3.15.1", "jax==0.10.2"),
    ["loss", "val_loss"],
    afterStep(5000),
  ],
  transformers: [await pythonEnvironment("transformers==5.23.0"), OF_TRANSFORMERS, {}],
};

/** Stops a job at the first report of `loss` that counts. */
const rules = (when: object) =>
  JSON.stringify({
    objective: { name: "loss", type: "minimize" },
    rules: [{ name: "loss", value: "1000", comparison: "less", ...when }],
  });

const standalone = shareStandalone();

for (const [framework, [environment, metrics, when]] of Object.entries(FRAMEWORKS)) {
  testWith(environment, `${framework} trains until the job is told to stop`, async (bin) => {
    const { client } = standalone();
    const program = `${PROGRAMS}callback_${framework}.py`;
    const command =
      `HOME=$PWD PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=${SOURCES} ${bin}/python ${program}`;
    await client.create(KINDS.clusterTrainingRuntime, shellRuntime(framework, command));
    const annotations = {
      [ANNOTATIONS.earlyStopping]: rules(when),
      [ANNOTATIONS.earlyStoppingGrace]: "120s",
    };
    await client.create(KINDS.trainJob, trainJob(framework, framework, { annotations }));
    const seen = new Set<string>();
    let log = "";
    await until(`${framework} has ended by itself`, async () => {
      const { status } = await client.get(KINDS.trainJob, {
        namespace: "default",
        name: framework,
      });
      for (const { name } of status?.trainerStatus?.metrics ?? []) seen.add(name);
      const { items } = await client.list(KINDS.pod, { namespace: "default" });
      const pod = items.find(({ metadata }) => metadata?.name?.startsWith(`${framework}-`));
      if (pod === undefined) return status?.state === "Failed";
      log = await podLog(client, pod.metadata?.name ?? "") ?? "";
      return /^stopped after /m.test(log) || pod.status?.phase === "Failed";
    }, { timeoutMs: 240_000 });
    const line = log.split("\n").find((it) => it.startsWith("stopped after"));
    assert.match(line ?? "", /^stopped after \d{3,} steps: EarlyStopped: stopped early: loss/, log);
    const isStopped = ({ status }: { status?: { state?: string } }) =>
      status?.state === "EarlyStopped";
    await trainJobThat(client, framework, "is stopped early", isStopped);
    for (const name of seen) assert.ok(metrics.includes(name), `${name} was not logged`);
    assert.ok(seen.size > 0, "the job showed metrics");
  });
}
