/** Tests of the table of routes. */
import assert from "node:assert/strict";
import { createRoutes, pathOf } from "../../../platform/http/routes.ts";

Deno.test("`pathOf()` ends at the first question mark", () => {
  assert.equal(pathOf("/a?b?c"), "/a");
  assert.equal(pathOf(""), "");
});

const TABLE = [
  { method: "POST", path: "/apis/a.io/v1/namespaces/{namespace}/jobs/{name}/status", what: "push" },
  { method: "GET", path: "/apis/a.io/v1/namespaces/{namespace}/jobs/{name}/status", what: "read" },
  { method: "POST", path: "/apis/a.io/v1/namespaces/{namespace}/jobs/{name}/log", what: "log" },
  { method: "GET", path: "/openapi/v3", what: "document" },
];

const CASES: Readonly<Record<string, { method: string; path: string; want: unknown }>> = {
  "a method and the names of a path": {
    method: "POST",
    path: "/apis/a.io/v1/namespaces/team/jobs/job-1.x/status",
    want: { what: "push", names: ["team", "job-1.x"] },
  },
  "another method of the path": {
    method: "GET",
    path: "/apis/a.io/v1/namespaces/team/jobs/job-1/status",
    want: { what: "read", names: ["team", "job-1"] },
  },
  "a path without names": {
    method: "GET",
    path: "/openapi/v3",
    want: { what: "document", names: [] },
  },
  "a method that the path does not take, and those that it takes": {
    method: "PUT",
    path: "/apis/a.io/v1/namespaces/team/jobs/job-1/status",
    want: { allow: "GET, POST" },
  },
  "no path with a dot that is another character": {
    method: "POST",
    path: "/apis/aXio/v1/namespaces/team/jobs/job-1/status",
    want: undefined,
  },
  "no path with a name that is none": {
    method: "POST",
    path: "/apis/a.io/v1/namespaces/Team/jobs/job-1/status",
    want: undefined,
  },
  "no path with a part too many": {
    method: "POST",
    path: "/apis/a.io/v1/namespaces/team/jobs/job-1/x/status",
    want: undefined,
  },
  "no path with further segments": { method: "GET", path: "/openapi/v3/", want: undefined },
};
for (const [sentence, { method, path, want }] of Object.entries(CASES)) {
  Deno.test(`\`createRoutes()\` finds ${sentence}`, () => {
    const match = createRoutes(TABLE).find(method, path);
    assert.deepEqual(match?.route ? { what: match.route.what, names: match.names } : match, want);
  });
}
