/** Test of the observation API against its OpenAPI document, by Schemathesis. */
import assert from "node:assert/strict";
import { z } from "zod";
import { TRAINJOB } from "../../crds/job_kinds.ts";
import { KINDS } from "../../crds/kinds.ts";
import { LABELS, PUSH_AUDIENCE } from "../../crds/names.ts";
import type { Standalone } from "../../app/standalone/standalone.ts";
import { run } from "../support/command.ts";
import { observer } from "../support/observer.ts";
import {
  progress,
  push,
  requestToken,
  shellRuntime,
  trainJob,
  trainJobThat,
  withStandalone,
} from "../support/standalone.ts";
import { until } from "../support/until.ts";
import { pythonEnvironment } from "../support/python_environment.ts";

/** Of each run; what is drawn is the same every time. */
const EXAMPLES = 60;
const SEED = 20260101;

/** A TrainJob that has pushed and ended, so that streams of it end, too. */
async function endedJob(standalone: Standalone, folder: string): Promise<void> {
  const { client } = standalone;
  const command = `until [ -e ${folder}/done ]; do sleep 0.1; done`;
  await client.create(KINDS.clusterTrainingRuntime, shellRuntime("until-told", command));
  await client.create(KINDS.trainJob, trainJob("observed", "until-told"));
  const { metadata } = await until("its pod", async () => {
    const labelSelector = `${LABELS.trainJobName}=observed`;
    return (await client.list(KINDS.pod, { namespace: "default", labelSelector })).items[0];
  });
  const pod = { name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
  const account = { namespace: "default", name: "default" };
  const token = await requestToken(client, account, { audience: PUSH_AUDIENCE, pod });
  for (let percentage = 0; percentage < 10; percentage++) {
    const body = progress(percentage, { loss: `0.${percentage}`, accuracy: "1" });
    assert.equal((await push(standalone, { name: "observed" }, token, body)).status, 200);
  }
  await Deno.writeTextFile(`${folder}/done`, "");
  await trainJobThat(client, "observed", "is complete", (it) => it.status?.state === "Complete");
}

/** What is wrong with a document. Others are not: drawn names and UIDs meet jobs that are not there. */
const WARNINGS = [
  "method_not_allowed",
  "missing_deserializer",
  "unmatched_filter",
  "unresolvable_reference",
  "unsupported_regex",
  "unused_openapi_auth",
  "validation_mismatch",
];
/** A machine that is busy may have to say "come again": 503 is no fault. */
const CHECKS = `[warnings]\ndisplay = ${JSON.stringify(WARNINGS)}\n` +
  '[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503"]\n';
/** Which paths are drawn, any or the one of the job that is there, and codes that are seen for sure. */
const PATHS: Readonly<Record<string, { parameters: string; codes: readonly number[] }>> = {
  "of any name": { parameters: "", codes: [401, 403, 405, 422] },
  "of a job": {
    parameters: '[parameters]\n"path.namespace" = "default"\n"path.name" = "observed"\n',
    codes: [200, 401, 405, 409, 422],
  },
};

const archive = z.object({
  log: z.object({
    entries: z.array(z.object({
      response: z.object({
        status: z.int(),
        content: z.looseObject({ mimeType: z.string().optional() }),
      }),
    })),
  }),
});

/** Answers in the report of a run. */
async function answersOf(path: string) {
  const { log } = archive.parse(JSON.parse(await Deno.readTextFile(path)));
  return log.entries.map(({ response }) => response);
}

const python = await pythonEnvironment("schemathesis==4.32.5");

Deno.test({
  name: "schemathesis finds nothing wrong with the observation API",
  ignore: "missing" in python,
  fn: async (t) => {
    if ("missing" in python) return;
    const folder = await Deno.makeTempDir();
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => Deno.remove(folder, { recursive: true }));
    await withStandalone(async (standalone) => {
      await endedJob(standalone, folder);
      const { token } = await observer(standalone.client, "observer", TRAINJOB, [
        "get",
        "update",
      ]);
      await Deno.writeTextFile(`${folder}/ca.crt`, standalone.caBundle());
      for (const [what, { parameters, codes }] of Object.entries(PATHS)) {
        await t.step(what, async () => {
          await Deno.writeTextFile(`${folder}/schemathesis.toml`, CHECKS + parameters);
          const { code, stdout, stderr } = await run(`${python.bin}/schemathesis`, {
            args: [
              "--config-file",
              `${folder}/schemathesis.toml`,
              "run",
              `${standalone.status}/openapi/v3`,
              "--header",
              `Authorization: Bearer ${token}`,
              "--tls-verify",
              `${folder}/ca.crt`,
              // The operations of other kinds are the same ones, and would take eight times as long.
              "--include-path-regex",
              `/${TRAINJOB.plural}/`,
              "--max-examples",
              String(EXAMPLES),
              "--seed",
              String(SEED),
              "--phases",
              "examples,coverage,fuzzing",
              "--request-timeout",
              "30",
              "--report",
              "har",
              "--report-har-path",
              `${folder}/run.har`,
              "--no-color",
            ],
            env: { HOME: folder },
            // It leaves files where it runs.
            cwd: folder,
            timeoutMs: 120_000,
          });
          assert.equal(code, 0, `${stdout}\n${stderr}`);
          assert.match(stdout, /No issues found/);
          const answers = await answersOf(`${folder}/run.har`);
          const seen = new Set(answers.map(({ status }) => status));
          for (const one of codes) assert.ok(seen.has(one), `no ${one} in ${[...seen]}`);
          const streams = answers.filter(({ content }) => content.mimeType === "text/event-stream");
          assert.equal(streams.length > 0, codes.includes(200));
        });
      }
    });
  },
});
