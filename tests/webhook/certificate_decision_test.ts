/** Tests of the rotation's decisions about certificates. */
import assert from "node:assert/strict";
import {
  type CertificateAction,
  decideCertificates,
  type ObservedCertificates,
} from "../../webhook/certificate_decision.ts";

const HOUR = 60 * 60 * 1000;
const DAY = 24 * HOUR;
const POLICY = { authorityRenewalMs: 365 * DAY, servingRenewalMs: 120 * DAY, propagationMs: HOUR };
const HOSTS = ["a", "b"];
/** The current time; certificates below are given by days from it. */
const NOW = 10_000 * DAY;

function made(from: number, to: number) {
  const issuedAt = NOW + from * DAY;
  return { notBefore: issuedAt, issuedAt, notAfter: NOW + to * DAY };
}

function serving(from: number, to: number, overlay = {}) {
  return { ...made(from, to), hosts: HOSTS, signedByAuthority: true, ...overlay };
}

const good: ObservedCertificates = {
  authority: made(-100, 3550),
  serving: serving(-100, 265),
  older: [],
};
const ending = { ...good, authority: made(-3300, 350) };
const next = made(0, 3650);

interface Case {
  observed: ObservedCertificates;
  want: CertificateAction;
  /** Time until it asks again, where it keeps. */
  again?: number;
}
const cases: Record<string, Case> = {
  "creates if nothing exists": { observed: { older: [] }, want: "create" },
  "keeps what is good, and asks again within a day": { observed: good, want: "keep", again: DAY },
  "creates if the CA has expired": {
    observed: { ...good, authority: made(-4000, 0) },
    want: "create",
  },
  "creates if the CA is not valid yet": {
    observed: { ...good, authority: made(1, 4000) },
    want: "create",
  },
  "promotes at once if the CA is unusable and there is a next one": {
    observed: { ...good, authority: undefined, next },
    want: "promote-next",
  },
  "publishes the next CA a year before the end": { observed: ending, want: "publish-next" },
  "waits for the moment the CA's last year begins": {
    observed: { ...good, authority: made(-3200, 365.5) },
    want: "keep",
    again: DAY / 2,
  },
  "keeps while the next CA spreads": {
    observed: { ...ending, next: made(-0.5 / 24, 3650) },
    want: "keep",
    again: HOUR / 2,
  },
  "promotes the next CA once it had time": {
    observed: { ...ending, next: made(-1 / 24, 3650) },
    want: "promote-next",
  },
  "replaces a next CA that has ended": {
    observed: { ...ending, next: made(-10, -1) },
    want: "publish-next",
  },
  "reissues if there is no serving certificate": {
    observed: { ...good, serving: undefined },
    want: "reissue",
  },
  "reissues if another CA signed": {
    observed: { ...good, serving: serving(-100, 265, { signedByAuthority: false }) },
    want: "reissue",
  },
  "reissues if a name is missing": {
    observed: { ...good, serving: serving(-100, 265, { hosts: ["a"] }) },
    want: "reissue",
  },
  "reissues four months before the end": {
    observed: { ...good, serving: serving(-245, 120) },
    want: "reissue",
  },
  "reissues if the certificate is not valid yet": {
    observed: { ...good, serving: serving(1, 366) },
    want: "reissue",
  },
  "does not reissue forever if the CA itself expires soon": {
    observed: { authority: made(-3600, 50), serving: serving(-1, 50), older: [], next },
    want: "keep",
    again: HOUR,
  },
  "keeps older CAs while the new serving certificate spreads": {
    observed: { ...good, serving: serving(-0.5 / 24, 364), older: [made(-3300, 350)] },
    want: "keep",
    again: HOUR / 2,
  },
  "forgets older CAs after that": {
    observed: { ...good, older: [made(-3300, 350)] },
    want: "forget-older",
  },
};

for (const [sentence, { observed, want, again }] of Object.entries(cases)) {
  Deno.test(`\`decideCertificates()\` ${sentence}`, () => {
    const decision = decideCertificates(observed, HOSTS, NOW, POLICY);
    assert.equal(decision.action, want, decision.reason);
    if (again !== undefined) assert.equal(Math.round(decision.askAgainAt - NOW), again);
  });
}
