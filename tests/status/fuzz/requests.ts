/** Requests of all kinds, most of them a step or two away from an honest one. */
import fc from "fast-check";
import { gzipSync } from "node:zlib";
import { KEY, PATH, PUSH, TOKEN } from "../chain/handler_bench.ts";
import {
  bound,
  claims,
  forge,
  NOW_MS,
  sign,
  signingKey,
} from "../../platform/http/callers/tokens.ts";
import type { FuzzRequest } from "./oracle.ts";

const now = NOW_MS / 1000;
const noise = fc.string({ unit: "binary", maxLength: 40 });
const named = (...uids: string[]) =>
  fc.oneof(
    fc.record({
      name: fc.constantFrom("default", "job-1-node-0-0-abcde", "other", ""),
      uid: fc.constantFrom(...uids, "", "uid-other"),
    }, { requiredKeys: [] }),
    fc.jsonValue({ maxDepth: 1 }),
  );
/** Usually nothing is changed. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });

const boundChanges = fc.record({
  namespace: fc.oneof(fc.constantFrom("team", "other", ""), fc.jsonValue({ maxDepth: 1 })),
  pod: named("uid-pod-1"),
  serviceaccount: named("uid-sa"),
}, { requiredKeys: [] });

const seconds = fc.oneof(
  fc.integer({ min: now - 32, max: now - 28 }),
  fc.integer({ min: now + 28, max: now + 32 }),
  fc.double(),
  fc.jsonValue({ maxDepth: 1 }),
);
const claimArbitraries = {
  exp: seconds,
  nbf: seconds,
  iss: fc.oneof(noise, fc.jsonValue({ maxDepth: 1 })),
  sub: fc.constantFrom("system:serviceaccount:team:other", "admin", "", 1),
  aud: fc.oneof(
    fc.constantFrom("trainer.kubeflow.org", PATH.slice(6), "x", ["x", "trainer.kubeflow.org"]),
    fc.jsonValue({ maxDepth: 2 }),
  ),
  "kubernetes.io": boundChanges.map(bound),
};
/** One claim alone, as often as several. */
const claimChanges = fc.oneof(
  fc.record(claimArbitraries, { requiredKeys: [] }),
  ...Object.entries(claimArbitraries).map(([name, arbitrary]: [string, fc.Arbitrary<unknown>]) =>
    arbitrary.map((value) => ({ [name]: value }))
  ),
);

const headerChanges = fc.record({
  alg: fc.constantFrom("none", "HS256", "RS512", "ES256", "", 1),
  kid: fc.constantFrom("k1", "k2", "", "../k1", null),
  typ: fc.constantFrom("JWT", "x", 1),
  crit: fc.constantFrom(["exp"], [], ["b64"]),
  jwk: fc.constant(KEY.jwk),
}, { requiredKeys: [] });

/** Signing takes a while: so many tokens are made, before the first request. */
const POOL = 400;

/** Tokens of all kinds, good ones among them; the same for a seed. */
async function tokenPool(seed: number): Promise<string[]> {
  const stranger = await signingKey("k1");
  const changed = fc.sample(fc.tuple(claimChanges, rarely(headerChanges), fc.nat(9)), {
    seed,
    numRuns: POOL,
  });
  return await Promise.all(changed.map(async ([change, header, kind]) => {
    const payload = claims(JSON.parse(JSON.stringify(kind < 3 ? {} : change)));
    if (header !== undefined) {
      return forge({ alg: "RS256", kid: "k1", ...header }, payload, TOKEN.split(".")[2]);
    }
    return await sign(kind === 9 ? stranger : KEY, payload);
  }));
}

/** Changes a text in one place. */
function damaged(arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(arbitrary, fc.nat(), fc.nat(3), fc.string({ maxLength: 2 })).map(
    ([text, place, removed, added]) => {
      const at = text.length === 0 ? 0 : place % text.length;
      return text.slice(0, at) + added + text.slice(at + removed);
    },
  );
}

/** Four times in five the usual: what is wrong shall be wrong alone, too. */
const mostly = <T>(usual: fc.Arbitrary<T>, ...others: fc.Arbitrary<T>[]) =>
  fc.oneof(
    { weight: 4 * others.length, arbitrary: usual },
    ...others.map((arbitrary) => ({ weight: 1, arbitrary })),
  );

const url = mostly(
  fc.constant(PATH),
  fc.constant(`${PATH}/history`),
  fc.constantFrom("job-2", "job", "JOB-1", "", "..").map((job) => PATH.replace("job-1", job)),
  fc.constantFrom("other", "Team", "", "t%65am").map((name) => PATH.replace("team", name)),
  damaged(fc.constant(PATH)),
  noise.map((query) => `${PATH}?${query}`),
  noise,
);

function authorization(tokens: readonly string[]): fc.Arbitrary<string | undefined> {
  const token = mostly(
    fc.oneof(fc.constant(TOKEN), fc.constantFrom(...tokens)),
    damaged(fc.constant(TOKEN)),
    noise,
  );
  const scheme = mostly(
    fc.constant("Bearer "),
    fc.constantFrom("bearer \t ", "Basic ", "Bearer", ""),
  );
  return mostly<string | undefined>(
    fc.tuple(scheme, token).map((parts) => parts.join("")),
    noise,
    fc.constant(undefined),
  );
}

