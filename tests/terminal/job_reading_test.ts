/** Tests of the reading of one job: it is found by its name, and what is not read of it is said. */
import assert from "node:assert/strict";
import { findJob, readJob, typedJob } from "../../terminal/job_reading.ts";
import { JOB_KINDS, TRAINJOB } from "../../crds/job_kinds.ts";
import { SEARCH_KINDS } from "../../page/trials/search_kinds.ts";
import { type AskedOf, type MadeUp, withAnswers } from "../support/api_answers.ts";

const SIGNAL = new AbortController().signal;
/** One search that is there. */
const CLUSTER = {
  kinds: JOB_KINDS,
  searches: {
    kinds: SEARCH_KINDS.map(({ kind }) => kind),
    list: () =>
      Promise.resolve({
        searches: [{
          kind: "optimizationjobs.trainer.kubeflow.org",
          namespace: "ml",
          name: "digits",
          counts: { total: 0, states: [] },
        }],
        denied: [],
        absent: [],
      }),
    read: () => Promise.resolve(undefined),
  },
};
const JOB = { kind: TRAINJOB, namespace: "ml", name: "mnist", uid: "u1" };

const OBJECT = {
  apiVersion: TRAINJOB.apiVersion,
  kind: "TrainJob",
  metadata: { name: "mnist", namespace: "ml", uid: "u1" },
  spec: { runtimeRef: { name: "torch" } },
};

/** The job that is found where each kind answers thus. */
async function found(answers: Readonly<Record<string, MadeUp>>, typed = "mnist"): Promise<string> {
  let name = "";
  const answer = ({ path }: AskedOf) => answers[path.split("/").at(-2) ?? ""] ?? 404;
  await withAnswers(answer, async (client) => {
    const job = await findJob({ client, ...CLUSTER }, typedJob(typed), "ml", SIGNAL);
    name = `${job.kind.plural}/${job.name}`;
  });
  return name;
}

Deno.test("a job is found though another kind cannot be read", async () => {
  for (const failure of [500, 403]) {
    assert.equal(await found({ trainjobs: OBJECT, pytorchjobs: failure }), "trainjobs/mnist");
  }
});

Deno.test("a job that is nowhere may be of the kind that cannot be read, and that is said", async () => {
  await assert.rejects(found({ pytorchjobs: 500 }), /InternalError/);
  await assert.rejects(found({ pytorchjobs: 403 }), /no job mnist in ml that the user may read/);
  await assert.rejects(found({}), /no job mnist in ml$/);
});

Deno.test("a name that is mistyped is answered with those that may be meant, of that kind", async () => {
  const named = (name: string) => ({ ...OBJECT, metadata: { name, namespace: "ml", uid: name } });
  const listed = (kind: string, ...names: string[]) => ({
    kind: `${kind}List`,
    metadata: { resourceVersion: "1" },
    items: names.map((name) => ({ ...named(name), kind })),
  });
  const lists: Readonly<Record<string, MadeUp>> = {
    v1alpha1: { resources: [{ name: "trainjobs" }] },
    v1: { resources: [{ name: "pytorchjobs" }] },
    trainjobs: listed("TrainJob", "mnist", "bert"),
    pytorchjobs: listed("PyTorchJob", "minst-v1", "mnis"),
  };
  const answer = ({ path }: AskedOf) => lists[path.split("/").at(-1) ?? ""] ?? 404;
  const said: Readonly<Record<string, RegExp>> = {
    "trainjob/mnits": /^there is no job mnits in ml; did you mean mnist\?$/,
    mnis: /^there is no job mnis in ml; did you mean mnis or mnist\?$/,
    "pytorchjob/mnist": /^there is no job mnist in ml; did you mean mnis\?$/,
    resnet: /^there is no job resnet in ml$/,
    digits:
      /^digits in ml is a search, and no job: `milepost get optimizationjob\/digits` shows its trials.*`kubectl delete optimizationjob digits -n ml` ends it$/,
    "optimizationjobs/other": /^other in ml is a search, and no job/,
    "trainjob/digits": /^there is no job digits in ml$/,
    "oj/digits": /^there is no kind oj; known: trainjob, .*, experiment, optimizationjob$/,
  };
  await withAnswers(answer, async (client) => {
    for (const [typed, want] of Object.entries(said)) {
      const finding = findJob({ client, ...CLUSTER }, typedJob(typed), "ml", SIGNAL);
      await assert.rejects(finding, ({ message }: Error) => want.test(message), typed);
    }
  });
});

Deno.test("a kind is its singular or its plural, with its group or without", async () => {
  const pytorchjobs = { ...OBJECT, apiVersion: "kubeflow.org/v1", kind: "PyTorchJob" };
  for (const kind of ["pytorchjob", "PyTorchJobs", "pytorchjobs.kubeflow.org"]) {
    const answers = { trainjobs: OBJECT, pytorchjobs };
    assert.equal(await found(answers, `${kind}/mnist`), "pytorchjobs/mnist");
    await assert.rejects(
      found(answers),
      /several jobs have this name: name one as pytorchjob\/mnist, trainjob/,
    );
  }
});

/** Lists that never end. */
function endless({ path, query }: AskedOf): MadeUp {
  if (path.endsWith("/trainjobs/mnist")) return OBJECT;
  if (!path.endsWith("/pods")) return 403;
  const items = Array.from({ length: Number(query.get("limit")) }, (_, index) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: `pod-${query.get("continue")}-${index}`, namespace: "ml" },
  }));
  return { kind: "PodList", metadata: { resourceVersion: "1", continue: "more" }, items };
}

Deno.test("what is not read of a job, because there is too much or it may not be, is said", () =>
  withAnswers(endless, async (client) => {
    const { pods, missing } = await readJob({ client }, JOB, SIGNAL);
    assert.equal(pods.length, 1_000);
    assert.deepEqual(missing, ["the user may not list events in ml", "pods beyond 1000"]);
  }));
