/** Tests of the ends of jobs that other operators run. */
import assert from "node:assert/strict";
import { trialResourceKind } from "../../../crds/trial_resource.ts";
import { endForeignJob } from "../../../katib/stopping/foreign_end.ts";
import { KubeError } from "../../../platform/kube/errors.ts";

const JOB = { kind: "Job", version: "v1", group: "batch" };
const TF_JOB = { kind: "TFJob", version: "v1", group: "kubeflow.org" };

const refused = (code: number, reason: string) => new KubeError("no: because", { code, reason });

interface Case {
  readonly resource?: typeof JOB;
  readonly retain: boolean;
  readonly spec?: Record<string, unknown>;
  /** What the API server answers: the object, or an error. */
  readonly answer?: Record<string, unknown> | KubeError;
  /** The calls. */
  readonly want: readonly string[];
  readonly left?: string;
  readonly throws?: boolean;
}

const CASES: Readonly<Record<string, Case>> = {
  "deletes a job that is not retained": { retain: false, want: ["delete u1 Background"] },
  "takes a job that is gone for ended": {
    retain: false,
    answer: refused(404, "NotFound"),
    want: ["delete u1 Background"],
  },
  "leaves another job of its name alone": {
    retain: false,
    answer: refused(409, "Conflict"),
    want: ["delete u1 Background"],
  },
  "leaves a job that may not be deleted": {
    retain: false,
    answer: refused(403, "Forbidden"),
    want: ["delete u1 Background"],
    left: "no: because",
  },
  "does not know the outcome while the API server is away": {
    retain: false,
    answer: refused(503, "ServiceUnavailable"),
    want: ["delete u1 Background"],
    throws: true,
  },
  "suspends a job that is retained": {
    retain: true,
    answer: { spec: { suspend: true } },
    want: ['patch {"metadata":{"uid":"u1"},"spec":{"suspend":true}}'],
  },
  "suspends a job of kubeflow.org by its run policy": {
    resource: TF_JOB,
    retain: true,
    answer: { spec: { runPolicy: { suspend: true } } },
    want: ['patch {"metadata":{"uid":"u1"},"spec":{"runPolicy":{"suspend":true}}}'],
  },
  "does not suspend what rests already": { retain: true, spec: { suspend: true }, want: [] },
  "leaves a job whose definition drops the field": {
    retain: true,
    answer: { spec: {} },
    want: ['patch {"metadata":{"uid":"u1"},"spec":{"suspend":true}}'],
    left: "a Job cannot be suspended",
  },
  "leaves a job whose webhook refuses that": {
    retain: true,
    answer: refused(422, "Invalid"),
    want: ['patch {"metadata":{"uid":"u1"},"spec":{"suspend":true}}'],
    left: "no: because",
  },
  "tries again when the UID is another one's": {
    retain: true,
    answer: refused(409, "Conflict"),
    want: ['patch {"metadata":{"uid":"u1"},"spec":{"suspend":true}}'],
    throws: true,
  },
};

for (const [sentence, it] of Object.entries(CASES)) {
  Deno.test(`endForeignJob() ${sentence}`, async () => {
    const { resource = JOB, retain, spec = {}, answer = {}, want, left, throws = false } = it;
    const kind = trialResourceKind(resource, `${resource.kind.toLowerCase()}s`);
    const metadata = { namespace: "ns", name: "t", uid: "u1" };
    const job = kind.parse({ apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec });
    const calls: string[] = [];
    const respond = (): Promise<Record<string, unknown>> =>
      answer instanceof KubeError ? Promise.reject(answer) : Promise.resolve(answer);
    const ended = endForeignJob({ kind, ...metadata }, job, {
      client: {
        patch(kind, _key, patch) {
          calls.push(`patch ${JSON.stringify("body" in patch ? patch.body : patch)}`);
          return respond().then((it) => kind.parse({ ...job, ...it }));
        },
        async delete(_kind, _key, options) {
          calls.push(`delete ${options?.preconditions?.uid} ${options?.propagationPolicy}`);
          await respond();
        },
      },
      retain,
      deadlineMs: 1_000,
      signal: new AbortController().signal,
    });
    if (throws) await assert.rejects(ended, KubeError);
    else assert.deepEqual(await ended, left === undefined ? {} : { left });
    assert.deepEqual(calls, want);
  });
}
