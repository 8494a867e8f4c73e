/** Readers whose tokens are their names, a site of the page for them, and the spellings of their header. */
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import { JOB_KINDS } from "../../crds/job_kinds.ts";
import type { Access } from "../../platform/http/callers/reader_access.ts";
import { createPeers } from "../../platform/http/limits/peers.ts";
import type { HttpHandler } from "../../platform/http/message.ts";
import type { ClosableClient } from "../../platform/kube/connection/http_client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { createTokenSite } from "../../page/server/token_site.ts";

/** One header, as it may be written before the token: the scheme in any case, with blanks and tabs. */
export const BEARER_SPELLINGS = [
  "Bearer ",
  "bearer ",
  "BEARER ",
  "beareR ",
  "BeaRer ",
  "bEARER ",
  "Bearer  ",
  "Bearer   ",
  "Bearer\t",
  "Bearer \t",
  "bearer\t\t",
] as const;

/** Knows each token as the name of a user, who may read everything. */
export const NAMED_ACCESS: Access = {
  wasAccepted: () => true,
  wasRefused: () => false,
  authenticate: ({ token }) => Promise.resolve({ username: token, groups: [], key: token }),
  authorize: () => Promise.resolve(true),
  close: () => Promise.resolve(),
};

/** Peers of which none sends much. */
export const fewPeers = () =>
  createPeers({ failures: { ratePerSecond: 20, burst: 400 }, maxKeys: 100 });

/** The page at `page.example` for such readers, before an API server; it has no lists and no manager. */
export function namedSite(
  clock: Clock,
  clientOf: (token: string) => ClosableClient,
): HttpHandler {
  return createTokenSite({
    assets: new Map(),
    hosts: ["page.example"],
    kinds: JOB_KINDS,
    clock,
    readers: {
      access: NAMED_ACCESS,
      audience: OBSERVATION_AUDIENCE,
      clock,
      peers: fewPeers(),
      takeRead: () => 0,
      takeApiReview: () => 0,
    },
    view: () => Promise.reject(new Error("nobody looks at lists here")),
    clientOf,
    managerOf: () => undefined,
  });
}
