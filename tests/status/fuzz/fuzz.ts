/** Fuzzer: sends requests of all kinds, and compares each answer with the oracle's verdict. */
import assert from "node:assert/strict";
import type { LogRecord } from "@logtape/logtape";
import fc from "fast-check";
import type { Push } from "../../../crds/wire/push.ts";
import type { HttpRequest } from "../../../platform/http/message.ts";
import { withLogs } from "../../support/logged.ts";
import { assertStatus, hostileBench } from "../hostile/case.ts";
import { type FuzzRequest, judge, type Verdict } from "./oracle.ts";
import { requests } from "./requests.ts";

/** Answer to a request. */
export interface FuzzAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Target of requests. */
export interface FuzzTarget {
  /** Returns undefined if the request cannot be expressed in its protocol. */
  send(request: FuzzRequest): Promise<FuzzAnswer | undefined>;
  /** Codes beyond the oracle's that are right here, such as 400 for what is not HTTP. */
  readonly besides: ReadonlySet<number>;
}

/** Number of requests. */
export interface FuzzOptions {
  readonly seed: number;
  readonly runs: number;
}

/** Number of answers of each code. */
export type FuzzCounts = Record<number, number>;

type Bench = ReturnType<typeof hostileBench>;

/** A request as the handler gets it from a server. */
function pushRequest({ method, url, headers, body }: FuzzRequest): HttpRequest {
  const all: Record<string, string> = { ...headers, "content-length": String(body.length) };
  return {
    method,
    url,
    peer: "10.0.0.1",
    header: (name) => Object.hasOwn(all, name) ? all[name] : undefined,
    readBody: (max) => Promise.resolve(body.length > max ? undefined : body),
  };
}

/** The handler, called in memory. */
export function inMemory({ handle }: Bench): FuzzTarget {
  return {
    besides: new Set(),
    async send(request) {
      const { status, headers, body } = await handle(pushRequest(request));
      const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      return { status, headers: Object.fromEntries(lower), body };
    },
  };
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  405: "MethodNotAllowed",
  413: "RequestEntityTooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  431: "BadRequest",
  503: "ServiceUnavailable",
};

/** Codes that the answer may have. */
function allowed({ codes, route }: Verdict, { besides }: FuzzTarget): ReadonlySet<number> {
  const all = new Set([...codes, ...besides]);
  // What is asked for beside the path is not the oracle's; nothing is read in these tests.
  if (route === "read") all.add(422);
  if (codes.size === 0) all.add(route === "read" ? 503 : 200);
  // No stream has room.
  if (codes.size === 0 && route === "read") all.add(429);
  // Histories of a pod have a limit that no flag lifts.
  if (route === "history") all.add(429);
  return all;
}

/** The parts of the request's token that nobody else may see. */
function secretsOf({ headers }: FuzzRequest): string[] {
  return (headers.authorization ?? "").split(/[\s.]+/).filter((part) => part.length > 40);
}

function checkAnswer(answer: FuzzAnswer, codes: ReadonlySet<number>): void {
  const { status, headers, body } = answer;
  assert(codes.has(status), `${status} is none of ${[...codes].join(", ")}: ${body}`);
  assert.equal(headers["content-type"], "application/json");
  const value: unknown = body === "" ? undefined : JSON.parse(body);
  if (status === 200) return assert(typeof value === "object" && value !== null);
  const reason = REASONS[status];
  assert(reason !== undefined, `${status} is not a documented code`);
  if (value !== undefined) assertStatus(value, status, reason);
  if (status === 401) assert.equal(headers["www-authenticate"], "Bearer");
  if (status === 405) assert.match(headers.allow ?? "", /POST/);
  if (status === 429 || status === 503) assert.match(headers["retry-after"] ?? "", /^[1-9]\d*$/);
}

/** Asserts that the owner got the push that the oracle expects, or none. */
function checkAccepted(told: readonly Push[], answer: FuzzAnswer, verdict: Verdict): void {
  const newest = answer.status === 200 ? verdict.status?.newest : undefined;
  assert.equal(told.length, newest === undefined ? 0 : 1);
  const [push] = told;
  if (push === undefined) return;
  const { lastUpdatedTime, ...rest } = push.trainerStatus;
  assert.deepEqual(rest, newest);
  assert(!Number.isNaN(Date.parse(lastUpdatedTime)));
  assert.equal(push.earlier?.length ?? 0, verdict.status?.earlier);
  assert.deepEqual([push.job.uid, push.pod.uid], ["uid-trainjob", "uid-pod-1"]);
}

function isTold(secret: string, records: readonly LogRecord[]): boolean {
  return records.some(({ message, properties }) =>
    JSON.stringify([message, properties]).includes(secret)
  );
}

/** Longer than any request may take on a machine that is busy with other things. */
const STUCK_MS = 60_000;

/**
 * Sends `runs` requests. Throws with the seed and the smallest request that it found, if one is not
 * answered as the oracle says, reaches the owner without right, or if a token is visible.
 */
export async function fuzz(
  bench: Bench,
  target: FuzzTarget,
  { seed, runs }: FuzzOptions,
): Promise<FuzzCounts> {
  const counts: FuzzCounts = {};
  const one = await requests(seed);
  await withLogs((records) =>
    fc.assert(
      fc.asyncProperty(one, async (request) => {
        bench.accepted.length = 0;
        bench.results.length = 0;
        records.length = 0;
        const verdict = judge(request);
        const answer = await target.send(request);
        if (answer === undefined) return;
        checkAnswer(answer, allowed(verdict, target));
        checkAccepted(bench.accepted, answer, verdict);
        const text = JSON.stringify(answer);
        for (const secret of secretsOf(request)) {
          assert(!text.includes(secret), "the answer holds a part of the token");
          assert(!isTold(secret, records), "the log holds a part of the token");
        }
        assert(!records.some(({ level }) => level === "error"), JSON.stringify(records));
        counts[answer.status] = (counts[answer.status] ?? 0) + 1;
      }),
      { seed, numRuns: runs, timeout: STUCK_MS, endOnFailure: false },
    )
  );
  return counts;
}
