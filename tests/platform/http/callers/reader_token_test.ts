/** Tests of the tokens of readers that are worth a review. */
import assert from "node:assert/strict";
import { readerToken } from "../../../../platform/http/callers/reader_token.ts";
import { AUDIENCE, NOW_MS, tokenWith } from "../../../katib/api/api_bench.ts";

const OURS = { audience: AUDIENCE };
const SECOND = NOW_MS / 1000;

Deno.test("`readerToken()` takes a token for this audience, whatever the spelling of the scheme", () => {
  const token = tokenWith({ aud: ["other", AUDIENCE] });
  for (const scheme of ["Bearer", "bearer", "BEARER"]) {
    const read = readerToken(`${scheme} ${token}`, NOW_MS, OURS);
    assert.ok(!("why" in read));
    assert.equal(read.token, token);
    assert.equal(read.expiresMs, NOW_MS + 3_600_000);
  }
  assert.ok(!("why" in readerToken(`Bearer ${tokenWith({ aud: AUDIENCE })}`, NOW_MS, OURS)));
});

const encoded = (text: string) => btoa(text).replaceAll("=", "");

const cases: Readonly<Record<string, { header: string | undefined; want: string }>> = {
  "no header": { header: undefined, want: "no_token" },
  "an empty header": { header: "  ", want: "no_token" },
  "a token without scheme": { header: tokenWith(), want: "malformed_token" },
  "another scheme": { header: `Basic ${tokenWith()}`, want: "malformed_token" },
  "two tokens": { header: `Bearer ${tokenWith()}, Bearer ${tokenWith()}`, want: "malformed_token" },
  "a scheme alone": { header: "Bearer ", want: "malformed_token" },
  "a password": { header: "Bearer hunter2", want: "malformed_token" },
  "an endless token": { header: `Bearer ${"a".repeat(60_000)}`, want: "malformed_token" },
  "a part too many": { header: `Bearer ${tokenWith()}.x`, want: "malformed_token" },
  "no signature": {
    header: `Bearer ${tokenWith().split(".").slice(0, 2).join(".")}.`,
    want: "malformed_token",
  },
  "a payload that is no JSON": { header: `Bearer a.${encoded("{")}.c`, want: "malformed_token" },
  "a payload that is null": { header: `Bearer a.${encoded("null")}.c`, want: "malformed_token" },
  "a payload that is a list": { header: `Bearer a.${encoded("[1]")}.c`, want: "malformed_token" },
  "bytes that are no text": {
    header: `Bearer a.${encoded("\xff\xfe")}.c`,
    want: "malformed_token",
  },
  "a payload of one character": { header: "Bearer a.b.c", want: "malformed_token" },
  "characters of no token": {
    header: `Bearer ${tokenWith()}`.replace(".", ".\u0000"),
    want: "malformed_token",
  },
  "an audience that is a number": {
    header: `Bearer ${tokenWith({ aud: 7 })}`,
    want: "malformed_token",
  },
  "no expiry": { header: `Bearer ${tokenWith({ exp: undefined })}`, want: "malformed_token" },
  "an expiry in words": {
    header: `Bearer ${tokenWith({ exp: "never" })}`,
    want: "malformed_token",
  },
  "the audience of pushes": {
    header: `Bearer ${tokenWith({ aud: ["trainer.kubeflow.org"] })}`,
    want: "wrong_audience",
  },
  "an audience that begins like this one": {
    header: `Bearer ${tokenWith({ aud: [`${AUDIENCE}.evil`] })}`,
    want: "wrong_audience",
  },
  "no audience": { header: `Bearer ${tokenWith({ aud: [] })}`, want: "wrong_audience" },
  "a token that has expired": { header: `Bearer ${tokenWith({ exp: SECOND })}`, want: "expired" },
  "a token of 1969": { header: `Bearer ${tokenWith({ exp: -1 })}`, want: "expired" },
  "a token of tomorrow": {
    header: `Bearer ${tokenWith({ nbf: SECOND + 86_400 })}`,
    want: "not_yet_valid",
  },
};

for (const [what, { header, want }] of Object.entries(cases)) {
  Deno.test(`\`readerToken()\` refuses ${what}`, () =>
    assert.deepEqual(readerToken(header, NOW_MS, OURS), { why: want }));
}

const API = { ...OURS, apiTokens: true };

Deno.test("`readerToken()` takes tokens for the API server, of any form, where it is told to", () => {
  for (const token of [tokenWith({ aud: ["https://kubernetes.default.svc"] }), "sha256~opaque_1"]) {
    const read = readerToken(`Bearer ${token}`, NOW_MS, API);
    assert.ok(!("why" in read), JSON.stringify(read));
    assert.equal(read.isForApi, true);
  }
  const own = readerToken(`Bearer ${tokenWith()}`, NOW_MS, API);
  assert.ok(!("why" in own) && !own.isForApi, "a token for this audience stays one");
});

const API_REFUSALS: Readonly<Record<string, { header: string | undefined; want: string }>> = {
  "no header": { header: undefined, want: "no_token" },
  "two words": { header: "Bearer one two", want: "malformed_token" },
  "characters of no token": { header: "Bearer a\u0000b", want: "malformed_token" },
  "an endless token": { header: `Bearer ${"a".repeat(60_000)}`, want: "malformed_token" },
  "a token that has expired": {
    header: `Bearer ${tokenWith({ aud: ["api"], exp: SECOND })}`,
    want: "expired",
  },
};

for (const [what, { header, want }] of Object.entries(API_REFUSALS)) {
  Deno.test(`\`readerToken()\` refuses ${what} also where tokens for the API server are taken`, () =>
    assert.deepEqual(readerToken(header, NOW_MS, API), { why: want }));
}
