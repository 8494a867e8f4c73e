/** Test of a TFJob of 2018 that is converted: its program, which reads the cluster from its arguments, trains in `standalone`. */
import { parseAllDocuments } from "yaml";
import { convertText } from "../../controller/conversion/convert_text.ts";
import { KINDS } from "../../crds/kinds.ts";
import type { TrainingRuntime } from "../../crds/training_runtime.ts";
import type { KubeClient } from "../../platform/kube/client.ts";
import { isInstalled } from "../support/command.ts";
import { withStandalone } from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { SYSTEM_PATH, testWith, textsOf, trains } from "./seen_training.ts";

const NAME = "dist-training-job";
const NAMESPACE = "default";
const PROGRAMS = new URL("programs/", import.meta.url);

const python = await isInstalled("python3")
  ? { bin: "/usr/local/bin" }
  : { missing: "python3 is not installed" };

/** The runtime, whose containers find the programs of the environment first. */
function withPath(runtime: TrainingRuntime, bin: string): TrainingRuntime {
  for (const job of runtime.spec?.template.spec?.replicatedJobs ?? []) {
    for (const container of job.template.spec?.template.spec?.containers ?? []) {
      container.env = [{ name: "PATH", value: `${bin}:${SYSTEM_PATH}` }];
    }
  }
  return runtime;
}

async function train(client: KubeClient, bin: string): Promise<void> {
  const data = {
    ...await textsOf([
      "tests/training/programs/parameter_server.py",
      "examples/training/report.py",
      "examples/training/digits.txt",
    ]),
    "program.py": (await textsOf(["examples/training/train.py"]))["train.py"] ?? "",
  };
  const metadata = { name: NAME, namespace: NAMESPACE };
  await client.create(KINDS.configMap, { apiVersion: "v1", kind: "ConfigMap", metadata, data });
  const text = convertText(await Deno.readTextFile(new URL("caicloud_tfjob.yaml", PROGRAMS)));
  const [runtime, trainJob] = parseAllDocuments(text).map((it) => it.toJS());
  const placed = { ...KINDS.trainingRuntime.parse(runtime), metadata };
  await client.create(KINDS.trainingRuntime, withPath(placed, bin));
  await client.create(KINDS.trainJob, { ...KINDS.trainJob.parse(trainJob), metadata });
  await trains(client, NAME, { prints: /^worker 1 of 2 knows ps 0, ps 1$/, accuracy: 0.9 });
  await until("the parameter servers have ended with the job", async () => {
    const { items } = await client.list(KINDS.pod, { namespace: NAMESPACE });
    return items.every(({ metadata }) => !metadata?.name?.startsWith(`${NAME}-ps-`));
  });
}

testWith(
  python,
  "two workers of a TFJob of 2018 find their parameter servers, and each other, as a TrainJob",
  (bin) => withStandalone(({ client }) => train(client, bin)),
);
