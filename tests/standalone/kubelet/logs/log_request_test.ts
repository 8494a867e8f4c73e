/** Tests of the parser of requests to the log endpoint. */
import assert from "node:assert/strict";
import { readLogRequest } from "../../../../standalone/kubelet/logs/log_request.ts";

const PATH = "/containerLogs/ns/pod/main";
const none = { follow: false, previous: false, timestamps: false };

const understood: Record<string, { target: string; want: Record<string, unknown> }> = {
  "reads a path without a query": { target: PATH, want: none },
  "reads every option": {
    target: `${PATH}?follow=true&timestamps=1&previous=false&tailLines=0&limitBytes=9&` +
      "sinceTime=2026-01-01T00:00:00Z",
    want: {
      ...none,
      follow: true,
      timestamps: true,
      tailLines: 0,
      limitBytes: 9,
      sinceTime: "2026-01-01T00:00:00Z",
    },
  },
  "takes empty options as not given": { target: `${PATH}?tailLines=&sinceTime=`, want: none },
  "takes both streams together": { target: `${PATH}?stream=All`, want: none },
  "reads sinceSeconds": { target: `${PATH}?sinceSeconds=5`, want: { ...none, sinceSeconds: 5 } },
};
for (const [sentence, { target, want }] of Object.entries(understood)) {
  Deno.test(`readLogRequest() ${sentence}`, () => {
    const got = readLogRequest("GET", target);
    assert.deepEqual(got, { namespace: "ns", pod: "pod", container: "main", options: want });
  });
}

const refused: Record<string, { target: string; method?: string; code: number; what: RegExp }> = {
  "refuses other paths": { target: "/exec/ns/pod/main", code: 404, what: /containerLogs/ },
  "refuses a path that is too long": { target: `${PATH}/more`, code: 404, what: /containerLogs/ },
  "refuses to write": { target: PATH, method: "POST", code: 405, what: /use GET/ },
  "refuses a broken encoding": { target: "/containerLogs/%/p/c", code: 400, what: /encoded/ },
  "refuses negative lines": { target: `${PATH}?tailLines=-1`, code: 400, what: /at least 0/ },
  "refuses no bytes": { target: `${PATH}?limitBytes=0`, code: 400, what: /at least 1/ },
  "refuses what is no number": { target: `${PATH}?sinceSeconds=x`, code: 400, what: /"x"/ },
  "refuses what is no time": { target: `${PATH}?sinceTime=noon`, code: 400, what: /RFC 3339/ },
  "refuses what is no boolean": {
    target: `${PATH}?follow=maybe`,
    code: 400,
    what: /true or false/,
  },
  "refuses both kinds of since": {
    target: `${PATH}?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z`,
    code: 400,
    what: /only one/,
  },
  "refuses one stream alone": { target: `${PATH}?stream=Stdout`, code: 400, what: /only All/ },
};
for (const [sentence, { target, method = "GET", code, what }] of Object.entries(refused)) {
  Deno.test(`readLogRequest() ${sentence}`, () => {
    const got = readLogRequest(method, target);
    assert.ok("code" in got);
    assert.equal(got.code, code);
    assert.match(got.message, what);
  });
}
