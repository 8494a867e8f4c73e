/** Tests of the discovery of GPUs, with stand-ins for nvidia-smi. */
import assert from "node:assert/strict";
import { findGpus, parseGpuTable } from "../../../../standalone/kubelet/gpus/discovery.ts";
import { withLogs } from "../../../support/logged.ts";
import { listing, standIn } from "./stand_in.ts";

/** What `findGpus()` returns, and what it logs: the level, the message and the properties. */
function search(options: Parameters<typeof findGpus>[0]) {
  return withLogs(async (records) => {
    const found = await findGpus(options);
    const lines = records.map(({ level, rawMessage, properties }) =>
      `${level} ${rawMessage} ${JSON.stringify(properties)}`
    );
    return { found, log: lines.join("\n") };
  });
}

Deno.test("`parseGpuTable()` reads what nvidia-smi prints, and passes over what is no GPU", () => {
  const table = parseGpuTable(`0, GPU-00aa, Disabled, 143771 MiB, NVIDIA H200
Unable to determine the device handle for GPU0000:41:00.0: Unknown Error
2, GPU-22cc, Enabled, 81559 MiB, NVIDIA A100, 80GB
3, [GPU is lost], [GPU is lost], [GPU is lost], [GPU is lost]
`);
  assert.deepEqual(table, [
    { uuid: "GPU-00aa", name: "NVIDIA H200", memory: "143771 MiB", isDivided: false },
    undefined,
    { uuid: "GPU-22cc", name: "NVIDIA A100, 80GB", memory: "81559 MiB", isDivided: true },
  ]);
});

const ALL = "GPU-aa11,GPU-bb22";
const CASES: Record<string, [script: string, visible: string, want: string[], log: RegExp]> = {
  "finds all": [
    listing("GPU-aa11", "GPU-bb22"),
    ALL,
    ["GPU-aa11", "GPU-bb22"],
    /^info GPUs are offered to pods.*RTX 4090.*GPU-aa11/,
  ],
  "finds those that the kubelet's own variable selects": [
    listing("GPU-aa11", "GPU-bb22"),
    "1",
    ["GPU-bb22"],
    /^info GPUs are offered/,
  ],
  "finds none if the variable is empty": [listing("GPU-aa11"), "", [], /^info .*"count":0/],
  "finds none if it fails, and warns": [
    "echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18",
    ALL,
    [],
    /^warning No GPUs are offered.*exit code 18: Failed to initialize NVML/,
  ],
  "finds none if it hangs, and warns": [
    "sleep 300",
    ALL,
    [],
    /^warning No GPUs are offered.*did not end within 200 ms/,
  ],
  "leaves out GPUs with MIG, and warns": [
    `echo "0, GPU-aa11, Enabled, 1 MiB, A"; echo "1, GPU-bb22, [N/A], 1 MiB, B"`,
    ALL,
    ["GPU-bb22"],
    /warning GPUs that are divided by MIG are not offered/,
  ],
};
for (const [sentence, [script, visible, want, log]] of Object.entries(CASES)) {
  Deno.test(`\`findGpus()\` ${sentence}`, async () => {
    const folder = await Deno.makeTempDir({ prefix: "milepost-test-" });
    try {
      const program = await standIn(folder, script);
      const deadlineMs = script.startsWith("sleep") ? 200 : 20_000;
      const outcome = await search({ program, visible, deadlineMs });
      assert.deepEqual(outcome.found?.map(({ uuid }) => uuid), want);
      assert.match(outcome.log, log);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });
}

Deno.test("`findGpus()` finds that nvidia-smi is not installed, without a warning", async () => {
  const { found, log } = await search({ program: "nvidia-smi-not-here" });
  assert.equal(found, undefined);
  assert.match(log, /^info No GPUs: nvidia-smi is not on the PATH/);
});
