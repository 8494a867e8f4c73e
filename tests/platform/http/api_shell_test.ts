/** Tests of the API shell: the order of what is looked at, what becomes of errors, and what is counted. */
import assert from "node:assert/strict";
import { getLogger } from "@logtape/logtape";
import { type Answer, type Arrival, createApi } from "../../../platform/http/api_shell.ts";
import { okResponse } from "../../../platform/http/json_responses.ts";
import {
  ClientGoneError,
  type HttpRequest,
  OverloadedError,
} from "../../../platform/http/message.ts";
import {
  notFound,
  notNow,
  refusal,
  tooMany,
  unauthorized,
} from "../../../platform/http/refusals.ts";
import { TransportError } from "../../../platform/kube/errors.ts";
import { logged } from "../../support/logged.ts";

const SHUNNED = refusal("peer_limit", tooMany("wait"), { retryAfterMs: 1500, closes: true });
const ROUTES = [
  { method: "GET", path: "/jobs/{name}", reads: true },
  { method: "POST", path: "/jobs/{name}/stop", reads: false },
];

interface Case {
  readonly method?: string;
  readonly path?: string;
  /** Whether the peer is refused. */
  readonly isShunned?: boolean;
  readonly answer?: () => Answer | Promise<Answer>;
  /** Code, result, path of the route under which it is counted, and what it costs the peer. */
  readonly want: readonly [number, string, string | undefined, string | undefined];
}

const [READS, STOPS] = ROUTES.map(({ path }) => path);
const broken = (error: Error) => () => Promise.reject(error);

const CASES: Readonly<Record<string, Case>> = {
  "a good request": { want: [200, "accepted", READS, undefined] },
  "a peer before the path": {
    isShunned: true,
    path: "/",
    want: [429, "toomanyrequests", undefined, undefined],
  },
  "a refused peer under its route": {
    isShunned: true,
    want: [429, "toomanyrequests", READS, undefined],
  },
  "a path that is not there": { path: "/", want: [404, "notfound", undefined, undefined] },
  "another method under the route of its path": {
    path: "/jobs/a/stop",
    want: [405, "methodnotallowed", STOPS, undefined],
  },
  "a token that proves nothing": {
    answer: () => refusal("no_token", unauthorized("log in")),
    want: [401, "unauthorized", READS, "nothing"],
  },
  "a token of which the signature was checked": {
    answer: () => refusal("bad_signature", unauthorized("log in")),
    want: [401, "unauthorized", READS, "signature"],
  },
  "a client that went away": {
    answer: broken(new ClientGoneError()),
    want: [503, "serviceunavailable", READS, undefined],
  },
  "a body for which there is no room": {
    answer: broken(new OverloadedError()),
    want: [503, "serviceunavailable", READS, undefined],
  },
  "an API server without an answer": {
    answer: broken(new TransportError("away")),
    want: [503, "serviceunavailable", READS, undefined],
  },
  "a bug": { answer: broken(new Error("bug")), want: [500, "internalerror", READS, undefined] },
  "a bug that throws at once": {
    answer: () => {
      throw new Error("bug");
    },
    want: [500, "internalerror", READS, undefined],
  },
};

/** Sends a request to an API of {@link ROUTES}. Returns the response, and what was counted. */
async function send({ method = "GET", path = "/jobs/a", isShunned, answer }: Case) {
  const counted: { result: string; path: string | undefined }[] = [];
  const failed: string[] = [];
  const { handle } = createApi<Arrival, typeof ROUTES[number]>({
    log: getLogger(["milepost", "test"]),
    routes: ROUTES,
    unknownPath: notFound("no such path"),
    peers: { failed: (_peer, _nowMs, cost) => void failed.push(cost) },
    arrive: (request) => ({ request, monotonicMs: 0 }),
    admit: () => isShunned ? SHUNNED : undefined,
    answer: (_, route, names) => answer?.() ?? okResponse({ path: route.path, names }),
    unreachable: (problem) => notNow({ reason: problem, retryAfterMs: 1000 }),
    onAnswer: (_, result, route) => void counted.push({ result, path: route?.path }),
  });
  const request: HttpRequest = {
    method,
    url: `${path}?limit=1`,
    peer: "10.0.0.1",
    header: () => undefined,
    readBody: () => Promise.resolve(undefined),
  };
  return { response: await handle(request), counted, failed };
}

for (const [sentence, one] of Object.entries(CASES)) {
  Deno.test(`\`createApi()\` answers and counts ${sentence}`, async () => {
    const [code, result, path, cost] = one.want;
    const { response, counted, failed } = await send(one);
    assert.equal(response.status, code);
    assert.deepEqual(counted, [{ result, path }]);
    assert.deepEqual(failed, cost === undefined ? [] : [cost]);
    const { code: told = 200 } = JSON.parse(response.body);
    assert.equal(told, code);
  });
}

Deno.test("`createApi()` says what belongs to a refusal in headers", async () => {
  const { response: { headers } } = await send({ isShunned: true, want: [429, "", "", ""] });
  assert.deepEqual([headers["Retry-After"], headers["Connection"]], ["2", "close"]);
  const { response } = await send({ method: "PUT", want: [405, "", "", ""] });
  assert.equal(response.headers["Allow"], "GET");
});

Deno.test("`createApi()` logs a bug once as an error, and nothing else", async () => {
  const levels = async (answer: Case["answer"]) => {
    const records = await logged(async () => {
      await send({ ...(answer && { answer }), want: [500, "", "", ""] });
    });
    return records.map(({ level }) => level).filter((level) => level !== "debug");
  };
  assert.deepEqual(await levels(broken(new Error("bug"))), ["error"]);
  assert.deepEqual(await levels(broken(new TransportError("away"))), []);
  assert.deepEqual(await levels(undefined), []);
});
