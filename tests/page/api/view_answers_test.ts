/** Tests of answers about curves: how many there are, and what the first one leaves out. */
import assert from "node:assert/strict";
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import type { ShownCurves } from "../../../crds/wire/shown_curves.ts";
import { curveAnswers, firstCurvesJson } from "../../../page/api/view_answers.ts";
import { CURVE_LIMITS } from "../../../crds/wire/view_limits.ts";

/** Jobs of the sizes that jobs may have: 33 metrics of 128 points. */
const jobs = Array.from({ length: 30 }, (_, index) => ({
  kind: TRAINJOB,
  namespace: "ml",
  name: `job-${index}`,
  uid: `uid-${index}`,
}));
const curves = jobs.map(({ uid }): ShownCurves => ({
  uid,
  metrics: Array.from({ length: 33 }, (_, index) => ({
    name: `metric-${index}`,
    points: Array.from({ length: 128 }, (_, at) => [at, Math.PI, Math.E, Math.SQRT2]),
  })),
  marks: [],
}));
const missing = [{ kind: TRAINJOB, namespace: "ml", name: "gone" }];

Deno.test("curveAnswers() has each job once, in answers of a bounded size, and what is missing in each", () => {
  const answers = [...curveAnswers(curves, { seen: jobs, missing })];
  assert.ok(answers.length > 3);
  for (const { json } of answers) {
    assert.ok(json.length < CURVE_LIMITS.answerCharacters * 1.1);
    assert.deepEqual(JSON.parse(json).missing, [
      { kind: TRAINJOB.id, namespace: "ml", name: "gone" },
    ]);
  }
  const told = answers.flatMap(({ json }) => JSON.parse(json).curves);
  assert.deepEqual(told.map(({ job }) => job.uid), jobs.map(({ uid }) => uid));
  assert.deepEqual(answers.flatMap((it) => it.told), jobs.map(({ uid }) => uid));
});

Deno.test("curveAnswers() says what is missing where there is no curve, and nothing of jobs that are not seen", () => {
  const [answer, ...others] = curveAnswers(curves.slice(0, 1), { seen: [], missing });
  assert.deepEqual(others, []);
  assert.deepEqual(JSON.parse(answer?.json ?? "").curves, []);
});

Deno.test("firstCurvesJson() names the jobs that are left", () => {
  const { curves: told, left } = JSON.parse(
    firstCurvesJson({ curves: curves.slice(0, 25), left: ["uid-29"] }, { seen: jobs }),
  );
  const names = [...told.map(({ job }: { job: { name: string } }) => job), ...left].map((it) =>
    it.name
  );
  assert.deepEqual(names, [...jobs.slice(0, 25), jobs[29]].map((it) => it?.name));
  const small = firstCurvesJson({ curves: curves.slice(0, 1), left: [] }, { seen: jobs });
  assert.deepEqual(Object.keys(JSON.parse(small)), ["curves"]);
});
