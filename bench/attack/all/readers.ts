/** Readers: an honest one of its own namespace, and accounts without rights that ask for lists of made-up ones. */
import { TRAINJOB } from "../../../crds/job_kinds.ts";
import { KINDS } from "../../../crds/kinds.ts";
import { OBSERVATION_AUDIENCE } from "../../../crds/names.ts";
import { LIST_LIMITS } from "../../../crds/wire/list_query.ts";
import { observer } from "../../../tests/support/observer.ts";
import { requestToken } from "../../../tests/support/standalone.ts";
import type { LoadPlan } from "../../generator/plan.ts";
import type { Endpoint } from "../endpoint.ts";
import { attackers } from "./addresses.ts";

const ACCOUNTS = ["hostile-1", "hostile-2", "hostile-3", "hostile-4"];
/** Lists of an account before it asks for one again: what is denied is forgotten meanwhile. */
const LISTS = 100;
const HOSTILE_RATE = 200;
const HONEST_RATE = 5;
const NAMESPACE = "default";

/** Tokens of readers. */
export interface ReaderTokens {
  readonly honest: string;
  readonly hostile: readonly string[];
}

/** Creates the accounts; only the honest one may list jobs. */
export async function createReaderAccounts({ client }: Endpoint): Promise<ReaderTokens> {
  const { token: honest } = await observer(client, "reader", TRAINJOB, ["get", "list"]);
  const hostile: string[] = [];
  for (const name of ACCOUNTS) {
    await client.create(KINDS.serviceAccount, { metadata: { name, namespace: NAMESPACE } });
    const account = { namespace: NAMESPACE, name };
    hostile.push(await requestToken(client, account, { audience: OBSERVATION_AUDIENCE }));
  }
  return { honest, hostile };
}

const listUrl = ({ ports }: Pick<Endpoint, "ports">, namespaces: readonly string[]) =>
  `https://127.0.0.1:${ports.status}/view/v1/jobs?` +
  namespaces.map((it) => `namespace=${it}`).join("&");

const readsOf = ({ caPem }: Pick<Endpoint, "caPem">, durationMs: number) =>
  ({ caPem, durationMs, method: "GET", body: "" }) as const;

/** Returns the plan of the honest reader, who may see one namespace. */
export function honestReads(
  endpoint: Endpoint,
  { honest: token }: ReaderTokens,
  durationMs: number,
): LoadPlan {
  return {
    ...readsOf(endpoint, durationMs),
    name: "reads",
    targets: [{ url: listUrl(endpoint, [NAMESPACE]), token }],
    connections: 4,
    rate: HONEST_RATE,
    sources: ["127.0.0.6"],
  };
}

/** Returns the plan of the accounts: lists of as many namespaces as a list can have. */
export function hostileReads(
  endpoint: Endpoint,
  { hostile }: ReaderTokens,
  durationMs: number,
): LoadPlan {
  const targets = Array.from({ length: LISTS }, (_, list) =>
    hostile.map((token, account) => {
      const namespaces = Array.from(
        { length: LIST_LIMITS.namespaces },
        (_, at) => `of-${account}-${list}-${at}`,
      );
      return { url: listUrl(endpoint, namespaces), token };
    })).flat();
  return {
    ...readsOf(endpoint, durationMs),
    name: "D5: lists of accounts without rights",
    targets,
    connections: 64,
    rate: HOSTILE_RATE,
    sources: attackers(10, 4),
  };
}
