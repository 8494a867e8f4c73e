/** Tests of what is read of a log where only that says why a program failed. */
import { deepEqual, equal, rejects } from "node:assert/strict";
import type { JobFailure } from "../../../crds/job_failure.ts";
import { ONLY_IN_LOG } from "../../../platform/base/error_line.ts";
import { TransportError } from "../../../platform/kube/errors.ts";
import { boundedReads } from "../../../views/details/bounded_reads.ts";
import { wordsOfLog } from "../../../views/details/words_of_log.ts";
import { answeringClient } from "../../support/answering_client.ts";

const ERROR = `Traceback (most recent call last):
  File "train.py", line 4, in <module>
ValueError: \x1b[31mbad batch\x1b[0m
`;
const FAILURE: JobFailure = {
  headline: `node-0 exited 1: rank 1 exited 1 first; ${ONLY_IN_LOG}`,
  pod: "p",
  container: "node",
  time: "2026-01-01T00:00:00Z",
};
const refused = (status: number) =>
  Response.json({ kind: "Status", status: "Failure" }, { status });

async function wordsWith(
  answer: (isPrevious: boolean, path: string) => Response | Promise<Response>,
  failure = FAILURE,
) {
  const asked: string[] = [];
  const client = answeringClient(({ path }) => {
    asked.push(path);
    return answer(path.includes("previous=true"), path);
  });
  const reads = boundedReads(client, new AbortController().signal);
  return { words: await wordsOfLog(reads, "ml", failure), asked };
}

Deno.test("the words end with the error, and nothing in them steers what shows them", async () => {
  const { words, asked } = await wordsWith(() => new Response(`epoch 1\n${ERROR}E1126 closing\n`));
  equal(words, `epoch 1\n${ERROR.trimEnd()}`.replaceAll("\x1b[31m", "").replaceAll("\x1b[0m", ""));
  deepEqual(asked.map((it) => it.split("?")[0]), ["/api/v1/namespaces/ml/pods/p/log"]);
});

Deno.test("what the container said before its last start is read if it says no error now", async () => {
  const { words } = await wordsWith((isPrevious) => new Response(isPrevious ? ERROR : "epoch 1\n"));
  equal(words?.split("\n").at(-1), "ValueError: bad batch");
});

for (const code of [400, 403, 404, 500]) {
  Deno.test(`a log that cannot be read says nothing: ${code}`, async () => {
    deepEqual((await wordsWith(() => refused(code))).words, undefined);
  });
}

Deno.test("of lines that are too long together fewer are read", async () => {
  const bar = "#".repeat(2_000) + "\n";
  const { words } = await wordsWith((_, path) =>
    new Response(
      bar.repeat(Number(new URLSearchParams(path.split("?")[1]).get("tailLines"))) + ERROR,
    )
  );
  equal(words?.split("\n").at(-1), "ValueError: bad batch");
});

Deno.test("where nobody answers, as of a node that is gone, the reader waits only once", async () => {
  const { words, asked } = await wordsWith(() => Promise.reject(new TransportError("no answer")));
  deepEqual([words, asked.length], [undefined, 1]);
});

Deno.test("a log takes one of the places, and of the bytes, that all reads share", async () => {
  const client = answeringClient(() => new Response(ERROR));
  let taken = 0;
  const places = {
    run: <T>(work: () => Promise<T>) => {
      taken++;
      return work();
    },
  };
  const reads = boundedReads(client, new AbortController().signal, places);
  const before = reads.budget.bytes;
  await wordsOfLog(reads, "ml", FAILURE);
  deepEqual([taken, before - reads.budget.bytes], [1, ERROR.length]);
});

Deno.test("a log is read where the headline sends its reader there, and nowhere else", async () => {
  for (
    const failure of [{ ...FAILURE, headline: "node-0 exited 1" }, { ...FAILURE, pod: undefined }]
  ) {
    deepEqual(await wordsWith(() => new Response(ERROR), failure), { words: undefined, asked: [] });
  }
});

Deno.test("a reader who has gone waits for no log", async () => {
  const gone = new AbortController();
  const client = answeringClient(() => (gone.abort(new Error("gone")), refused(500)));
  await rejects(wordsOfLog(boundedReads(client, gone.signal), "ml", FAILURE), /gone/);
});
