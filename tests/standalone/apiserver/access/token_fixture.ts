/** Fixture: a token issuer with a service account, a pod, a node and a settable clock. */
import { createAuthenticator } from "../../../../standalone/apiserver/access/authenticator.ts";
import {
  AUDIENCES,
  createServiceAccountTokens,
  ISSUER,
} from "../../../../standalone/apiserver/access/service_account_tokens.ts";
import { loadSigningKeys } from "../../../../standalone/apiserver/access/signing_keys.ts";
import { createTokenRequests } from "../../../../standalone/apiserver/access/token_requests.ts";
import type { ApiObject } from "../../../../standalone/apiserver/objects/api_object.ts";
import { SIGNING_KEY } from "../../../support/signing_key.ts";
import { memoryStore, stored } from "../memory_store.ts";

export { AUDIENCES, ISSUER };
/** 2026-01-01T00:00:00Z. */
export const START = Date.UTC(2026, 0, 1);

/** Settings in memory. */
export function memorySettings() {
  const values = new Map<string, string>();
  return {
    setting: (name: string) => values.get(name),
    setSetting: (name: string, value: string) => void values.set(name, value),
  };
}

/** One key for all tests. */
const keys = loadSigningKeys(memorySettings(), SIGNING_KEY);

/** Everything that issues and verifies tokens. */
export async function tokenFixture() {
  const account = stored("ServiceAccount", { name: "default", namespace: "ns" });
  const pod = stored("Pod", { name: "p", namespace: "ns" }, { spec: { nodeName: "n" } });
  const objects: Record<string, ApiObject[]> = {
    serviceaccounts: [account],
    pods: [pod],
    nodes: [stored("Node", { name: "n" })],
    secrets: [stored("Secret", { name: "s", namespace: "ns" })],
  };
  const time = { now: START };
  const store = memoryStore(objects);
  const tokens = createServiceAccountTokens({
    keys: await keys,
    store,
    now: () => time.now,
  });
  const createToken = createTokenRequests({ store, tokens });
  const authenticator = createAuthenticator({
    staticTokens: [{ token: "admin-token", user: { name: "admin", groups: ["system:masters"] } }],
    serviceAccountTokens: tokens,
  });
  const subject = { namespace: "ns", serviceAccount: { name: "default", uid: "uid-default" } };
  return {
    account,
    pod,
    objects,
    time,
    store,
    tokens,
    createToken,
    authenticator,
    subject,
    keys: await keys,
  };
}
