/** Tests of the parsers of queries and paths of observations, mostly hostile ones. */
import assert from "node:assert/strict";
import { JOB_KINDS, TRAINJOB } from "../../../crds/job_kinds.ts";
import { createRoutes } from "../../../platform/http/routes.ts";
import { observationRoutes } from "../../../katib/api/observation_api.ts";
import { observationQuery } from "../../../katib/api/observation_query.ts";

const routes = createRoutes(observationRoutes(JOB_KINDS));

function jobOfPath(path: string) {
  const match = routes.find("GET", path);
  if (match?.route === undefined) return undefined;
  const { route: { kind }, names: [namespace, name] } = match;
  return { kind, namespace, name };
}

const good: Readonly<Record<string, { query: string; want: unknown }>> = {
  "nothing": { query: "", want: { from: undefined, limit: 500, watch: false } },
  "a limit": { query: "limit=7", want: { from: undefined, limit: 7, watch: false } },
  "the largest limit": {
    query: "limit=5000",
    want: { from: undefined, limit: 5000, watch: false },
  },
  "a time": {
    query: "since=2026-01-01T01:00:00.5%2B01:00",
    want: { from: { time: "2026-01-01T00:00:00.500000Z", seen: 0 }, limit: 500, watch: false },
  },
  "a page after another": {
    query: "continue=1767225600000000.3",
    want: { from: { time: "2026-01-01T00:00:00.000000Z", seen: 3 }, limit: 500, watch: false },
  },
  "the later of time and page": {
    query: "continue=1767225600000000.3&since=2025-01-01T00:00:00Z",
    want: { from: { time: "2026-01-01T00:00:00.000000Z", seen: 3 }, limit: 500, watch: false },
  },
  "a watch": { query: "watch=1", want: { from: undefined, limit: 500, watch: true } },
  "no watch": { query: "watch=false", want: { from: undefined, limit: 500, watch: false } },
};

for (const [what, { query, want }] of Object.entries(good)) {
  Deno.test(`\`observationQuery()\` understands ${what}`, () =>
    assert.deepEqual(observationQuery(query), want));
}

const bad: Readonly<Record<string, { query: string; field: string }>> = {
  "a limit of 0": { query: "limit=0", field: "limit" },
  "a limit below 0": { query: "limit=-1", field: "limit" },
  "a huge limit": { query: "limit=5001", field: "limit" },
  "a limit of many digits": { query: `limit=${"9".repeat(4000)}`, field: "limit" },
  "a fraction as limit": { query: "limit=1.5", field: "limit" },
  "a limit with exponent": { query: "limit=1e2", field: "limit" },
  "a limit in hexadecimal": { query: "limit=0x10", field: "limit" },
  "a limit with a space": { query: "limit=%201", field: "limit" },
  "no limit": { query: "limit=", field: "limit" },
  "infinity as limit": { query: "limit=Infinity", field: "limit" },
  "two limits": { query: "limit=1&limit=2", field: "limit" },
  "a limit twice": { query: "limit=1&limit=1", field: "limit" },
  "words as time": { query: "since=yesterday", field: "since" },
  "an invalid day": { query: "since=2026-02-30T00:00:00Z", field: "since" },
  "a time without zone": { query: "since=2026-01-01T00:00:00", field: "since" },
  "a very long time": { query: `since=2026-01-01T00:00:00.${"0".repeat(9000)}Z`, field: "since" },
  "no time": { query: "since=", field: "since" },
  "a NUL in a time": { query: "since=2026-01-01T00:00:00Z%00", field: "since" },
  "an unknown page": { query: "continue=abc", field: "continue" },
  "no page": { query: "continue=", field: "continue" },
  "a page with more behind it": { query: "continue=1.1%27%20OR%201=1", field: "continue" },
  "a watch that is maybe": { query: "watch=maybe", field: "watch" },
  "an empty watch": { query: "watch", field: "watch" },
  "two watches": { query: "watch=true&watch=false", field: "watch" },
  "a misspelt watch": { query: "wacth=true", field: "wacth" },
  "a name of objects": { query: "__proto__=1", field: "__proto__" },
  "the constructor": { query: "constructor=1", field: "constructor" },
  "an empty name": { query: "=1", field: "" },
  "half a character": { query: "%E0%A4=1", field: "\uFFFD" },
};

for (const [what, { query, field }] of Object.entries(bad)) {
  Deno.test(`\`observationQuery()\` refuses ${what}, and names it`, () => {
    const read = observationQuery(query);
    assert.ok("causes" in read);
    assert.deepEqual(new Set(read.causes.map((it) => it.field)), new Set([field]));
  });
}

Deno.test("`observationQuery()` names few problems, and shortens long names", () => {
  const names = Array.from({ length: 500 }, (_, index) => `${"x".repeat(300)}${index}=1`);
  const read = observationQuery(names.join("&"));
  assert.ok("causes" in read);
  assert.equal(read.causes.length, 20);
  assert.ok(read.causes.every(({ field }) => field.length <= 64));
});

const ROOT = "/apis/trainer.kubeflow.org/v1alpha1/namespaces";
const paths: Readonly<Record<string, { path: string; want: unknown }>> = {
  "a job's": {
    path: `${ROOT}/team/trainjobs/job-1/observation`,
    want: { kind: TRAINJOB, namespace: "team", name: "job-1" },
  },
  "a slash at the end": { path: `${ROOT}/team/trainjobs/job/observation/`, want: undefined },
  "two slashes": { path: `${ROOT}//team/trainjobs/job/observation`, want: undefined },
  "dots instead of names": { path: `${ROOT}/../trainjobs/job/observation`, want: undefined },
  "an encoded slash": { path: `${ROOT}/team/trainjobs/a%2Fb/observation`, want: undefined },
  "capital letters": { path: `${ROOT}/Team/trainjobs/job/observation`, want: undefined },
  "a name without end": {
    path: `${ROOT}/team/trainjobs/${"a".repeat(254)}/observation`,
    want: undefined,
  },
  "no name": { path: `${ROOT}/team/trainjobs//observation`, want: undefined },
  "another character for a dot": {
    path: `${ROOT.replace("trainer.", "trainer-")}/team/trainjobs/job/observation`,
    want: undefined,
  },
  "its status": { path: `${ROOT}/team/trainjobs/job/status`, want: undefined },
  "a whole URL": {
    path: `https://elsewhere${ROOT}/team/trainjobs/job/observation`,
    want: undefined,
  },
  "a line's end": { path: `${ROOT}/team/trainjobs/job/observation\n`, want: undefined },
};

for (const [what, { path, want }] of Object.entries(paths)) {
  Deno.test(`\`jobOfPath()\` of a path with ${what}`, () =>
    assert.deepEqual(jobOfPath(path), want));
}
