/** Tests of `requests/request_info.ts`. */
import assert from "node:assert/strict";
import { requestInfo } from "../../../../standalone/apiserver/requests/request_info.ts";

const requests: Record<string, [string, string, Record<string, unknown>]> = {
  "a list of a namespace": ["GET", "/api/v1/namespaces/n/pods", {
    verb: "list",
    group: "",
    version: "v1",
    resource: "pods",
    namespace: "n",
  }],
  "a watch of one object": [
    "GET",
    "/api/v1/namespaces/n/pods?watch=1&fieldSelector=metadata.name%3Da",
    {
      verb: "watch",
      resource: "pods",
      name: "a",
    },
  ],
  "a namespace": ["DELETE", "/api/v1/namespaces/n", {
    verb: "delete",
    resource: "namespaces",
    name: "n",
    namespace: "n",
  }],
  "a subresource of a namespace": ["PUT", "/api/v1/namespaces/n/finalize", {
    verb: "update",
    resource: "namespaces",
    subresource: "finalize",
    name: "n",
  }],
  "a subresource": ["PATCH", "/apis/batch/v1/namespaces/n/jobs/j/status", {
    verb: "patch",
    group: "batch",
    resource: "jobs",
    subresource: "status",
    name: "j",
  }],
  "a deletion of many": ["DELETE", "/apis/batch/v1/namespaces/n/jobs", {
    verb: "deletecollection",
  }],
  "a path": ["GET", "/apis/batch/v1", { verb: "get", path: "/apis/batch/v1" }],
};
for (const [sentence, [method, path, want]] of Object.entries(requests)) {
  Deno.test(`requestInfo() knows ${sentence}`, () => {
    assert.partialDeepStrictEqual(requestInfo(method, new URL(path, "https://host")), want);
  });
}
