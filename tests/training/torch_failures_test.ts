/** Test of what a job says when one of several ranks under torchrun fails, whose own report fills the end of the log. */
import { equal, match } from "node:assert/strict";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { boundedReads } from "../../views/details/bounded_reads.ts";
import { jobDetails } from "../../views/details/details_of_job.ts";
import { SOURCES } from "../python/interpreter.ts";
import { shellRuntime, trainJob, trainJobThat, withStandalone } from "../support/standalone.ts";
import { debianTorch } from "./debian_torch.ts";
import { SYSTEM_PATH, testWith } from "./seen_training.ts";

const FAILS = `rank = int(os.environ["RANK"])
if rank == 1:
    raise ValueError(f"bad batch of rank {rank}")
time.sleep(60)
`;
const RECORD = "torch.distributed.elastic.multiprocessing.errors";
const indented = (text: string) => text.replaceAll(/^(?=.)/gm, "    ");

/** A program that fails in rank 1, and the headline of its job. */
const PROGRAMS: Record<string, readonly [program: string, headline: string]> = {
  "torch-plain": [
    `import os, time\n${FAILS}`,
    "node-0 exited 1: rank 1 exited 1 first; its log says why",
  ],
  "torch-recorded": [
    `import os, time\nfrom ${RECORD} import record\n@record\ndef main():\n${
      indented(FAILS)
    }main()\n`,
    "node-0 exited 1: ValueError: bad batch of rank 1",
  ],
  "torch-reported": [
    `import os, time, milepost\nwith milepost.Run() as run:\n${indented(FAILS)}`,
    "node-0 exited 1: ValueError: bad batch of rank 1",
  ],
};

testWith(await debianTorch(), "the failure of one of three ranks is the job's", async (bin) => {
  await withStandalone(async ({ client }) => {
    for (const [name, [program, headline]] of Object.entries(PROGRAMS)) {
      const file = await Deno.makeTempFile({ suffix: ".py" });
      try {
        await Deno.writeTextFile(file, program);
        const command = `PATH=${bin}:${SYSTEM_PATH} PYTHONPATH=${SOURCES} ` +
          `torchrun --nproc_per_node 3 ${file}`;
        await client.create(KINDS.clusterTrainingRuntime, shellRuntime(name, command));
        await client.create(KINDS.trainJob, trainJob(name, name));
        const failed = await trainJobThat(
          client,
          name,
          "failed",
          ({ status }) => status?.state === "Failed" && status.failure !== undefined,
        );
        const { failure } = failed.status ?? {};
        equal(failure?.headline, headline, JSON.stringify(failure));
        match(
          failure?.message ?? "",
          name === "torch-reported" ? /^Traceback/ : /ChildFailedError/,
        );
        const reads = boundedReads(client, AbortSignal.timeout(30_000));
        const job = { kind: TRAINJOB, namespace: "default", name };
        const { lastWords } = await jobDetails(reads, job);
        equal(
          lastWords?.trimEnd().split("\n").at(-1),
          name === "torch-plain"
            ? "ValueError: bad batch of rank 1"
            : failure?.message?.trimEnd().split("\n").at(-1),
        );
      } finally {
        await Deno.remove(file);
      }
    }
  });
});