const whole = fc.oneof(
  fc.integer({ min: -2, max: 102 }),
  fc.constantFrom(0, 100, 2 ** 31 - 1, 2 ** 31, 1e400, -0, 0.5, "1", null),
  fc.jsonValue({ maxDepth: 1 }),
);
const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, "0"));
const edge = fc.tuple(
  fc.constantFrom("1900", "2000", "2023", "2024", "0000", "9999"),
  fc.constantFrom("01-01", "02-28", "02-29", "02-30", "04-31", "12-31"),
  fc.constantFrom("00:00:00", "23:59:59", "23:59:60", "24:00:00"),
  fc.constantFrom("Z", "+00:01", "-00:01", "+23:59", "-24:00", "z"),
).map(([year, day, hours, zone]) => `${year}-${day}T${hours}${zone}`);
const time = fc.oneof<fc.Arbitrary<unknown>[]>(
  edge,
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date("2035-01-01") })
    .map((date) => date.toISOString()),
  edge,
  damaged(fc.constant("2025-01-23T10:30:45.5+01:00")),
  fc.tuple(two(13), two(32), two(25), two(61), two(61), two(25))
    .map(([m, d, h, i, s, z]) => `2024-${m}-${d}T${h}:${i}:${s}-${z}:00`),
  fc.jsonValue({ maxDepth: 1 }),
);
const text = fc.oneof(
  fc.string({ unit: "grapheme", minLength: 1, maxLength: 66 }),
  fc.string({ unit: "binary", maxLength: 66 }),
);
const metric = mostly<unknown>(
  fc.record({ name: text, value: text }),
  fc.jsonValue({ maxDepth: 1 }),
);
const status = mostly<unknown>(
  fc.record({
    progressPercentage: mostly<unknown>(fc.nat(100), whole),
    estimatedRemainingSeconds: mostly<unknown>(fc.nat(), whole),
    metrics: mostly<unknown>(fc.array(metric, { maxLength: 5 }), fc.jsonValue({ maxDepth: 1 })),
    step: mostly<unknown>(fc.nat(), whole),
    lastUpdatedTime: time,
    x: fc.jsonValue({ maxDepth: 2 }),
  }, { requiredKeys: ["lastUpdatedTime"] }),
  fc.jsonValue({ maxDepth: 2 }),
);
const json = fc.oneof<fc.Arbitrary<unknown>[]>(
  fc.constant(PUSH),
  fc.record({ trainerStatus: fc.record({ lastUpdatedTime: time }) }),
  fc.record({ trainerStatus: status, sequence: whole, container: text }, {
    requiredKeys: ["trainerStatus"],
  }),
  fc.record({ trainerStatus: status }),
  fc.record({ samples: fc.array(status, { maxLength: 4 }) }),
  fc.constant({ samples: [PUSH.trainerStatus, PUSH.trainerStatus] }),
  fc.jsonValue({ maxDepth: 3 }),
);
const encode = (value: string) => new TextEncoder().encode(value);
const body = mostly<Uint8Array>(
  json.map((value) => encode(JSON.stringify(value) ?? "")),
  damaged(json.map((value) => JSON.stringify(value) ?? "")).map(encode),
  fc.uint8Array({ maxLength: 100 }),
  fc.constantFrom(65_535, 65_536, 65_537, 66_000).map((length) =>
    encode(JSON.stringify(PUSH).padEnd(length))
  ),
);

/** Compression of the body, and the header about it, which may disagree. */
const packing = mostly<{ packs: boolean; encoding: string | undefined }>(
  fc.constant({ packs: false, encoding: undefined }),
  fc.constantFrom(
    { packs: true, encoding: "gzip" },
    { packs: true, encoding: undefined },
    { packs: false, encoding: "gzip" },
    { packs: false, encoding: "identity" },
    { packs: true, encoding: "br" },
  ),
);

/** An arbitrary of requests; `seed` chooses the tokens that it draws from. */
export async function requests(seed: number): Promise<fc.Arbitrary<FuzzRequest>> {
  const tokens = await tokenPool(seed);
  return fc.record({
    method: mostly(fc.constant("POST"), fc.constantFrom("GET", "PUT", "post", "DELETE"), noise),
    url,
    authorization: authorization(tokens),
    body,
    packing,
    junk: rarely(fc.tuple(fc.constantFrom("x-user", "cookie", "content-type"), noise)),
  }).map(({ method, url, authorization, body, packing, junk }) => ({
    method,
    url,
    headers: {
      ...(junk && { [junk[0]]: junk[1] }),
      ...(authorization !== undefined && { authorization }),
      ...(packing.encoding !== undefined && { "content-encoding": packing.encoding }),
    },
    body: packing.packs ? new Uint8Array(gzipSync(body)) : body,
  }));
}
